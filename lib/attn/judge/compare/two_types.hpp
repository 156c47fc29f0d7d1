#pragma once
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/explain/bounds/bounds.hpp"

namespace attn {

/// Returns the difference that rounding explains between two rounded tensors of a step: twice the
/// radius.
std::optional<Tensor> bound_of(Bounds& bounds, const Step* step, const Tensor& tensor);

/// Two walks in different dtypes. They start from different numbers, so each step is judged by the
/// tensors of its own walk.
class OfTwoTypes {
public:
    OfTwoTypes(const Plan& plan, const StepTable& table, const Ledger& left, const Ledger& right);

    bool is_so() const { return sides_[0].second.unit != sides_[1].second.unit; }

    /// True if rounding alone explains the difference of a step, and those of the steps before it.
    bool explains(const Step& step);

    /// Returns the difference that rounding explains in each cell of another step: all of it if
    /// both sides follow from their own tensors, which are right so far; after a step that differs,
    /// the loss of the coarser type in one step.
    std::optional<Tensor> bound_of_cells(const Step& step) const;

private:
    bool reads_unexplained(const Step& step) const;
    /// Returns the difference of two starts that storing them explains.
    Tensor near(const Tensor& a, const Tensor& b) const;
    bool follows_from_own_inputs(const std::string& step) const;
    bool follows(const std::string& step, const Ledger& own, const Rounding& way) const;

    const Plan& plan_;
    const StepTable& table_;
    const std::array<std::pair<const Ledger*, Rounding>, 2> sides_;
    std::vector<std::string> unexplained_{};
};

}  // namespace attn

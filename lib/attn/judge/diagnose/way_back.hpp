#pragma once
#include <map>
#include <string>

#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"

namespace attn {

/// A walk in float64 and its backward pass, which can be repeated from other gradients.
class WayBack {
public:
    /// Errors  as with_gradients.
    WayBack(Plan of, const Ledger& given, StepTable forward, const Loss& loss);

    /// Computes the walk's gradients by `made`, the table or one with mistakes; those in `taken`
    /// are not computed.
    Ledger gradients(const StepTable& made, const Ledger& taken) const;
    /// Repeats the backward pass with each number rounded up or down at random: see noise().
    void shake(const Ledger& taken);
    /// Returns how much rounding is amplified in a gradient: the factor for a type's epsilon.
    double noise(const std::string& step) const;
    bool has(const std::string& step) const { return has_step(table, plan, step); }

    Plan plan;
    StepTable table;

private:
    template <class After>
    Ledger go_back(const StepTable& made, const Ledger& taken, Ledger ledger, After&& after) const;

    std::size_t first_ = 0;  ///< the first step after the loss
    Ledger forth_{};
    std::map<std::string, double> noise_{};
};

}  // namespace attn

#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/walk/step.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {

/// The selected cells of a walk: those in a slice of one step and, in earlier steps, the same
/// sequences, heads, queries and keys. Without a slice it is the whole walk.
///
/// A cut tensor keeps all axes, so that code for whole tensors works with it, too; only names and
/// numbers of places must be looked up here.
class Excerpt {
public:
    Excerpt() = default;
    /// The part `place` of the tensor of `step`, which has these axes and lengths.
    Excerpt(const Step& step, const Axes& axes, const Shape& shape,
            const std::vector<AxisPart>& place);

    bool is_whole() const { return cut_.empty(); }
    /// True if every index of the axis is selected. Tokens of the step are queries or keys, too.
    bool has_all(std::string_view axis) const;
    /// True if every index is selected, in order.
    bool has_all_in_order(std::string_view axis) const { return find(axis) == nullptr; }
    /// Returns the index in the whole walk for index i of the selection.
    std::size_t index(std::string_view axis, std::size_t i) const;
    /// Returns the number of selected indices; `all` if none are left out.
    std::size_t count(std::string_view axis, std::size_t all) const;

    /// Returns the length in the whole walk; `all` if the axis was not sliced.
    std::size_t length(std::string_view axis, std::size_t all) const;

    /// Returns the selected part of another tensor; nullopt if its sequences, heads, queries or
    /// keys do not correspond to those of the step. `tokens` as in Step.
    std::optional<Tensor> cut(const Tensor& tensor, const std::string& tokens) const;
    /// Returns the ledger up to the step, cut to the selection.
    Ledger cut(const Ledger& ledger, const StepTable& table) const;

private:
    struct Axis {
        std::string name;
        AxisPart part;
        std::size_t length;
    };
    const Axis* find(std::string_view axis) const;

    std::string step_, tokens_;
    std::vector<AxisPart> place_;  ///< in the step's own tensor
    std::vector<Axis> cut_;        ///< the axes that are not whole
};

}  // namespace attn

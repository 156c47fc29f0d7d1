#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/walk/step.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {

/// Which cells of a walk are looked at: those of a slice of one step and, of the steps before it,
/// the same sequences, heads, queries and keys. Without a slice it is the whole walk.
///
/// A cut tensor keeps every axis, so that code for whole tensors reads it too; only names and
/// numbers of places have to be asked for here.
class Excerpt {
public:
    Excerpt() = default;
    /// The part `place` of the tensor of `step`, which has these axes and lengths.
    Excerpt(const Step& step, const Axes& axes, const Shape& shape,
            const std::vector<AxisPart>& place);

    bool is_whole() const { return cut_.empty(); }
    /// Whether every index of the axis is looked at. Tokens of the step are queries or keys, too.
    bool has_all(std::string_view axis) const;
    /// The same, and in their order.
    bool has_all_in_order(std::string_view axis) const { return find(axis) == nullptr; }
    /// Where index i of what is looked at lies in the whole.
    std::size_t index(std::string_view axis, std::size_t i) const;
    /// How many indices are looked at; `all` where that is all of them.
    std::size_t count(std::string_view axis, std::size_t all) const;

    /// How many there are in the whole; `all` where no slice was taken of the axis.
    std::size_t length(std::string_view axis, std::size_t all) const;

    /// The part of another tensor that is looked at; nothing where its sequences, heads, queries or
    /// keys are not those of the step, but others. `tokens` as in Step.
    std::optional<Tensor> cut(const Tensor& tensor, const std::string& tokens) const;
    /// The record up to the step, without what is not looked at.
    Ledger cut(const Ledger& ledger, const StepTable& table) const;

private:
    struct Axis {
        std::string name;
        AxisPart part;
        std::size_t length;
    };
    const Axis* find(std::string_view axis) const;

    std::string step_, tokens_;
    std::vector<AxisPart> place_;  ///< of the step's own tensor
    std::vector<Axis> cut_;        ///< the axes that are not taken whole
};

}  // namespace attn

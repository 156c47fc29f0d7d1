#pragma once
#include <string>

#include "attn/core/plan/mask_kinds.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

struct RuleScope;
/// The scope of a mask's condition: no tensor.
const RuleScope& mask_scope();

/// The cells that one kind of mask hides, for `count` queries from query `first` on.
class HiddenCells {
public:
    HiddenCells(const MaskKind& kind, const Plan& plan, std::size_t first, std::size_t count);
    HiddenCells(const MaskKind& kind, const Plan& plan)
        : HiddenCells(kind, plan, 0, plan.query_len) {}
    HiddenCells(HiddenCells&&) noexcept =
        default;  // a copy's view would point to the original's cells

    bool hides(const ScoreCell& cell) const {
        return view_.hides(cell.batch, cell.head, cell.query - first_, cell.key);
    }
    Array<bool> cells() && { return std::move(cells_); }

private:
    std::size_t first_ = 0;
    Array<bool> cells_;
    MaskView view_;
};

/// The keys that each query of a walk may see: the single source for the mask tensor, kernels,
/// notes, derivations and mistakes. A cell is hidden if any of the selected kinds of mask hides it.
class Visibility {
public:
    explicit Visibility(const Plan& plan);

    bool hides(const ScoreCell& cell) const {
        return view_.hides(cell.batch, cell.head, cell.query, cell.key);
    }

    /// Returns the view for kernels, for all queries of all batch entries and heads. Points into
    /// this object.
    const MaskView& view() const { return view_; }

    /// Returns the mask as a tensor, without axes that are broadcast.
    Tensor mask() const;

private:
    const Plan& plan_;
    Array<bool> cells_;  ///< of the kinds without limits
    MaskView view_;
};

/// Return the lengths of the mask, and its axes. With `of_all_kinds` false, only for kinds that are
/// not ranges of keys, whose cells are stored.
Shape mask_shape(const Plan& plan, bool of_all_kinds = true);
Axes mask_axes(const Plan& plan);

/// Returns a view of a mask of this walk, whose cells must outlive the view.
///
/// Errors  ShapeError if it does not broadcast to the scores.
MaskView view_of(const Array<bool>& mask, const Plan& plan);

/// Returns the sizes of the walk's attention.
AttentionShape attention_shape(const Plan& plan);

/// Formats the true cells of a boolean tensor as a rule, in runs: `k >= 3`, `b == 1 and k < 2 or
/// ...`. `letters` are the indices of its axes.
std::string where_true(const Array<bool>& cells, const std::string& letters);

}  // namespace attn

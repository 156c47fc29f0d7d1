#pragma once
#include <string>

#include "attn/core/plan/mask_kinds.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

struct RuleScope;
/// What the condition of a mask may read: no tensor.
const RuleScope& mask_scope();

/// The cells that one kind of mask hides, for `count` queries from query `first` on.
class HiddenCells {
public:
    HiddenCells(const MaskKind& kind, const Plan& plan, std::size_t first, std::size_t count);
    HiddenCells(const MaskKind& kind, const Plan& plan)
        : HiddenCells(kind, plan, 0, plan.query_len) {}
    HiddenCells(HiddenCells&&) noexcept = default;  // a copy's view would be of the other's cells

    bool hides(const ScoreCell& cell) const {
        return view_.hides(cell.batch, cell.head, cell.query - first_, cell.key);
    }
    Array<bool> cells() && { return std::move(cells_); }

private:
    std::size_t first_ = 0;
    Array<bool> cells_;
    MaskView view_;
};

/// Which keys each query of a walk may see: the one rule that the mask tensor, the kernels, notes,
/// derivations and mistakes read. Hidden is what any of the chosen kinds of mask hides.
class Visibility {
public:
    explicit Visibility(const Plan& plan);

    bool hides(const ScoreCell& cell) const {
        return view_.hides(cell.batch, cell.head, cell.query, cell.key);
    }

    /// As kernels read it, for all queries of every batch entry and head. Points into this object.
    const MaskView& view() const { return view_; }

    /// The mask as a tensor, with no more axes and lengths than it needs.
    Tensor mask() const;

private:
    const Plan& plan_;
    Array<bool> cells_;  ///< of the kinds that have no limits
    MaskView view_;
};

/// The lengths of the mask, and the last axes of the scores that they are of. Of the kinds alone
/// that are no range of keys: of the cells that are held one by one.
Shape mask_shape(const Plan& plan, bool of_all_kinds = true);
Axes mask_axes(const Plan& plan);

/// The cells of a mask of this walk, which outlive the view.
///
/// Errors  ShapeError when it does not broadcast to the scores.
MaskView view_of(const Array<bool>& mask, const Plan& plan);

/// The sizes of the walk's attention.
AttentionShape attention_shape(const Plan& plan);

/// Where the cells of a tensor of truths are true, in runs, as a rule says it: `k >= 3`,
/// `b == 1 and k < 2 or ...`. `letters` are the indices of its axes.
std::string where_true(const Array<bool>& cells, const std::string& letters);

}  // namespace attn

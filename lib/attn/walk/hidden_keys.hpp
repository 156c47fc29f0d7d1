#pragma once
#include "attn/fused/fused_attention.hpp"
#include "attn/walk/plan.hpp"

namespace attn {

/// The mask of a walk as the kernels read it: no table of queries and keys but for a given one.
class HiddenKeys {
public:
    explicit HiddenKeys(const Plan& plan);

    /// For all queries of every batch entry and head. Points into this object.
    const MaskView& mask() const { return mask_; }

    /// For the queries from `query` on of one batch entry and head.
    MaskView mask_from(std::size_t batch, std::size_t head, std::size_t query) const;

private:
    Array<bool> cells_;
    MaskView mask_;
};

/// The sizes of the walk's attention.
AttentionShape attention_shape(const Plan& plan);

}  // namespace attn

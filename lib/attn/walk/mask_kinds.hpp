#pragma once
#include <span>
#include <string>
#include <string_view>

#include "attn/tensor/attention_shape.hpp"
#include "attn/walk/plan.hpp"

namespace attn {

/// One cell of the scores.
struct ScoreCell {
    std::size_t batch, head, query, key;
};

/// One kind of mask: a row of the table. All that is said of it stands here.
struct MaskKind {
    std::string_view word;  ///< as --mask names it, and the variable of generated code
    bool (*chosen)(const Plan& plan);
    bool (*hides)(const Plan& plan, const ScoreCell& cell);
    /// The lengths of the smallest mask that says it, broadcastable to the scores.
    Shape (*shape)(const Plan& plan);
    /// Its limits as kernels read them, or null where it needs cells.
    void (*limit)(const Plan& plan, MaskView& view);
    /// `k > q`: where it hides.
    std::string (*rule)(const Plan& plan);
    std::string_view reason;  ///< why a cell is hidden, as in `hidden: ...`
    std::string (*keys)(const Plan& plan);  ///< `keys that come after the query`
    std::string_view also;                  ///< the same behind another kind: `..., and padding`
};

/// All kinds, in the order in which formulas name them.
std::span<const MaskKind> mask_kinds();

/// How many keys stand before key 0's own query: queries are aligned at the start or at the end.
std::ptrdiff_t causal_offset(const Plan& plan);

}  // namespace attn

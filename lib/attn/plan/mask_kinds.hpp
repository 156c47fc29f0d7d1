#pragma once
#include <span>
#include <string>
#include <string_view>

#include "attn/plan/plan.hpp"
#include "attn/tensor/attention_shape.hpp"

namespace attn {

/// One cell of the scores.
struct ScoreCell {
    std::size_t batch, head, query, key;
};

/// One kind of mask: a row of the table. All that is said of it stands here.
struct MaskKind {
    std::string_view word;  ///< as --mask names it, and the variable of generated code
    bool (*chosen)(const MaskChoice& mask);
    /// Its numbers as --mask takes them, `3+4+2`; null where it has none.
    std::string (*numbers)(const MaskChoice& mask) = nullptr;
    /// Checks its setting, and puts into the plan what it needs; null where it is always fine.
    ///
    /// Errors  ConfigError or ShapeError.
    void (*resolve)(Plan& plan) = nullptr;
    bool (*hides)(const Plan& plan, const ScoreCell& cell);
    /// The lengths of the smallest mask that says it, broadcastable to the scores.
    Shape (*shape)(const Plan& plan);
    /// Its limits as kernels read them, or null where it needs cells.
    void (*limit)(const Plan& plan, MaskView& view) = nullptr;
    /// `k > q`: where it hides, as a rule says it (attn/rules/rule.hpp).
    std::string (*rule)(const Plan& plan);
    /// Why it hides a cell, as in `hidden: the key comes after the query`.
    std::string (*reason)(const Plan& plan, const ScoreCell& cell);
    std::string (*keys)(const Plan& plan);  ///< `keys that come after the query`
    std::string_view also;                  ///< the same behind another kind: `..., and padding`
    /// The name in other libraries and how they count; null where there is nothing to say.
    std::string (*elsewhere)(const Plan& plan) = nullptr;
};

/// All kinds, in the order in which formulas name them.
std::span<const MaskKind> mask_kinds();

/// How many keys stand before query 0's own: its position, from which those of the others follow.
/// Queries are aligned at the start or at the end of the keys.
std::ptrdiff_t causal_offset(const Plan& plan);

/// `q`, or `q + 2` where the queries begin later: the position of a query, as rules write it.
std::string position_text(const Plan& plan);

}  // namespace attn

#pragma once
#include <optional>

#include "attn/core/rules/bound.hpp"
#include "attn/core/rules/rule.hpp"

namespace attn {

/// Expands `rank k: e` to `sum j: if e of j > e or (e of j == e and j < k) then 1 else 0`.
RuleNode written_out_rank(RuleNode rank, const std::string& other_index);

/// The operands of such a sum.
struct RankedBy {
    const BoundRule* number;  ///< e of j
    const BoundRule* place;   ///< k
};
/// Returns nullopt for other sums.
std::optional<RankedBy> ranked_by(const BoundRule& sum);

}  // namespace attn

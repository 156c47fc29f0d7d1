#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/plan/plan.hpp"
#include "attn/ground/tensor/attention_shape.hpp"

namespace attn {

/// One cell of the scores.
struct ScoreCell {
    std::size_t batch, head, query, key;
};

/// One kind of mask: a row of the table. Its condition is evaluated for the mask, and printed as
/// its rule and its Python code.
struct MaskKind {
    std::string_view word;       ///< in a line of settings
    std::string_view such_as{};  ///< with numbers, `chunk:4`; empty for a mask from a file
    std::string_view help{};     ///< the cells that it hides, with those numbers
    bool (*chosen)(const MaskChoice& mask);
    /// Selects it with its numbers, whose count and size were checked.
    void (*choose)(MaskChoice& mask, const std::vector<std::int64_t>& numbers) = nullptr;
    /// Returns its numbers; null if it has none.
    std::vector<std::int64_t> (*numbers)(const MaskChoice& mask) = nullptr;
    char between = ':';            ///< its numbers; `+` for a list of any length
    std::int64_t least = 1;        ///< of each number
    bool fits_any_length = false;  ///< also defined if the numbers of queries and keys differ
    /// Checks its setting, and adds to the plan what it needs; null if no check is needed.
    ///
    /// Errors  ConfigError or ShapeError.
    void (*resolve)(Plan& plan) = nullptr;
    /// Returns the condition under which it hides key k from query q, as a rule
    /// (attn/core/rules/rule.hpp): `k > q`, with the position of the query written as `i`. Null for
    /// a kind that is given as cells.
    std::string (*condition)(const MaskChoice& mask, const std::string& i) = nullptr;
    /// For such a kind: its shape and cells, broadcastable to the scores, and the Python line that
    /// computes them.
    Shape (*shape)(const Plan& plan) = nullptr;
    Array<bool> (*cells)(const Plan& plan) = nullptr;
    std::string_view code{};
    /// Sets its limits for kernels; null if it needs cells.
    void (*limit)(const Plan& plan, MaskView& view) = nullptr;
    /// Returns why it hides a cell, as in `hidden: the key comes after the query`.
    std::string (*reason)(const Plan& plan, const ScoreCell& cell);
    std::string (*keys)(const Plan& plan);  ///< `keys that come after the query`
    /// Returns the name in other libraries and their conventions; null if there is nothing to add.
    std::string (*elsewhere)(const Plan& plan) = nullptr;

    /// Returns its condition for a key of this plan, as a rule in q, k and the axes of its cells.
    std::string rule(const Plan& plan) const;
};

/// Returns a selected kind as in a line of settings: `chunk:4`.
std::string mask_text(const MaskKind& kind, const MaskChoice& mask);

/// All kinds, in the order in which formulas name them.
std::span<const MaskKind> mask_kinds();

/// Returns the position of query 0, which is the number of keys before its own; the other queries
/// follow. Queries are aligned at the start or at the end of the keys.
std::ptrdiff_t causal_offset(const Plan& plan);

/// Returns the position of a query for rules: `q`, or `q + 2` if the queries begin later.
std::string position_text(const Plan& plan);
std::string position_text(std::ptrdiff_t offset);

}  // namespace attn

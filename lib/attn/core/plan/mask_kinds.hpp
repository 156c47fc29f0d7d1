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

/// One kind of mask: a row of the table. Its one condition is evaluated for the mask and printed as
/// its rule and its lines of Python.
struct MaskKind {
    std::string_view word;       ///< as a line of settings names it
    std::string_view such_as{};  ///< with numbers, `chunk:4`; empty for a mask from a file
    std::string_view help{};     ///< what it hides, with those numbers
    bool (*chosen)(const MaskChoice& mask);
    /// Chooses it, with its numbers, which are as many and as large as the row says.
    void (*choose)(MaskChoice& mask, const std::vector<std::int64_t>& numbers) = nullptr;
    /// Its numbers; null if it has none.
    std::vector<std::int64_t> (*numbers)(const MaskChoice& mask) = nullptr;
    char between = ':';            ///< its numbers; `+` for a list of any length
    std::int64_t least = 1;        ///< of each number
    bool fits_any_length = false;  ///< it is as well defined with more keys or fewer
    /// Checks its setting, and puts into the plan what it needs; null if it is always fine.
    ///
    /// Errors  ConfigError or ShapeError.
    void (*resolve)(Plan& plan) = nullptr;
    /// `k > q`: when it hides key k from query q, as a rule (attn/core/rules/rule.hpp), with the
    /// position of the query written as `i`. Null for a kind that is given as cells.
    std::string (*condition)(const MaskChoice& mask, const std::string& i) = nullptr;
    /// The shape and the cells of such a kind, broadcastable to the scores, and the line of Python
    /// that makes them.
    Shape (*shape)(const Plan& plan) = nullptr;
    Array<bool> (*cells)(const Plan& plan) = nullptr;
    std::string_view code{};
    /// Its limits as kernels read them, or null if it needs cells.
    void (*limit)(const Plan& plan, MaskView& view) = nullptr;
    /// Why it hides a cell, as in `hidden: the key comes after the query`.
    std::string (*reason)(const Plan& plan, const ScoreCell& cell);
    std::string (*keys)(const Plan& plan);  ///< `keys that come after the query`
    /// The name in other libraries and how they count; null if there is nothing to say.
    std::string (*elsewhere)(const Plan& plan) = nullptr;

    /// When it hides a key of this plan, as a rule of q, k and the axes of its cells.
    std::string rule(const Plan& plan) const;
};

/// `chunk:4`, as a line of settings says a kind that is chosen.
std::string mask_text(const MaskKind& kind, const MaskChoice& mask);

/// All kinds, in the order in which formulas name them.
std::span<const MaskKind> mask_kinds();

/// How many keys are before query 0's own: its position, from which those of the others follow.
/// Queries are aligned at the start or at the end of the keys.
std::ptrdiff_t causal_offset(const Plan& plan);

/// `q`, or `q + 2` where the queries begin later: the position of a query, as rules write it.
std::string position_text(const Plan& plan);
std::string position_text(std::ptrdiff_t offset);

}  // namespace attn

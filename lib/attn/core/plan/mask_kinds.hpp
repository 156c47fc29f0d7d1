#pragma once
#include <array>
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

/// One kind of mask: a row of the table. All that is said of it is here.
struct MaskKind {
    std::string_view word;       ///< as a line of settings names it
    std::string_view such_as{};  ///< with numbers, `chunk:4`; empty for a mask from a file
    std::string_view help{};     ///< what it hides, with those numbers
    bool (*chosen)(const MaskChoice& mask);
    /// Chooses it, with its numbers, which are as many and as large as the row says.
    void (*choose)(MaskChoice& mask, const std::vector<std::int64_t>& numbers) = nullptr;
    /// Its numbers; null where it has none.
    std::vector<std::int64_t> (*numbers)(const MaskChoice& mask) = nullptr;
    /// What lines of code call each number; of a list the first names all.
    std::array<std::string_view, 2> named{};
    char between = ':';            ///< its numbers; `+` for a list of any length
    std::int64_t least = 1;        ///< of each number
    bool by_position = false;      ///< it compares positions of queries and keys
    bool fits_any_length = false;  ///< it is as well defined with more keys or fewer
    /// Checks its setting, and puts into the plan what it needs; null where it is always fine.
    ///
    /// Errors  ConfigError or ShapeError.
    void (*resolve)(Plan& plan) = nullptr;
    bool (*hides)(const Plan& plan, const ScoreCell& cell);
    /// The lengths of the smallest mask that says it, broadcastable to the scores.
    Shape (*shape)(const Plan& plan);
    /// Its limits as kernels read them, or null where it needs cells.
    void (*limit)(const Plan& plan, MaskView& view) = nullptr;
    /// `k > q`: where it hides, as a rule says it (attn/core/rules/rule.hpp).
    std::string (*rule)(const Plan& plan);
    /// Why it hides a cell, as in `hidden: the key comes after the query`.
    std::string (*reason)(const Plan& plan, const ScoreCell& cell);
    std::string (*keys)(const Plan& plan);  ///< `keys that come after the query`
    std::string_view also;                  ///< the same after another kind: `..., and padding`
    /// The lines that make it, in a variable of that name.
    std::string_view variable{}, torch{}, numpy{};
    /// The name in other libraries and how they count; null where there is nothing to say.
    std::string (*elsewhere)(const Plan& plan) = nullptr;
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

}  // namespace attn

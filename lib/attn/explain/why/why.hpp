#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/walk/cell.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// One addend of a derivation: a cell, a product of two, or an expression.
struct Term {
    Cell left;
    std::optional<Cell> right;
    double value = 0;    ///< left, left times right, or what `form` says; in double
    std::string form{};  ///< `exp(left - right)`, or the arithmetic; empty for the first two
};

/// Where one number comes from.
struct Derivation {
    Cell cell;
    /// How it was made: the right side of its rule, `exponentials[q,k] / row_sum[q]`.
    std::string rule{};
    std::string side{};       ///< the side of an `if` that it took, with its cells
    std::string arithmetic;   ///< the same with the numbers put in; empty for a sum of terms
    std::vector<Term> terms;  ///< of a sum; in the order of the sum
    /// The value minus its terms: the rounding of a sum in the walk's own type.
    double rounding = 0;
    std::vector<Cell> sources;         ///< the cells it was made from, for the next depth
    std::vector<std::string> remarks;  ///< its tokens, its row, the mask, where it is used next
};

/// A cell by its text: `weights[0,1,2,3]`, `weights[short,eat]`: numbers from 0 (negative ones from
/// the end), or words of the input on token axes.
///
/// Errors  ConfigError for a text that is no cell, ShapeError for an index beyond its axis.
Cell parse_cell(const Plan& plan, const StepTable& table, const Ledger& ledger,
                const std::string& text);

/// Derives one cell of a walk from the cells it was made of.
///
/// Range  the value is the ledger's own; the terms and the rounding add up to it.
Derivation derive(const Plan& plan, const StepTable& table, const Ledger& ledger, const Cell& cell);

struct WhyOptions {
    std::size_t depth = 1;  ///< how many levels of sources are derived
    std::size_t top = 12;   ///< terms shown, the largest first; the rest is added up
    Ink ink{};
};

/// The derivation for people, every printed sum right to its last printed digit.
std::string why_text(const Plan& plan, const StepTable& table, const Ledger& ledger,
                     const Cell& cell, const WhyOptions& options);

/// The derivation as JSON, with all terms.
std::string why_json(const Plan& plan, const StepTable& table, const Ledger& ledger,
                     const Cell& cell, const WhyOptions& options);

/// `weights[0,2,1]`
std::string cell_text(const Cell& cell);
/// The same with words in the place of numbers, `query[dog,adjective]`, in a walk whose features
/// have names.
std::string cell_text(const Plan& plan, const StepTable& table, const Ledger& ledger,
                      const Cell& cell);

/// The numbers of the cell's row along the last axis, with their sum.
std::string row_text(const Ledger& ledger, const Cell& cell);

/// Cells of one step that the cells of a pattern are made of: for each of those one, or one for
/// each term of a sum.
struct SourceCells {
    std::string step;
    /// number = strides[0] + sum over axes a of strides[1 + a] * index[a] + strides.back() * term,
    /// where the cells lie that regularly.
    std::vector<std::ptrdiff_t> strides{};
    /// Elsewhere the number of each, cell by cell, and term by term within a cell.
    std::vector<std::size_t> numbers{};
};

/// Terms of a sum that follow one another and are made of the same steps; or one source.
struct TermRun {
    std::size_t count = 1;
    std::vector<SourceCells> factors{};  ///< one, or the two of a product
    bool is_exponential = false;         ///< exp(first - second) instead of their product
};

/// The derivation of many cells of one step at once. Numbers count the cells in row-major order.
struct DerivationPattern {
    std::string rule;
    /// The arithmetic of the derivation, where `{2}` stands for the text of source 2 and `{2v}` for
    /// its value with four decimals.
    std::string arithmetic;
    bool is_sum = false;  ///< the value is the sum of the terms, but for rounding
    std::vector<TermRun> terms{};
    std::vector<std::size_t> cells{};  ///< in runs: first, count, first, count, ...
};

/// The derivations of all cells of a step, as derive() gives them.
///
/// Range   empty for a tensor that was drawn or given, and for one of more than
/// `most_derived_cells`.
std::vector<DerivationPattern> derivation_patterns(const Plan& plan, const StepTable& table,
                                                   const Ledger& ledger, const std::string& step);

inline constexpr std::size_t most_derived_cells = std::size_t{1} << 17;

}  // namespace attn

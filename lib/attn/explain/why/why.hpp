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
    double value = 0;    ///< of the form, in double
    std::string form{};  ///< `exp(left - right)`, or the arithmetic; empty for a cell or a product
};

/// The derivation of one number.
struct Derivation {
    Cell cell;
    /// The right side of its rule, `exponentials[q,k] / row_sum[q]`.
    std::string rule{};
    std::string side{};       ///< the chosen side of an `if`, with its cells
    std::string arithmetic;   ///< the rule with numbers filled in; empty for a sum of terms
    std::vector<Term> terms;  ///< if it is a sum, in the order of the sum
    /// The value minus its terms: the rounding of a sum in the walk's own type.
    double rounding = 0;
    std::vector<Cell> sources;         ///< the cells that it depends on, for the next depth
    std::vector<std::string> remarks;  ///< its tokens, its row, the mask, its readers
};

/// Parses a cell: `weights[0,1,2,3]`, `weights[short,eat]`: indices from 0 (negative ones from the
/// end), or words of the input on token axes.
///
/// Errors  ConfigError for a text that is no cell, ShapeError for an index out of range.
Cell parse_cell(const Plan& plan, const StepTable& table, const Ledger& ledger,
                const std::string& text);

/// Derives one cell of a walk from the cells that it depends on.
///
/// Range  the value is the ledger's own; the terms and the rounding add up to it.
Derivation derive(const Plan& plan, const StepTable& table, const Ledger& ledger, const Cell& cell);

struct WhyOptions {
    std::size_t depth = 1;  ///< levels of sources to derive
    std::size_t top = 12;   ///< terms to show, the largest first; the others are summed
    Ink ink{};
};

/// Formats the derivation as text, in which every printed sum is exact to its last digit.
std::string why_text(const Plan& plan, const StepTable& table, const Ledger& ledger,
                     const Cell& cell, const WhyOptions& options);

/// Formats the derivation as JSON, with all terms.
std::string why_json(const Plan& plan, const StepTable& table, const Ledger& ledger,
                     const Cell& cell, const WhyOptions& options);

/// Returns `weights[0,2,1]`.
std::string cell_text(const Cell& cell);
/// Returns the cell with names in place of numbers, `query[dog,adjective]`, in a walk whose
/// features have names.
std::string cell_text(const Plan& plan, const StepTable& table, const Ledger& ledger,
                      const Cell& cell);

/// Returns the numbers of the cell's row along the last axis, with their sum.
std::string row_text(const Ledger& ledger, const Cell& cell);

/// Cells of one step that the cells of a pattern depend on: one for each cell, or one for each term
/// of a sum.
struct SourceCells {
    std::string step;
    /// number = strides[0] + sum over axes a of strides[1 + a] * index[a] + strides.back() * term,
    /// if the cells are that regular.
    std::vector<std::ptrdiff_t> strides{};
    /// Otherwise the number of each, cell by cell, and term by term within a cell.
    std::vector<std::size_t> numbers{};
};

/// Consecutive terms of a sum that read the same steps; or a single source.
struct TermRun {
    std::size_t count = 1;
    std::vector<SourceCells> factors{};  ///< one, or the two of a product
    bool is_exponential = false;         ///< exp(first - second) instead of their product
};

/// The derivation of many cells of one step. Numbers are indices in row-major order.
struct DerivationPattern {
    std::string rule;
    /// The arithmetic of the derivation, with `{2}` for the text of source 2 and `{2v}` for its
    /// value with four decimals.
    std::string arithmetic;
    bool is_sum = false;  ///< the value is the sum of the terms, except for rounding
    std::vector<TermRun> terms{};
    std::vector<std::size_t> cells{};  ///< in runs: first, count, first, count, ...
};

/// Returns the derivations of all cells of a step, as by derive().
///
/// Range   empty for a tensor that was drawn or given, or has more than `most_derived_cells`.
std::vector<DerivationPattern> derivation_patterns(const Plan& plan, const StepTable& table,
                                                   const Ledger& ledger, const std::string& step);

inline constexpr std::size_t most_derived_cells = std::size_t{1} << 17;

}  // namespace attn

#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "attn/why/why.hpp"

namespace attn {

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

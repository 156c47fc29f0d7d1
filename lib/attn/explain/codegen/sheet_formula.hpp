#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/rules/rule.hpp"
#include "attn/files/io/workbook.hpp"

namespace attn {

/// The place of a tensor in a workbook. Each axis moves by a constant number of rows, columns or
/// sheets, so that the address of a cell is affine in its indices.
struct SheetBlock {
    struct Step {
        std::int64_t rows = 0, columns = 0, sheets = 0;
    };
    std::int64_t row = 0, column = 0, sheet = 0;  ///< of its first cell, from 0
    std::vector<Step> axes;
    std::vector<std::size_t> shape;
    bool is_truth = false;  ///< its cells are TRUE and FALSE, which SUM ignores
};

/// Returns the place of a cell of a block.
SheetPlace place_in(const SheetBlock& block, const std::vector<std::int64_t>& indices);

/// Spreadsheets have no infinity: this number represents it. Sums with it and its exponential are
/// those of infinity, and a number format displays it as inf.
inline constexpr double sheet_infinity = 1e300;

/// The blocks of a workbook, by their tensors, and its sheets.
struct SheetBlocks {
    std::map<std::string, SheetBlock> blocks;
    std::vector<std::string> sheets;  ///< their names, quoted as formulas need them
};

/// Returns the formula of one cell of a rule, without `=`: the completed rule with addresses in
/// place of tensors and numbers in place of indices. Conditions on indices are decided here, so
/// that a cell has only the branch that it takes. `-inf` is written as -sheet_infinity.
///
/// Sums over a line of cells become SUM, SUMPRODUCT or, of a row and a column, MMULT; other sums
/// list their terms.
///
/// Errors  nullopt for a rule that a formula cannot express: an unknown tensor, a range that
///         depends on cells, argmax of an expression, rounding to float16, or more characters than
///         spreadsheets accept.
std::optional<std::string> sheet_formula(const Rule& rule, const std::vector<std::int64_t>& indices,
                                         const SheetBlocks& blocks, std::int64_t sheet);

}  // namespace attn

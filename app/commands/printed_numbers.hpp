#pragma once
#include <string>
#include <vector>

#include "attn/ground/tensor/tensor.hpp"

namespace app {

/// A number as it is printed in a document.
struct PrintedNumber {
    double value = 0;
    std::string text;
    std::size_t at = 0;
    double unit = 1;      ///< of its last digit: 0.01 for 1.25
    int significant = 0;  ///< digits, without leading zeros
    bool has_power = false, is_percent = false;
};

/// Returns the numbers of a text, in its order, except for those in names, such as `q_1`.
std::vector<PrintedNumber> numbers_in(const std::string& text);

/// The document's own numbers for each cell of a tensor; empty if they are not found.
using PrintedCells = std::vector<const PrintedNumber*>;

/// Finds the numbers of a tensor, or of its transpose, in a document.
PrintedCells printed_cells(const std::vector<PrintedNumber>& numbers, const attn::Tensor& tensor);

/// A tensor as it is printed: how far each number may be from the one that it was rounded from.
///
/// Why  A program prints all numbers of a tensor with as many decimals, or with as many significant
/// digits, and may leave out zeros at the end. Both readings are allowed, and no number is coarser
/// than its own last digit.
struct PrintedTensor {
    PrintedCells cells{};  ///< empty if the document's own numbers were not found
    std::vector<double> cuts{};
    bool is_whole = false;  ///< a result rounded to whole numbers, or exact inputs
    double finest = 1;      ///< the smallest unit, if all numbers have as many decimals

    PrintedTensor() = default;
    PrintedTensor(PrintedCells found, const attn::Tensor& tensor);

    /// Formats a number with the digits of a cell.
    std::string shown(std::size_t i, double value) const;
};

}  // namespace app

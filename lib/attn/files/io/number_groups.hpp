#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// Numbers of a document that belong together: a list in brackets, or the rows of a table.
struct NumberGroup {
    std::size_t begin = 0, end = 0;
    Tensor numbers;
    std::vector<std::string> words{};                      ///< of a list without numbers
    std::vector<std::string> row_names{}, column_names{};  ///< of a table
    bool has_remarks = false;                              ///< behind rows
    bool is_table = false;
    bool is_printed = false;  ///< a table between bars, or one that R or pandas prints
    std::string title{};      ///< in the corner of a table, before the names of its columns
    std::string fault{};      ///< why a table breaks off or a list has no numbers; usually empty
};

/// Writes numbers in one notation, converts LaTeX matrices to lists and boxes to bars, and removes
/// the `#` before arrays that are printed as comments. Keeps lines.
std::string in_one_spelling(std::string_view text);

/// Moves tables of a spreadsheet that are side by side, separated by an empty column, one below the
/// other.
std::string split_tables(std::string_view text);

/// Reads the list that begins at the bracket at `begin`; nullopt if it is not a list of numbers or
/// of words.
///
/// Errors  InputError, starting with `label`: lists of unequal length, a letter in a matrix. A list
///         that was shortened with `...` has a fault.
std::optional<NumberGroup> read_number_list(std::string_view text, std::size_t begin,
                                            const std::string& label);

/// Reads the table that begins with the line at `begin`: rows of numbers between bars, tabs,
/// semicolons, commas or blanks, which may have names, a line of column names, or the `[1,]` of R.
/// nullopt if no table begins there.
std::optional<NumberGroup> read_number_table(std::string_view text, std::size_t begin,
                                             const std::string& label);

}  // namespace attn

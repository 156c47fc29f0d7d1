#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/named_tensor.hpp"

namespace attn {

/// Reads a table of numbers: fields separated by commas, semicolons, tabs or blanks, rows by line
/// ends; `#` starts a comment, fields may be quoted, and a first line that is not all numbers is
/// taken for column names. `nan` and `inf` are numbers. When the first line is that of a long table
/// (`step`, axes, `value`), the steps of that table are read instead, see parse_long_table.
///
/// Shapes  one array without a name, (rows, columns), axes `axis0` and `axis1`, always float64.
/// Errors  InputError, starting with `label`, naming line and column: a field that is no number, a
///         row of another length, a blank line between rows.
std::vector<NamedTensor> parse_csv(std::string_view bytes, const std::string& label);

}  // namespace attn

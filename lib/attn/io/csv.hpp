#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/elements.hpp"

namespace attn {

/// Walks over the lines of a delimited text, which end with `\n`, `\r\n` or `\r`, and splits each
/// into its fields. Comments (`#` to the end of the line) and blank lines at the beginning and the
/// end are passed over. The first line decides the delimiter: a semicolon, else a comma, else a
/// tab, else runs of blanks.
class CsvLines {
public:
    CsvLines(std::string_view bytes, const std::string& label);

    /// The fields of the next line, without the blanks around them; null at the end.
    /// Errors  InputError, starting with the label: a blank line between rows, a quote left open.
    const std::vector<std::string>* next();

    /// The number of the line that next() returned last, from 1.
    std::size_t line() const { return line_; }

private:
    std::string_view take_line();
    void split(std::string_view text);
    [[noreturn]] void fail(const std::string& what) const;

    std::string_view rest_;
    const std::string& label_;
    std::vector<std::string> fields_;
    std::size_t line_ = 0;
    std::size_t blank_line_ = 0;  // the first blank line after the last row, 0 when there is none
    char delimiter_ = '\0';       // ' ' for runs of blanks, '\0' as long as it is unknown
};

/// Reads a table of numbers: fields separated by commas, semicolons, tabs or blanks, rows by line
/// ends; `#` starts a comment, fields may be quoted. `nan` and `inf` are numbers. When the first
/// line is that of a long table (`step`, axes, `value`), the steps of that table are read instead,
/// see parse_long_table.
///
/// A first line without any number is column names. pandas and R write more: a first field left
/// empty (or one field fewer) says that the first column is row names, and 0, 1, 2, ... above rows
/// with decimal points are column numbers. What is passed over so is told in `notes`.
///
/// Shapes  one array without a name, (rows, columns), axes `axis0` and `axis1`.
/// Range   bool where all are True or False, float64 otherwise.
/// Errors  InputError, starting with `label`, naming line and column: a field that is no number, a
///         row of another length, a blank line between rows.
std::vector<NamedTensor> parse_csv(std::string_view bytes, const std::string& label,
                                   std::vector<std::string>& notes);

}  // namespace attn

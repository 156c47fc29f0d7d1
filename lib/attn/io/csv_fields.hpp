#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The number that `text` spells, if it spells one that float64 can hold: `1.5`, `-2e-3`, `+4`,
/// `nan`, `inf`.
std::optional<double> parse_number(std::string_view text);

/// Walks over the lines of a delimited text and splits each into its fields. Comments (`#` to the
/// end of the line) and blank lines at the beginning and the end are passed over. The first line
/// decides the delimiter: a semicolon, else a comma, else a tab, else runs of blanks.
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

}  // namespace attn

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/number_lists.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr std::string_view between_fields{" \t\r"};

// Returns the start of a comment: a # outside of quotes.
std::size_t comment_start(std::string_view text) {
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') quoted = !quoted;
        if (text[i] == '#' && !quoted) return i;
    }
    return text.size();
}

char find_delimiter(std::string_view text) {
    std::string unquoted;
    bool quoted = false;
    for (const char letter : text) {
        if (letter == '"') quoted = !quoted;
        if (!quoted) unquoted += letter;
    }
    // A tab after a comma only aligns columns; with decimal commas it separates them.
    const bool has_tabs =
        unquoted.find('\t') != unquoted.npos && unquoted.find(",\t") == unquoted.npos;
    if (unquoted.find(';') != unquoted.npos) return ';';
    if (has_tabs) return '\t';
    return unquoted.find(',') != unquoted.npos ? ',' : ' ';
}

[[noreturn]] void fail(const std::string& label, std::size_t line, const std::string& what) {
    throw InputError(label + ": line " + std::to_string(line) + what);
}

std::optional<bool> parse_truth(const std::string& field) {
    static const std::set<std::string> yes{"True", "true", "TRUE"}, no{"False", "false", "FALSE"};
    if (!yes.contains(field) && !no.contains(field)) return std::nullopt;
    return yes.contains(field);
}

// True if a field is a value, or looks like one: a mistyped number is not a column name.
bool is_like_a_value(const std::string& field) {
    static const std::set<std::string> missing{"NA", "N/A", "NULL", "null", "None", "#N/A"};
    const std::size_t first = field.find_first_not_of("+-.");
    const bool has_digit_first = first != field.npos && field[first] >= '0' && field[first] <= '9';
    return has_digit_first || parse_number(field) || parse_truth(field) || missing.contains(field);
}

// True if the fields from `first` on are 0, 1, 2, ..., pandas's names of unnamed columns.
bool are_column_numbers(const std::vector<std::string>& fields, std::size_t first) {
    for (std::size_t i = first; i < fields.size(); ++i) {
        if (fields[i] != std::to_string(i - first)) return false;
    }
    return fields.size() - first > 1;
}

bool are_names(const std::vector<std::string>& fields, std::size_t first) {
    return std::none_of(fields.begin() + static_cast<std::ptrdiff_t>(first), fields.end(),
                        is_like_a_value);
}

bool all_have_decimal_points(const std::vector<std::string>& fields) {
    return std::all_of(fields.begin(), fields.end(), [](const std::string& field) {
        return field.find_first_of(".eEnN") != field.npos;
    });
}

// Whether the first line and the first column of a table have names.
struct Layout {
    bool column_names = false;
    bool row_names = false;
    bool words_only = false;  // row names, because they are not numbers
};

Layout layout_of(const std::vector<std::string>& first, const std::vector<std::string>& second) {
    if (first.size() > 1 && first[0].empty() &&
        (are_names(first, 1) || are_column_numbers(first, 1))) {
        return {true, true};
    }
    const bool begins_with_name = second.size() > 1 && !is_like_a_value(second[0]);
    if (are_names(first, 0)) {
        const bool as_long = second.size() == first.size();
        return {true, second.size() == first.size() + 1 || (begins_with_name && as_long), as_long};
    }
    if (begins_with_name && !is_like_a_value(first[0]) && second.size() == first.size()) {
        return {false, true, true};
    }
    const bool numbered = are_column_numbers(first, 0) && second.size() == first.size() &&
                          all_have_decimal_points(second);
    return {numbered, false};
}

/// Iterates over the lines of a delimited text, which end with `\n`, `\r\n` or `\r`, and splits
/// each into its fields. Skips comments (`#` to the end of the line), and blank lines at the
/// beginning and the end. The first line determines the delimiter: a semicolon, else a tab, else a
/// comma, else runs of spaces.
class CsvLines {
public:
    CsvLines(std::string_view bytes, const std::string& label);

    /// Returns the fields of the next line, without surrounding spaces; null at the end.
    /// Errors  InputError, starting with the label: a blank line between rows, a quote left open.
    const std::vector<std::string>* next();

    /// Returns the number of the line that next() returned last, from 1.
    std::size_t line() const { return line_; }

private:
    std::string_view take_line();
    void split(std::string_view text);
    [[noreturn]] void fail(const std::string& what) const;

    std::string_view rest_;
    const std::string& label_;
    std::vector<std::string> fields_;
    std::size_t line_ = 0;
    std::size_t blank_line_ = 0;  // the first blank line after the last row, 0 if there is none
    char delimiter_ = '\0';       // ' ' for runs of spaces, '\0' until it is known
};

CsvLines::CsvLines(std::string_view bytes, const std::string& label) : rest_(bytes), label_(label) {
    constexpr std::string_view byte_order_mark{"\xEF\xBB\xBF"};
    if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
}

const std::vector<std::string>* CsvLines::next() {
    while (!rest_.empty()) {
        const std::string_view whole = take_line();
        const std::string_view text = trimmed(whole.substr(0, comment_start(whole)));
        if (text.empty()) {
            const bool comment = !trimmed(whole).empty();
            if (!comment && delimiter_ != '\0' && blank_line_ == 0) blank_line_ = line_;
            continue;
        }
        if (blank_line_ != 0) {
            line_ = blank_line_;
            fail("is blank, between two rows: remove it (a file has one table)");
        }
        if (delimiter_ == '\0') delimiter_ = find_delimiter(text);
        split(text);
        return &fields_;
    }
    return nullptr;
}

std::string_view CsvLines::take_line() {
    const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : rest_.empty() ? 0 : 1);
    ++line_;
    return text;
}

void CsvLines::split(std::string_view text) {
    fields_.clear();
    std::size_t position = 0;
    while (true) {
        // Skip spaces that belong to no field.
        while (position < text.size() &&
               between_fields.find(text[position]) != between_fields.npos &&
               text[position] != delimiter_) {
            ++position;
        }
        // Read the field: up to the closing quote, or to the next delimiter.
        std::string field;
        bool quoted = false;
        if (position < text.size() && text[position] == '"') {
            for (++position;; ++position) {
                if (position == text.size()) fail("has an open quote: close it on the same line");
                if (text[position] != '"') {
                    field += text[position];
                } else if (position + 1 < text.size() && text[position + 1] == '"') {
                    field += text[position++];
                } else {
                    break;
                }
            }
            ++position;
            quoted = true;
        }
        const std::size_t end = delimiter_ == ' ' ? text.find_first_of(between_fields, position)
                                                  : text.find(delimiter_, position);
        const std::string_view plain =
            trimmed(text.substr(position, end == text.npos ? end : end - position));
        if (quoted && !plain.empty())
            fail("continues after a closing quote: put a delimiter there");
        field += plain;
        if (field.starts_with('\'') && is_formula(field)) field.erase(0, 1);
        if (delimiter_ != ',') field = with_decimal_point(std::move(field));
        fields_.push_back(std::move(field));
        if (end == text.npos) return;
        // Skip the delimiter, which may be a run of spaces.
        position = delimiter_ == ' ' ? text.find_first_not_of(between_fields, end) : end + 1;
    }
}

void CsvLines::fail(const std::string& what) const {
    throw InputError(label_ + ": line " + std::to_string(line_) + " " + what);
}

// True if the columns are those of write_long_table: `step`, axes, `value`, words.
bool is_long_table(const std::vector<std::string>& columns) {
    return columns.size() >= 2 && columns.front() == "step" &&
           std::find(columns.begin() + 1, columns.end(), "value") != columns.end();
}

// Collects the rows of a table.
class Rows {
public:
    Rows(const std::string& label, std::size_t columns, const Layout& layout)
        : label_(label), columns_(columns), layout_(layout), numbers_(label) {
        numbers_.open();
    }

    void add(const std::vector<std::string>& fields, std::size_t line) {
        if (fields.size() != columns_) {
            fail(label_, line,
                 " has " + std::to_string(fields.size()) + " columns, not " +
                     std::to_string(columns_) +
                     " as the lines before: all rows need the same length");
        }
        numbers_.open();
        for (std::size_t column = layout_.row_names ? 1 : 0; column < columns_; ++column) {
            const std::string& field = fields[column];
            if (const std::optional<bool> truth = parse_truth(field)) {
                numbers_.add_truth(*truth);
            } else if (const std::optional<double> number = parse_number(field)) {
                numbers_.add(*number);
            } else {
                fail(label_, line,
                     ", column " + std::to_string(column + 1) + ": " + quoted_text(field) +
                         " is not a number: write it as 1.5 or 1e-3");
            }
        }
        numbers_.close();
        if (!layout_.row_names) return;
        if (layout_.words_only && is_like_a_value(fields[0])) {
            fail(label_, line,
                 ", column 1: " + quoted_text(fields[0]) +
                     " is a number among names of rows: name every row, or none");
        }
        names_.push_back(fields[0]);
    }

    /// Returns the row names; empty if they are only row numbers.
    std::vector<std::string> names() const {
        for (std::size_t i = 0; i < names_.size(); ++i) {
            if (names_[i] != std::to_string(i)) return names_;
        }
        return {};
    }

    /// Must be called once, at the end.
    Tensor tensor() {
        numbers_.close();
        const Shape& shape = numbers_.shape();
        if (shape[0] == 0) throw InputError(label_ + ": no row of numbers: give at least one");
        return numbers_.tensor(numbers_.natural_dtype(), shape, numbered_axes(2));
    }

private:
    const std::string& label_;
    std::size_t columns_;
    const Layout& layout_;
    NumberLists numbers_;
    std::vector<std::string> names_;
};

}  // namespace

bool is_formula(std::string_view text) {
    const std::size_t first = text.find_first_not_of('\'');
    return first != text.npos && std::string_view("=+-@\t\r\n").find(text[first]) != text.npos;
}

std::vector<NamedTensor> parse_csv(std::string_view bytes, const std::string& label,
                                   std::vector<std::string>& notes) {
    const auto next = [](CsvLines& lines) {
        const std::vector<std::string>* fields = lines.next();
        return fields == nullptr ? std::vector<std::string>() : *fields;
    };
    // The first two lines determine the layout of the table.
    CsvLines lines(bytes, label);
    const std::vector<std::string> first = next(lines);
    const std::size_t first_line = lines.line();
    if (is_long_table(first)) {
        throw InputError(label +
                         ": is a table with one number per line, which is written for other "
                         "programs and not read here: give the walk as .npz or .json");
    }
    const std::vector<std::string> second = next(lines);
    const Layout layout = layout_of(first, second);
    if (layout.column_names && !second.empty()) {
        notes.push_back(label + ": the first line was read as column names" +
                        (layout.row_names ? ", the first column as row names" : ""));
    } else if (layout.row_names) {
        notes.push_back(label + ": the first column was read as row names");
    }

    // All later lines are rows like the second.
    const bool adds_column = layout.row_names && second.size() == first.size() + 1;
    Rows rows(label, first.size() + (adds_column ? 1 : 0), layout);
    if (!layout.column_names && !first.empty()) rows.add(first, first_line);
    if (!second.empty()) rows.add(second, lines.line());
    while (const std::vector<std::string>* fields = lines.next()) rows.add(*fields, lines.line());
    std::vector<NamedTensor> result;
    result.push_back({"", rows.tensor(), rows.names(), {}});
    const bool are_numbers = are_column_numbers(first, layout.row_names && !adds_column ? 1 : 0);
    if (layout.column_names && !are_numbers) {
        const std::size_t columns = result[0].tensor.shape()[1];
        result[0].column_names.assign(first.end() - static_cast<std::ptrdiff_t>(columns),
                                      first.end());
    }
    return result;
}

}  // namespace attn

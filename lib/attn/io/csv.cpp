#include "attn/io/csv.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "attn/io/elements.hpp"
#include "attn/io/file_bytes.hpp"
#include "attn/io/long_table.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

constexpr std::string_view blanks{" \t\r"};

// Where a comment starts, unless the # stands in quotes.
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
    for (const char delimiter : {';', ',', '\t'}) {
        if (unquoted.find(delimiter) != unquoted.npos) return delimiter;
    }
    return ' ';
}

[[noreturn]] void fail(const std::string& label, std::size_t line, const std::string& what) {
    throw InputError(label + ": line " + std::to_string(line) + what);
}

bool all_numbers(const std::vector<std::string>& fields) {
    return std::all_of(fields.begin(), fields.end(),
                       [](const std::string& field) { return parse_number(field).has_value(); });
}

}  // namespace

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
            fail("is blank between two rows: remove it, a file holds one table");
        }
        if (delimiter_ == '\0') delimiter_ = find_delimiter(text);
        split(text);
        return &fields_;
    }
    return nullptr;
}

std::string_view CsvLines::take_line() {
    const std::size_t end = rest_.find('\n');
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    ++line_;
    return text;
}

void CsvLines::split(std::string_view text) {
    fields_.clear();
    std::size_t position = 0;
    while (true) {
        // Pass over the blanks that belong to no field.
        while (position < text.size() && blanks.find(text[position]) != blanks.npos &&
               text[position] != delimiter_) {
            ++position;
        }
        // Take the field: up to the closing quote, or up to the next delimiter.
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
        const std::size_t end = delimiter_ == ' ' ? text.find_first_of(blanks, position)
                                                  : text.find(delimiter_, position);
        const std::string_view plain =
            trimmed(text.substr(position, end == text.npos ? end : end - position));
        if (quoted && !plain.empty()) fail("goes on after a closing quote: put a delimiter there");
        field += plain;
        fields_.push_back(std::move(field));
        if (end == text.npos) return;
        // Step over the delimiter, which may be a run of blanks.
        position = delimiter_ == ' ' ? text.find_first_not_of(blanks, end) : end + 1;
    }
}

void CsvLines::fail(const std::string& what) const {
    throw InputError(label_ + ": line " + std::to_string(line_) + " " + what);
}

std::vector<NamedTensor> parse_csv(std::string_view bytes, const std::string& label) {
    CsvLines lines(bytes, label);
    std::vector<double> values;
    std::size_t columns = 0;
    std::size_t rows = 0;
    while (const std::vector<std::string>* fields = lines.next()) {
        // The first line fixes the number of columns, and may name them.
        if (columns == 0) {
            columns = fields->size();
            if (is_long_table(*fields)) {
                const std::vector<std::string> names = *fields;
                return parse_long_table(lines, names, label);
            }
            if (!all_numbers(*fields)) continue;
        }
        if (fields->size() != columns) {
            fail(label, lines.line(),
                 " has " + std::to_string(fields->size()) + " columns, not " +
                     std::to_string(columns) + " as the lines before: give every row as many");
        }
        for (std::size_t column = 0; column < columns; ++column) {
            const std::string& field = (*fields)[column];
            const std::optional<double> number = parse_number(field);
            if (!number) {
                fail(label, lines.line(),
                     ", column " + std::to_string(column + 1) + ": " + shown(field) +
                         " is no number of float64: write it as 1.5 or 1e-3");
            }
            values.push_back(*number);
        }
        ++rows;
    }
    if (rows == 0) {
        throw InputError(label + ": no row of numbers: give at least one");
    }
    Array<double> array = empty_array<double>({rows, columns});
    std::copy(values.begin(), values.end(), array.data());
    std::vector<NamedTensor> result;
    result.push_back({"", Tensor(numbered_axes(2), std::move(array))});
    return result;
}

}  // namespace attn

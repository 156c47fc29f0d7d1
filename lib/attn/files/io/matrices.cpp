// Matrices in documents: LaTeX, Markdown tables, rows of numbers under a name.

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/number_lists.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Converts LaTeX to lines of cells separated by `|`, without markup.
std::string plain_rows(std::string_view text) {
    std::string plain = replaced_all(
        std::string(text),
        {{"\\\\\n", "\n"}, {"\\\\", "\n"},  {"\\left", ""},  {"\\right", ""},      {"\\mathbf", ""},
         {"\\mathrm", ""}, {"\\text", ""},  {"\\bm", ""},    {"\\boldsymbol", ""}, {"\\,", " "},
         {"\\;", " "},     {"\\quad", " "}, {"\\hline", ""}, {"\\infty", "inf"},   {"\\top", "T"},
         {"\\cdot", ""},   {"$", ""},       {"&", "|"},      {"\\[", ""},          {"\\]", ""}});
    for (const std::string_view bracket : {"\\begin{", "\\end{"}) {
        for (std::size_t at = 0; (at = plain.find(bracket, at)) != plain.npos;) {
            std::size_t end = std::min(plain.find('}', at), plain.size() - 1);
            // The columns of an array: {cc}.
            const bool has_columns = plain.compare(at, end - at, "\\begin{array") == 0;
            if (has_columns) end = std::min(plain.find('}', end + 1), plain.size() - 1);
            plain.replace(at, end + 1 - at, "\n");
        }
    }
    std::erase_if(plain, [](char letter) { return letter == '{' || letter == '}'; });
    return plain;
}

/// Splits a line into cells by any of the separators, without the outer bars of a table.
std::vector<std::string> cells_of(std::string_view line) {
    std::string_view inner = trimmed(line);
    if (inner.starts_with('|')) inner.remove_prefix(1);
    if (inner.ends_with('|')) inner.remove_suffix(1);
    const bool has_bars = inner.find('|') != inner.npos || inner.size() + 1 < trimmed(line).size();
    std::string_view ends = ", ";
    for (const char* const each : {"\t", ";"}) {
        if (inner.find(each) != inner.npos) ends = each;
    }
    if (has_bars) ends = "|";
    std::vector<std::string> cells;
    for (std::size_t at = 0; at <= inner.size();) {
        const std::size_t end = std::min(inner.find_first_of(ends, at), inner.size());
        std::string cell(trimmed(inner.substr(at, end - at)));
        if (ends.size() == 1) cell = with_decimal_point(std::move(cell));
        if (!cell.empty() || ends.size() == 1) cells.push_back(cell);
        at = end + 1;
    }
    return cells;
}

/// Returns the name in a line above a matrix: `### W_Q`, `**Q**:`, `W^Q =`.
std::string name_in(std::string_view line) {
    std::string name(line.substr(0, line.find('=')));
    std::ranges::replace(name, '^', '_');
    std::erase_if(name, [](unsigned char letter) {
        return std::isalnum(letter) == 0 && letter != '_' && letter != '.' && letter != ' ';
    });
    name = trimmed(name);
    const bool is_word =
        name.find(' ') == name.npos &&
        std::isalpha(static_cast<unsigned char>(name.empty() ? '0' : name[0])) != 0;
    return is_word ? name : "";
}

bool is_rule(const std::string& cell) {
    return cell.find('-') != cell.npos && cell.find_first_not_of("-: ") == cell.npos;
}

/// Collects rows of numbers until a line without any.
class Matrices {
public:
    explicit Matrices(const std::string& label) : label_(label) {}

    std::vector<NamedTensor> of(const std::string& plain) {
        for (std::size_t at = 0; at <= plain.size();) {
            const std::size_t end = std::min(plain.find('\n', at), plain.size());
            take(std::string_view(plain).substr(at, end - at));
            at = end + 1;
        }
        finish();
        for (std::size_t i = 0; i < all_.size() && all_.size() > 1; ++i) {
            if (all_[i].name.empty()) all_[i].name = "matrix_" + std::to_string(i + 1);
        }
        return std::move(all_);
    }

private:
    void take(std::string_view line) {
        std::vector<std::string> cells = cells_of(line);
        if (cells.empty()) return finish();
        if (std::ranges::all_of(cells, is_rule)) return;  // the rule below the head of a table
        // A row may have a name.
        const bool is_named = cells.size() > 1 && !parse_number(cells[0]);
        const auto first = cells.begin() + (is_named ? 1 : 0);
        const auto is_number = [](const std::string& cell) {
            return parse_number(cell).has_value();
        };
        if (!std::all_of(first, cells.end(), is_number)) {
            // A row of numbers between bars must have only numbers; without bars, it is a sentence.
            const auto off = std::find_if_not(first, cells.end(), is_number);
            if (line.find('|') != line.npos && std::any_of(first, cells.end(), is_number)) {
                throw InputError(label_ + ": " + shown(*off) +
                                 " is not a number, beside numbers of its row: write it as 1.5");
            }
            finish();
            const bool is_head = line.find_first_of("|;\t") != line.npos;
            if (!is_head) name_ = name_in(line);
            return;
        }
        if (is_named) row_names_.push_back(cells[0]);
        lists().open();
        for (auto cell = first; cell != cells.end(); ++cell) {
            const auto whole = parse_whole<std::int64_t>(*cell);
            whole ? lists().add_integer(*whole) : lists().add(*parse_number(*cell));
        }
        lists().close();
    }

    NumberLists& lists() {
        if (!rows_) rows_.emplace(label_).open();
        return *rows_;
    }

    void finish() {
        if (!rows_) return;
        rows_->close();
        const Shape shape = rows_->shape();
        if (row_names_.size() != shape[0]) row_names_.clear();
        all_.push_back({std::exchange(name_, ""),
                        rows_->tensor(rows_->natural_dtype(), shape, numbered_axes(shape.size())),
                        std::exchange(row_names_, {})});
        rows_.reset();
    }

    const std::string& label_;
    std::string name_;
    std::vector<std::string> row_names_;
    std::optional<NumberLists> rows_;
    std::vector<NamedTensor> all_;
};

/// True if a line of one word is followed by rows of at least two numbers, which may have a header.
bool has_named_rows(std::string_view text) {
    const std::size_t end = text.find('\n');
    const std::string_view first = text.substr(0, end);
    if (end == text.npos || name_in(first).empty() || cells_of(first).size() != 1) return false;
    for (int line = 0; line < 2; ++line) {
        text = text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
        const std::string_view row = text.substr(0, text.find('\n'));
        const std::vector<std::string> cells = cells_of(row);
        const auto is_number = [](const std::string& cell) {
            return parse_number(cell).has_value();
        };
        if (cells.size() < 2) return false;
        const bool has_name = !is_number(cells[0]) && (cells.size() > 2 || line > 0);
        if (std::all_of(cells.begin() + (has_name ? 1 : 0), cells.end(), is_number)) return true;
        if (row.find_first_of(";\t") == row.npos) return false;
    }
    return false;
}

}  // namespace

bool looks_like_matrices(std::string_view text) {
    text = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    return text.find("\\begin{") != text.npos || text.starts_with('|') ||
           text.find("\n|") != text.npos || has_named_rows(text);
}

std::vector<NamedTensor> parse_matrices(std::string_view text, const std::string& label) {
    std::vector<NamedTensor> all = Matrices(label).of(plain_rows(text));
    if (all.empty()) {
        throw InputError(label + ": has no matrix of numbers: write each row on a line of its own");
    }
    return all;
}

}  // namespace attn

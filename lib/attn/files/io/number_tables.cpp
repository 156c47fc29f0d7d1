// Tables of numbers in a text: Markdown, spreadsheets, what R, MATLAB, Julia and pandas print.

#include <algorithm>
#include <optional>
#include <utility>

#include "attn/files/io/number_groups.hpp"
#include "attn/files/io/number_lists.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// A number of a table, which may be a percentage or a fraction.
std::optional<double> number_in(std::string_view cell) {
    if (cell.find('/') != cell.npos || !cell.ends_with('%')) return parse_fraction(cell);
    return parse_number(std::string(trimmed(cell.substr(0, cell.size() - 1))) + "e-2");
}

bool is_number(const std::string& cell) { return number_in(cell).has_value(); }

/// True for `[1,]` and `[,1]`, which count the rows and columns of R.
bool counts_in_r(const std::string& cell) {
    return cell.size() > 3 && cell.starts_with('[') && cell.ends_with(']') &&
           cell.find(',') != cell.npos && cell.find_first_not_of("[,]0123456789") == cell.npos;
}

/// A line, split at its separators.
struct TableLine {
    std::vector<std::string> cells{};
    char mark = ' ';
    bool is_indented = false;
    std::size_t end = 0;  ///< of the line, without its mark

    bool has_bars() const { return mark == '|'; }
    /// True for a line between rows, `|---|:-:|` or `+===+`, or one of types, `f64 f64`.
    bool is_rule() const {
        static constexpr std::string_view types[] = {"f64",   "f32",   "i64",
                                                     "<dbl>", "<num>", "<f64>"};
        return std::ranges::all_of(cells, [](const std::string& cell) {
            return cell.find_first_not_of("-:=+ ") == cell.npos ||
                   std::ranges::find(types, cell) != std::end(types);
        });
    }
    /// True for a row of at least two numbers, which may follow a name.
    bool is_row() const {
        const auto first = cells.begin() + (has_name() ? 1 : 0);
        return cells.end() - first > 1 && std::all_of(first, cells.end(), is_number);
    }
    bool has_name() const { return cells.size() > 1 && !is_number(cells[0]); }
    std::size_t numbers() const { return cells.size() - (has_name() ? 1 : 0); }
};

/// `**0.7**` of Markdown and `$0.7$` of LaTeX as 0.7.
std::string without_emphasis(std::string cell) {
    std::erase_if(cell,
                  [](char letter) { return letter == '*' || letter == '$' || letter == '`'; });
    return std::string(trimmed(cell));
}

/// True for `0,108  0,446`, numbers between blanks.
bool are_decimal_commas(std::string_view line) {
    std::size_t words = 0;
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
        const std::string_view word = line.substr(at, end - at);
        at = end + 1;
        if (word.empty()) continue;
        const bool is_name = words++ == 0 && word.find(',') == word.npos;
        if (word.ends_with(',') || word.starts_with(',')) return false;
        if (!is_name && !parse_number(with_decimal_point(std::string(word)))) return false;
    }
    return words > 1;
}

TableLine line_at(std::string_view text, std::size_t begin) {
    TableLine line;
    line.end = std::min(text.find('\n', begin), text.size());
    const std::string_view whole = text.substr(begin, line.end - begin);
    line.is_indented = whole.starts_with(' ') || whole.starts_with('\t');
    std::string_view inner = trimmed(whole);
    const bool is_tabbed = whole.starts_with('\t');
    if (inner.starts_with('|')) inner.remove_prefix(1);
    if (inner.ends_with('|')) inner.remove_suffix(1);
    const bool has_frame = inner.size() < trimmed(whole).size();
    for (const char each : {',', '\t', ';', '|'}) {
        if (inner.find(each) != inner.npos) line.mark = each;
    }
    if (line.mark == ',' && inner.find("[,1]") != inner.npos) line.mark = ' ';
    if (line.mark == ',' && inner.starts_with('[')) line.mark = ' ';
    const bool has_commas = line.mark == ',' && are_decimal_commas(inner);
    if (has_commas) line.mark = ' ';
    const std::string ends = line.mark == ' ' ? " " : std::string(1, line.mark);
    for (std::size_t at = 0; at <= inner.size();) {
        const std::size_t end = std::min(inner.find(ends, at), inner.size());
        std::string cell(trimmed(inner.substr(at, end - at)));
        if (line.mark == '|') cell = without_emphasis(cell);
        if (has_commas || (line.mark != ' ' && line.mark != ',')) {
            cell = with_decimal_point(std::move(cell));
        }
        if (!cell.empty() || line.mark != ' ') line.cells.push_back(std::move(cell));
        at = end + 1;
    }
    if (is_tabbed && line.mark == '\t') line.cells.insert(line.cells.begin(), "");
    if (has_frame) line.mark = '|';
    return line;
}

/// True if a line of words is the head of a table whose first row is `row`: as many as its numbers,
/// or as all its fields. If blanks separate the fields, only an indented line or the first line of
/// the text is one.
bool is_head(const TableLine& line, const TableLine& row, bool is_first) {
    const std::size_t length = line.cells.size();
    const bool fits = length == row.cells.size() || length == row.numbers();
    const bool has_numbers = std::ranges::any_of(line.cells, is_number);
    const bool ends_name = line.cells.back().ends_with(':') || line.cells.back().ends_with('=');
    return fits && length > 1 && !has_numbers && !ends_name &&
           (line.mark != ' ' || line.is_indented || is_first);
}

/// True for 0, 1, 2, ..., pandas's column numbers.
bool counts_columns(const TableLine& line) {
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
        if (line.cells[i] != std::to_string(i)) return false;
    }
    return line.cells.size() > 1;
}

/// True for a head of column numbers above rows with names, `| | 0 | 1 | 2 |`.
bool counts_beside_names(const TableLine& line) {
    if (!line.has_bars() || line.cells.size() < 3 || !line.cells[0].empty()) return false;
    const std::size_t first = line.cells[1] == "0" ? 0 : 1;
    for (std::size_t i = 1; i < line.cells.size(); ++i) {
        if (line.cells[i] != std::to_string(i - 1 + first)) return false;
    }
    return true;
}

/// True if the text before a place ends with a name: a word alone on its line, or one before a
/// colon or an equals sign.
bool follows_name(std::string_view text, std::size_t begin) {
    const std::size_t last = text.substr(0, begin).find_last_not_of(" \t\r\n");
    if (last == text.npos) return false;
    const std::string_view before = text.substr(0, last + 1);
    const std::string_view line = trimmed(before.substr(before.rfind('\n') + 1));
    return (line.ends_with(':') || line.ends_with('=') ||
            (line.find_first_of(" ,;|[") == line.npos && !parse_number(line)));
}

std::string row_name(std::string name) {
    if (counts_in_r(name)) return "";
    while (name.ends_with(':')) name.pop_back();
    const bool is_quoted =
        name.size() > 2 && name[0] == name.back() && (name[0] == '"' || name[0] == '\'');
    return is_quoted ? name.substr(1, name.size() - 2) : name;
}

/// Returns why a line with numbers is not a row of the table above it; empty if there is no reason,
/// and for sums below some of the columns.
std::string fault_of(const TableLine& line, const TableLine& row) {
    static constexpr std::string_view sums[] = {"sum", "total", "\u03a3", "\u2211", "summe"};
    const std::string name = line.cells.empty() ? "" : lower(row_name(line.cells[0]));
    if (std::ranges::find(sums, name) != std::end(sums)) return "";
    const auto first = line.cells.begin() + (row.has_name() && !line.cells.empty() ? 1 : 0);
    const auto count = std::count_if(first, line.cells.end(), is_number);
    const auto other = std::find_if_not(first, line.cells.end(), is_number);
    if (line.is_row() && line.numbers() != row.numbers()) {
        return "a row has " + std::to_string(line.numbers()) + " numbers, not " +
               std::to_string(row.numbers()) + " as the rows above it";
    }
    if (count == 0 || other == line.cells.end() || line.cells.size() != row.cells.size()) return "";
    return quoted_text(*other) + " is not a number, beside numbers of its row: write it as 1.5";
}

/// The fields of a line, empty ones included.
std::vector<std::string> fields_of(std::string_view line, char mark) {
    std::vector<std::string> fields;
    for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find(mark, at), line.size());
        fields.emplace_back(trimmed(line.substr(at, end - at)));
        at = end + 1;
    }
    return fields;
}

}  // namespace

std::string split_tables(std::string_view text) {
    const std::vector<std::string> lines = lines_of(text);
    std::string separated;
    for (std::size_t first = 0; first < lines.size();) {
        const auto mark_at = lines[first].find_first_of("\t;,");
        const char mark = mark_at == std::string::npos ? '\n' : lines[first][mark_at];
        std::vector<std::vector<std::string>> rows;
        std::size_t columns = 0;
        for (std::size_t i = first; i < lines.size() && lines[i].find(mark) != std::string::npos;
             ++i) {
            rows.push_back(fields_of(lines[i], mark));
            columns = std::max(columns, rows.back().size());
        }
        std::string tables;
        std::size_t count = 0, begin = 0;
        for (std::size_t column = 0; column <= columns; ++column) {
            const bool is_empty = std::ranges::all_of(
                rows, [&](const auto& row) { return column >= row.size() || row[column].empty(); });
            if (!is_empty) continue;
            for (const auto& row : rows) {
                std::string line;
                for (std::size_t i = begin; i < std::min(column, row.size()); ++i) {
                    line += (i > begin ? std::string(1, mark) : "") + row[i];
                }
                while (line.ends_with(mark)) line.pop_back();
                if (!line.empty()) tables += line + "\n";
            }
            count += column > begin ? 1 : 0;
            begin = column + 1;
            tables += "\n";
        }
        if (count > 1) separated += "\n" + tables;
        for (std::size_t i = 0; i < std::max<std::size_t>(rows.size(), 1); ++i, ++first) {
            if (count < 2) separated += lines[first] + "\n";
        }
    }
    return separated;
}

std::optional<NumberGroup> read_number_table(std::string_view text, std::size_t begin,
                                             const std::string& label) {
    NumberGroup group;
    group.begin = begin;
    group.is_table = true;
    std::size_t at = begin;
    TableLine line = line_at(text, at);
    const auto next = [&] {
        at = std::min(line.end + 1, text.size());
        line = line_at(text, at);
    };
    const auto pass_rules = [&] {
        while (!line.cells.empty() && line.is_rule() && at < text.size()) next();
    };
    pass_rules();
    bool has_head = counts_beside_names(line);
    if (has_head) next();
    pass_rules();
    bool is_counted = counts_columns(line);  // pandas also numbers the rows
    const bool is_r = !line.cells.empty() && std::ranges::all_of(line.cells, counts_in_r);
    if (!line.is_row() || is_counted) {
        const TableLine head = line;
        const std::size_t top = at;
        next();
        pass_rules();
        is_counted = is_counted && line.cells.size() == head.cells.size() + 1;
        if (is_counted || (!head.cells.empty() && !head.is_row())) {
            const bool is_first = text.find_first_not_of(" \t\r\n") >= begin;
            if (!line.is_row() || !(is_counted || is_r || is_head(head, line, is_first))) {
                return std::nullopt;
            }
            group.is_printed = is_counted || is_r;
            has_head = true;
            const bool has_corner =
                line.has_name() && head.mark != ' ' && head.cells.size() == line.cells.size();
            if (has_corner) group.title = head.cells[0];
            if (!is_counted && !is_r) {
                group.column_names.assign(
                    head.cells.end() -
                        static_cast<long>(std::min(head.cells.size(), line.numbers())),
                    head.cells.end());
            }
        } else {
            line = line_at(text, at = top);
        }
    }
    const TableLine first = line;
    if (!first.is_row()) return std::nullopt;
    const std::size_t names = is_counted || first.has_name() ? 1 : 0;
    NumberLists lists(label);
    lists.open();
    std::size_t rows = 0;
    for (; at < text.size() && !line.cells.empty(); next()) {
        group.is_printed = group.is_printed || line.has_bars();
        if (line.is_rule()) continue;
        const bool is_like = line.cells.size() == first.cells.size() &&
                             line.has_name() == first.has_name() && line.is_row();
        if (!is_like) {
            group.fault = fault_of(line, first);
            break;
        }
        if (names > 0 && !is_counted) group.row_names.push_back(row_name(line.cells[0]));
        lists.open();
        for (std::size_t i = names; i < line.cells.size(); ++i) {
            group.is_printed = group.is_printed || line.cells[i].ends_with('%');
            if (!lists.add_word(line.cells[i])) lists.add(*number_in(line.cells[i]));
        }
        lists.close();
        ++rows;
        group.end = line.end;
    }
    const bool is_table = rows > 1 || has_head || follows_name(text, begin);
    if (!is_table) return std::nullopt;
    lists.close();
    const auto is_empty = [](const std::string& name) { return name.empty(); };
    if (std::ranges::all_of(group.row_names, is_empty)) group.row_names.clear();
    group.numbers = lists.tensor(lists.natural_dtype(), lists.shape(), numbered_axes(2));
    return group;
}

}  // namespace attn

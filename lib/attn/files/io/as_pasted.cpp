// Converts pasted text to the form that the readers of arrays and tables expect.

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>

#include "attn/files/io/number_lists.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

std::string with_decimal_point(std::string field) {
    const std::size_t comma = field.find(',');
    const bool is_number = field.find_first_not_of("+-0123456789,eE") == field.npos;
    if (comma != field.npos && comma == field.rfind(',') && is_number) field[comma] = '.';
    return field;
}

std::string rows_on_lines(std::string_view inside) {
    constexpr std::size_t shortest_printed = 60;  // NumPy breaks lines at 75 characters
    if (inside.find_first_of(",;[]\"'") != inside.npos) return {};
    if (inside.find('\n') >= shortest_printed) return {};
    std::string rows;
    std::size_t columns = 0, lines = 0;
    std::istringstream text{std::string(inside)};
    for (std::string line; std::getline(text, line);) {
        std::istringstream row(line);
        std::size_t words = 0;
        for (std::string word; row >> word; ++words) {
            if (!parse_number(word)) return {};
        }
        if (words == 0) continue;
        if (words < 2 || (lines > 0 && words != columns)) return {};
        columns = words;
        rows += (lines++ > 0 ? ", [" : "[") + line + "]";
    }
    return lines > 1 ? rows : "";
}

std::string with_points_and_rows(std::string text) {
    for (std::size_t at = 0; (at = text.find('[', at)) != text.npos; ++at) {
        const std::size_t close = text.find_first_of("[]\n", at + 1);
        if (close == text.npos) break;
        if (text[close] != ']') continue;
        const std::string inside = text.substr(at + 1, close - at - 1);
        std::istringstream words(inside);
        std::size_t count = 0, decimals = 0;
        for (std::string word; words >> word; ++count) {
            const bool has_comma = word.find(',') != word.npos && with_decimal_point(word) != word;
            decimals += has_comma && parse_number(with_decimal_point(word)) ? 1U : 0U;
        }
        if (count > 1 && decimals == count) {
            std::replace(text.begin() + static_cast<std::ptrdiff_t>(at),
                         text.begin() + static_cast<std::ptrdiff_t>(close), ',', '.');
            continue;
        }
        const std::string lines = replaced_all(inside, {{",", "\n"}});
        const std::string rows = rows_on_lines(lines);
        if (decimals > 0 || inside.find(',') == inside.npos || rows.empty()) continue;
        text.replace(at + 1, inside.size(), rows);
    }
    return text;
}

std::string arrays_alone(std::string_view pasted) {
    const std::string spelled = with_points_and_rows(std::string(pasted));
    const std::string_view text = spelled;
    std::string alone;
    std::size_t depth = 0, opened = 0;  // brackets, and the start of the innermost
    bool has_rows = false;              // it contains a semicolon that ends a row
    bool is_flat = true;                // no list is nested in the outermost one
    char quote = '\0';
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char letter = text[i];
        const bool begins_line = i == 0 || text[i - 1] == '\n';
        const std::string_view rest = text.substr(i);
        const bool is_import =
            begins_line && (rest.starts_with("import ") || rest.starts_with("from "));
        if (quote != '\0' || letter == '"' || letter == '\'') {
            quote = quote == '\0' ? letter : quote == letter ? '\0' : quote;
            alone += letter;
        } else if (letter == '#' || is_import) {
            const std::size_t end = std::min(text.find('\n', i), text.size());
            alone.append(end - i, ' ');
            i = end - 1;
        } else if (letter == ';') {
            alone += depth == 0 ? " " : "], [";
            has_rows = has_rows || depth > 0;
        } else if (letter == '[') {
            opened = alone.size();
            is_flat = ++depth == 1;
            alone += letter;
        } else if (letter == ']') {
            if (depth == 1 && is_flat && !has_rows) {
                const std::string rows = rows_on_lines(std::string_view(alone).substr(opened + 1));
                if (!rows.empty()) alone.replace(opened + 1, alone.npos, rows);
            }
            if (has_rows) alone.insert(opened, "[");
            alone += has_rows ? "]]" : "]";
            has_rows = false;
            depth -= depth > 0 ? 1 : 0;
        } else {
            alone += letter;
        }
    }
    return alone;
}

}  // namespace attn

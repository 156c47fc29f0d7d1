// Lists and tables of numbers in the text of a document.

#include "attn/files/io/number_groups.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "attn/files/io/number_lists.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Reads the list that begins at a bracket; nullopt if it is not a list of numbers or of words.
class NumberGroupReader {
public:
    NumberGroupReader(std::string_view text, std::size_t begin, const std::string& label)
        : text_(text), begin_(begin), at_(begin), lists_(label), label_(label) {}

    std::optional<NumberGroup> read() {
        const std::size_t next = text_.find_first_of("[]", begin_ + 1);
        if (next != text_.npos && text_[next] == ']' &&
            !rows_on_lines(text_.substr(begin_ + 1, next - begin_ - 1)).empty()) {
            return with_rows();
        }
        std::size_t depth = 0;
        bool is_after_row = false;  // text after a row is a comment on it
        do {
            at_ = std::min(text_.find_first_not_of(" \t\n,", at_), text_.size());
            if (at_ == text_.size()) return std::nullopt;
            const char letter = text_[at_];
            if (letter == '[') {
                if (!has_space()) return std::nullopt;
                lists_.open();
                ++depth;
                is_after_row = false;
            } else if (letter == ']') {
                lists_.close();
                --depth;
                is_after_row = true;
            } else if (letter == ';' && depth == 1) {
                return with_rows();
            } else if (letter == '#' || (is_after_row && !is_number_here() && token() != "...")) {
                has_remarks_ = has_remarks_ || letter != '#';
                at_ = std::min(text_.find('\n', at_), text_.size());
                continue;
            } else if (token() == "...") {
                return shortened();
            } else if (!take_value()) {
                // A matrix is not text in brackets: a letter in it is a typing error.
                if (text_.compare(begin_, 2, "[[") != 0 || lists_.size() == 0) return std::nullopt;
                throw InputError(label_ + ": " + place_in(text_, at_) + ": " +
                                 quoted_text(token()) +
                                 " is not a number: write it as 1.5 or 1e-3");
            } else {
                is_after_row = false;
                continue;
            }
            ++at_;
        } while (depth > 0);
        if (lists_.size() == 0) return std::nullopt;
        if (!words_.empty() && words_.size() != lists_.size()) return std::nullopt;
        const Shape shape = lists_.shape();
        return NumberGroup{
            .begin = begin_,
            .end = at_,
            .numbers = lists_.tensor(lists_.natural_dtype(), shape, numbered_axes(shape.size())),
            .words = words_,
            .has_remarks = has_remarks_};
    }

private:
    bool has_space() const { return lists_.shape().size() < 8; }
    bool is_number_here() const {
        return parse_number(std::string(token())).has_value() || text_[at_] == '[';
    }
    std::string_view token() const {
        const std::size_t end = std::min(text_.find_first_of(" \t\n,[];", at_), text_.size());
        return text_.substr(at_, end - at_);
    }
    /// Rows that end with semicolons or with lines, `[1 2; 3 4]`.
    std::optional<NumberGroup> with_rows() {
        const std::size_t end = text_.find(']', begin_);
        if (end == text_.npos) return std::nullopt;
        const std::string rows = arrays_alone(text_.substr(begin_, end + 1 - begin_));
        std::optional<NumberGroup> group = NumberGroupReader(rows, 0, label_).read();
        if (group) group->begin = begin_, group->end = end + 1;
        return group;
    }
    /// The list up to its end, without numbers; nullopt for dots in brackets alone, `[...]`.
    std::optional<NumberGroup> shortened() const {
        std::size_t end = begin_, depth = 0;
        do {
            depth += text_[end] == '[' ? 1 : 0;
            depth -= text_[end] == ']' ? 1 : 0;
        } while (++end < text_.size() && depth > 0);
        const std::string_view list = text_.substr(begin_, end - begin_);
        if (depth > 0 || list.find_first_of("0123456789") == list.npos) return std::nullopt;
        return NumberGroup{.begin = begin_,
                           .end = end,
                           .numbers = Tensor(numbered_axes(2), empty_array<double>({0, 0})),
                           .fault = "it was shortened when it was printed: print it whole"};
    }
    bool take_value() {
        const char quote = text_[at_];
        if (quote == '"' || quote == '\'') {
            const std::size_t end = text_.find(quote, at_ + 1);
            if (end == text_.npos) return false;
            words_.emplace_back(text_.substr(at_ + 1, end - at_ - 1));
            lists_.add(0);
            at_ = end + 1;
            return true;
        }
        const std::string_view word = token();
        if (!lists_.add_word(word)) return false;
        at_ += word.size();
        return true;
    }

    std::string_view text_;
    std::size_t begin_, at_;
    NumberLists lists_;
    std::vector<std::string> words_;
    bool has_remarks_ = false;
    const std::string& label_;
};

/// Turns `q = (1, 1)` of prose, `Q = (1 2; 3 4)` and `mat(1, 2; 3, 4)` of Typst into lists, but no
/// shape.
std::string with_brackets(std::string text) {
    text = replaced_all(std::move(text), {{"= mat(", "= ("}});
    for (std::size_t at = 0; (at = text.find("= (", at)) != text.npos; ++at) {
        const std::size_t open = at + 2, close = text.find(')', open);
        if (close == text.npos) break;
        const std::string_view inside = std::string_view(text).substr(open + 1, close - open - 1);
        const std::string_view before = trimmed(std::string_view(text).substr(0, at));
        const std::string name =
            lower(std::string(before.substr(before.size() < 5 ? 0 : before.size() - 5)));
        const bool is_shape = name.ends_with("shape") || name.ends_with("size") ||
                              name.ends_with("dim") || name.ends_with("dims");
        const bool are_numbers =
            inside.find_first_not_of("0123456789+-.eE,; \t\n") == inside.npos &&
            inside.find_first_of(",; ") != inside.npos;
        if (is_shape || !are_numbers || text.compare(at + 3, 1, "(") == 0) continue;
        text[open] = '[';
        text[close] = ']';
    }
    return text;
}

}  // namespace

/// Writes numbers in one notation, converts LaTeX matrices to lists, and removes the `#` before
/// arrays that are printed as comments. Keeps lines.
std::string in_one_spelling(std::string_view text) {
    std::string plain = replaced_all(
        std::string(text),
        {{"\u2212", "-"},    {"#> ", ""},        {"\u2502", "|"},     {"\u2503", "|"},
         {"\u2551", "|"},    {"\u2506", "|"},    {" \u00d7 ", " * "}, {"\u221e", "inf"},
         {"\u2026", "..."},  {"\\vdots", "..."}, {"\\ddots", "..."},  {"\\cdots", "..."},
         {"\\ldots", "..."}, {"\\dots", "..."},  {"\\infty", "inf"},  {"\u2192", " -> "},
         {"\u2248", "="},    {"\uff1a", ":"},    {"\uff08", "("},     {"\uff09", ")"},
         {"\r\n", "\n"}});
    // The lines of boxes, all of which begin with these two bytes.
    for (const char* const line : {"\xE2\x94", "\xE2\x95"}) {
        for (std::size_t at = 0; (at = plain.find(line, at)) != plain.npos;) {
            plain.replace(at, 3, "-");
        }
    }
    plain = with_points_and_rows(with_brackets(std::move(plain)));
    const bool is_code = plain.find("{{") != plain.npos && plain.find('\\') == plain.npos;
    if (is_code) plain = replaced_all(plain, {{"{", "["}, {"}", "]"}});  // C, Mathematica
    for (std::size_t at = 0; at < plain.size(); at = plain.find('\n', at) + 1) {
        const std::string_view line =
            trimmed(std::string_view(plain).substr(at, plain.find('\n', at) - at));
        const std::string_view rest =
            line.starts_with('#') ? trimmed(line.substr(1)) : std::string_view();
        const bool is_array =
            rest.starts_with('[') || rest.starts_with("tensor(") || rest.starts_with("array(");
        if (is_array) plain[plain.find('#', at)] = ' ';
        if (plain.find('\n', at) == plain.npos) break;
    }
    for (std::size_t at = 0; (at = plain.find("\\begin{", at)) != plain.npos;) {
        std::size_t inner = plain.find('}', at);
        if (inner == plain.npos) break;
        const bool is_tabular = plain.compare(at, 14, "\\begin{tabular") == 0;
        if (is_tabular || plain.compare(at, 12, "\\begin{array") == 0)
            inner = plain.find('}', inner + 1);
        const std::size_t end = plain.find("\\end{", at);
        const std::size_t close = plain.find('}', end);
        if (inner == plain.npos || close == plain.npos || plain.find("\\begin{", inner) < end) {
            ++at;
            continue;
        }
        std::string rows(trimmed(std::string_view(plain).substr(inner + 1, end - inner - 1)));
        while (rows.ends_with('\\')) rows.pop_back();
        if (is_tabular) {
            for (const char* const rule : {"\\toprule", "\\bottomrule"}) {
                rows = replaced_all(rows, {{rule, ""}});
            }
            rows = replaced_all(rows, {{"\\hline", "\n---"}, {"\\midrule", "\n---"}, {"$", ""}});
            rows = replaced_all(rows, {{"\\\\", "\n"}, {"&", "|"}, {"\n\n", "\n"}});
            std::string table;
            std::istringstream lines(rows);
            for (std::string line; std::getline(lines, line);) {
                if (!trimmed(line).empty()) table += "| " + std::string(trimmed(line)) + " |\n";
            }
            rows = "\n" + table;
        } else {
            rows = replaced_all(rows, {{"\\\\", "], ["},
                                       {"&", ","},
                                       {"\\hline", ""},
                                       {"$", ""},
                                       {"\\dfrac", ""},
                                       {"\\tfrac", ""},
                                       {"\\frac", ""},
                                       {"}{", "/"},
                                       {"{", ""},
                                       {"}", ""}});
            rows = "[[" + rows + "]]";
        }
        plain.replace(at, close + 1 - at, rows);
    }
    return replaced_all(plain, {{"\\left[", ""},
                                {"\\right]", ""},
                                {"\\left(", ""},
                                {"\\right)", ""},
                                {"\\[", ""},
                                {"\\]", ""},
                                {"\\begin{table}", ""},
                                {"\\end{table}", ""},
                                {"\\caption{", "\n"},
                                {"\\cdot", "*"},
                                {"\\times", "*"},
                                {"\\top", "T"}});
}

std::optional<NumberGroup> read_number_list(std::string_view text, std::size_t begin,
                                            const std::string& label) {
    return NumberGroupReader(text, begin, label).read();
}

}  // namespace attn

// Matrices in a text with other content: the output of a script, notes, a page of a course.

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/document_names.hpp"
#include "attn/files/io/number_lists.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Normalizes the spelling of numbers, converts LaTeX matrices to lists, and removes the `#` before
/// arrays that are printed as comments. Keeps the lines.
std::string in_one_spelling(std::string_view text) {
    std::string plain = replaced_all(std::string(text), {{"\u2212", "-"},
                                                         {"\u221e", "inf"},
                                                         {"\\infty", "inf"},
                                                         {"\u2192", " -> "},
                                                         {"\u2248", "="},
                                                         {"\r\n", "\n"}});
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
        const bool has_columns = plain.compare(at, 12, "\\begin{array") == 0;
        if (has_columns) inner = plain.find('}', inner + 1);
        const std::size_t end = plain.find("\\end{", at);
        const std::size_t close = plain.find('}', end);
        if (inner == plain.npos || close == plain.npos || plain.find("\\begin{", inner) < end) {
            ++at;
            continue;
        }
        std::string rows(trimmed(std::string_view(plain).substr(inner + 1, end - inner - 1)));
        while (rows.ends_with('\\')) rows.pop_back();
        rows = replaced_all(rows, {{"\\\\", "], ["}, {"&", ","}, {"\\hline", ""}, {"$", ""}});
        plain.replace(at, close + 1 - at, "[[" + rows + "]]");
    }
    return replaced_all(plain, {{"\\left[", ""},
                                {"\\right]", ""},
                                {"\\left(", ""},
                                {"\\right)", ""},
                                {"\\[", ""},
                                {"\\]", ""},
                                {"\\cdot", "*"},
                                {"\\times", "*"},
                                {"\\top", "T"}});
}

/// A list of numbers in a text.
struct NumberGroup {
    std::size_t begin = 0, end = 0;
    Tensor numbers;
    std::vector<std::string> words{};  ///< of a list without numbers
    bool has_remarks = false;          ///< after rows
};

/// Reads the list that begins at a bracket; nullopt if it is not a list of numbers or of words.
class NumberGroupReader {
public:
    NumberGroupReader(std::string_view text, std::size_t begin, const std::string& label)
        : text_(text), begin_(begin), at_(begin), lists_(label), label_(label) {}

    std::optional<NumberGroup> read() {
        std::size_t depth = 0;
        bool is_after_row = false;  // text after a row is a comment on it
        do {
            at_ = std::min(text_.find_first_not_of(" \t\n,", at_), text_.size());
            if (at_ == text_.size()) return std::nullopt;
            const char letter = text_[at_];
            if (letter == '[') {
                if (!has_room()) return std::nullopt;
                lists_.open();
                ++depth;
                is_after_row = false;
            } else if (letter == ']') {
                lists_.close();
                --depth;
                is_after_row = true;
            } else if (letter == ';' && depth == 1) {
                return of_octave();
            } else if (letter == '#' || (is_after_row && !is_number_here() && token() != "...")) {
                has_remarks_ = has_remarks_ || letter != '#';
                at_ = std::min(text_.find('\n', at_), text_.size());
                continue;
            } else if (!take_value()) {
                // A letter in nested brackets with numbers is a mistake in a matrix, not text.
                if (text_.compare(begin_, 2, "[[") != 0 || lists_.size() == 0) return std::nullopt;
                throw InputError(label_ + ": " + place_in(text_, at_) + ": " + shown(token()) +
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
            begin_, at_, lists_.tensor(lists_.natural_dtype(), shape, numbered_axes(shape.size())),
            words_, has_remarks_};
    }

private:
    bool has_room() const { return lists_.shape().size() < 8; }
    bool is_number_here() const {
        return parse_number(std::string(token())).has_value() || text_[at_] == '[';
    }
    std::string_view token() const {
        const std::size_t end = std::min(text_.find_first_of(" \t\n,[];", at_), text_.size());
        return text_.substr(at_, end - at_);
    }
    /// Reads rows that end with semicolons, `[1 2; 3 4]`.
    std::optional<NumberGroup> of_octave() {
        const std::size_t end = text_.find(']', begin_);
        if (end == text_.npos) return std::nullopt;
        const std::string rows = arrays_alone(text_.substr(begin_, end + 1 - begin_));
        std::optional<NumberGroup> group = NumberGroupReader(rows, 0, label_).read();
        if (group) group->begin = begin_, group->end = end + 1;
        return group;
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
        if (word == "...") {
            throw InputError(label_ + ": " + place_in(text_, at_) +
                             ": the array was shortened when it was printed: print it whole");
        }
        const std::size_t bar = word.find('/');
        if (bar == word.npos) {
            if (!lists_.add_word(word)) return false;
        } else {
            const auto top = parse_number(word.substr(0, bar));
            const auto bottom = parse_number(word.substr(bar + 1));
            if (!top || !bottom || *bottom == 0) return false;
            lists_.add(*top / *bottom);
        }
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

/// The matrices of a text, in order.
class Document {
public:
    Document(std::string text, const std::string& label) : text_(std::move(text)), label_(label) {
        find_groups();
    }

    std::vector<NamedTensor> read() {
        for (std::size_t i = 0; i < groups_.size();) i = take(i);
        return std::move(all_);
    }

    /// True if there are words around the matrices other than names and Python.
    bool has_words() const {
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            const std::string_view link = i == 0 ? "" : trimmed(between(i));
            const bool is_product = goes_on(i) && link.find_first_of("*@+-/x") != link.npos;
            if (groups_[i].has_remarks || is_next_row(i) || is_product) return true;
            if (!is_plain(trimmed(label_of(i))) || has_sentence(i)) return true;
        }
        return false;
    }
    bool has_matrices() const { return !groups_.empty(); }

private:
    void find_groups() {
        for (std::size_t at = 0; (at = text_.find('[', at)) != text_.npos;) {
            const bool is_nested = text_.compare(at, 2, "[[") == 0;
            const bool is_index =
                at > 0 && (is_letter_of_name(text_[at - 1]) || text_[at - 1] == ')' ||
                           (text_[at - 1] == ']' && !is_nested));
            const bool is_shape = std::string_view(text_).substr(0, at).ends_with("Size(");
            std::optional<NumberGroup> group;
            if (!is_index && !is_shape) group = NumberGroupReader(text_, at, label_).read();
            if (!group) {
                ++at;
                continue;
            }
            const std::size_t begin = groups_.empty() ? 0 : groups_.back().end;
            const std::string_view link = std::string_view(text_).substr(begin, at - begin);
            at = group->end;
            // A list without a name on the line of a matrix, after it, is a comment.
            const bool is_aside = !groups_.empty() && link.find('\n') == link.npos &&
                                  link.find_first_of("=:*@+-/") == link.npos &&
                                  !trimmed(link).empty();
            if (is_aside) continue;
            groups_.push_back(*std::move(group));
        }
    }
    /// True if a line between two groups is neither a name nor Python.
    bool has_sentence(std::size_t i) const {
        const std::string lines = arrays_alone(i == 0 ? between(i) : behind_call(between(i)));
        for (std::size_t at = 0; at <= lines.size();) {
            const std::size_t end = std::min(lines.find('\n', at), lines.size());
            const std::string_view line = trimmed(std::string_view(lines).substr(at, end - at));
            if (line != "Parameter containing:" && !is_plain(line)) return true;
            at = end + 1;
        }
        return false;
    }
    /// Returns the text after the end of a call: `, dtype=float32)`.
    static std::string_view behind_call(std::string_view text) {
        const std::string_view rest = trimmed(text);
        if (!rest.starts_with(',') && !rest.starts_with(')')) return text;
        const std::size_t line = std::min(text.find('\n', text.find_first_of(",)")), text.size());
        const std::size_t close = text.substr(0, line).rfind(')');
        return close == text.npos ? text : text.substr(close + 1);
    }
    /// True for `q = tensor(`, `q:`, `d_k = 64` and an empty line.
    static bool is_plain(std::string_view line) {
        line = trimmed(line.substr(0, line.find('#')));
        if (line.starts_with(">>> ")) line.remove_prefix(4);
        std::size_t end = 0;
        while (end < line.size() && (is_letter_of_name(line[end]) || line[end] == '.')) ++end;
        std::string_view rest = trimmed(line.substr(end));
        if (rest.starts_with('=') || rest.starts_with(':')) rest = trimmed(rest.substr(1));
        while (!rest.empty() &&
               (is_letter_of_name(rest[0]) || rest[0] == '.' || rest[0] == '(' || rest[0] == '-')) {
            rest.remove_prefix(1);
        }
        return rest.empty() && line.find(' ') == line.find(" =") && line.find("  ") == line.npos;
    }

    std::string_view between(std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : groups_[i - 1].end;
        return std::string_view(text_).substr(begin, groups_[i].begin - begin);
    }
    /// Returns the text before a group on the same line.
    std::string own_line(std::size_t i) const {
        std::string_view before = between(i);
        if (const std::size_t end = before.rfind('\n'); end != before.npos) {
            before = before.substr(end + 1);
        } else if (i > 0 && (before.starts_with(',') || before.starts_with(')'))) {
            before = before.substr(before.rfind(')') == before.npos ? 0 : before.rfind(')') + 1);
        }
        return std::string(before);
    }
    /// Returns the text that names a group: on the same line, else the last non-empty line above.
    std::string label_of(std::size_t i) const {
        if (const std::string own = own_line(i); !without_marks(own).empty()) return own;
        std::string_view before = between(i);
        before = before.substr(0, std::min(before.rfind('\n'), before.size()));
        for (int lines = 0; lines < 3 && !before.empty(); ++lines) {
            const std::size_t end = before.rfind('\n');
            const std::string_view line = end == before.npos ? before : before.substr(end + 1);
            if (i > 0 && end == before.npos) return {};  // after the matrix above
            const bool says_type = trimmed(line) == "Parameter containing:";
            if (!says_type && !without_marks(line).empty()) return std::string(line);
            before = before.substr(0, end == before.npos ? 0 : end);
        }
        return {};
    }
    /// True if a group continues the formula of the previous one: `A @ B`, `A @ B = C`.
    bool goes_on(std::size_t i) const {
        if (i == 0 || i >= groups_.size()) return false;
        const std::string_view link = trimmed(between(i));
        if (link.empty()) return between(i).find('\n') == std::string_view::npos;
        constexpr std::string_view operators = "*@=+-/x";
        if (link.find_first_not_of(" \n\t$&*@=+-/x") == link.npos) {
            return link.find_first_of(operators) != link.npos;
        }
        // `/ sqrt(2) =`, on one line
        return link.find('\n') == link.npos && operators.find(link[0]) != operators.npos &&
               link.ends_with('=');
    }
    /// True if a list is a row below the previous one.
    bool is_next_row(std::size_t i) const {
        if (i == 0 || i >= groups_.size()) return false;
        const NumberGroup &a = groups_[i - 1], &b = groups_[i];
        const std::string_view link = between(i);
        return a.numbers.dimension() == 1 && b.numbers.shape() == a.numbers.shape() &&
               a.words.empty() && b.words.empty() && std::ranges::count(link, '\n') == 1 &&
               row_label(own_line(i)).has_value() && row_label(own_line(i - 1)).has_value();
    }

    /// Reads one matrix, which may consist of several groups, and returns the start of the next.
    std::size_t take(std::size_t first) {
        const NumberGroup& group = groups_[first];
        if (!group.words.empty()) {
            words_ = group.words;
            return first + 1;
        }
        std::size_t end = first + 1;
        if (is_next_row(end)) {
            NumberLists rows(label_);
            std::vector<std::string> row_names;
            rows.open();
            for (std::size_t i = first; i == first || is_next_row(i); ++i) {
                rows.open();
                for (const double number : groups_[i].numbers.numbers()) rows.add(number);
                rows.close();
                if (const auto row = row_label(own_line(i)); row && !row->empty()) {
                    row_names.push_back(*row);
                }
                end = i + 1;
            }
            rows.close();
            const std::string label = row_names.empty() ? label_of(first) : line_above(first);
            add(names_of_label(label), rows.tensor(DType::float64, rows.shape(), numbered_axes(2)),
                row_names);
            return end;
        }
        while (goes_on(end)) ++end;
        add(names_of_label(label_of(first)), groups_[end - 1].numbers, {});
        return end;
    }
    std::string line_above(std::size_t i) const {
        std::string_view before = between(i);
        before = before.substr(0, std::min(before.rfind('\n'), before.size()));
        return std::string(
            before.substr(before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1));
    }

    void add(std::vector<std::string> names, const Tensor& numbers,
             std::vector<std::string> row_names) {
        if (names.empty() && numbers.size() < 4) return;  // a citation, as in [3]
        if (names.empty()) names.push_back("matrix_" + std::to_string(all_.size() + 1));
        const bool has_rows = numbers.dimension() > 1 && numbers.shape()[0] == words_.size();
        if (row_names.empty() && has_rows) row_names = words_;
        for (const std::string& name : names) all_.push_back({name, numbers, row_names, {}});
    }

    std::string text_;
    const std::string& label_;
    std::vector<NumberGroup> groups_;
    std::vector<NamedTensor> all_;
    std::vector<std::string> words_;
};

}  // namespace

std::optional<std::vector<NamedTensor>> read_document(std::string_view text,
                                                      const std::string& label) {
    constexpr std::size_t longest = std::size_t{1} << 20U;  // longer texts are data
    const bool is_latex = text.find("\\begin{") != text.npos;
    const bool has_tables = text.starts_with('|') || text.find("\n|") != text.npos;
    if (text.size() > longest || (is_latex && has_tables)) return std::nullopt;
    Document document(in_one_spelling(text), label);
    const bool is_document = is_latex || document.has_words() ||
                             (document.has_matrices() && !looks_like_printed_array(text));
    if (!is_document) return std::nullopt;
    std::vector<NamedTensor> all = document.read();
    if (all.empty()) {
        throw InputError(label + ": has no matrix of numbers: write it as [[1, 2], [3, 4]]");
    }
    if (all.size() == 1 && all[0].name == "matrix_1") all[0].name.clear();
    return all;
}

}  // namespace attn

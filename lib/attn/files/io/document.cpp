// Matrices in a text with other content: the output of a script, notes, a page of a course.

#include <algorithm>
#include <optional>
#include <utility>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/document_names.hpp"
#include "attn/files/io/number_groups.hpp"
#include "attn/files/io/number_lists.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// The matrices of a text, in its order.
class Document {
public:
    Document(std::string text, const std::string& label) : text_(std::move(text)), label_(label) {
        find_groups();
    }

    /// Errors  InputError for a matrix that was shortened, unless there is a list for its name.
    std::vector<NamedTensor> read(std::vector<std::string>* shortened = nullptr) {
        shortened_ = shortened;
        for (std::size_t i = 0; i < groups_.size();) i = take(i);
        return std::move(all_);
    }

    /// True if there are words around the matrices other than names and Python.
    bool has_words() const {
        if (has_titles()) return true;
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            const std::string_view link = i == 0 ? "" : trimmed(between(i));
            const bool is_product = goes_on(i) && link.find_first_of("*@+-/x") != link.npos;
            if (groups_[i].has_remarks || is_next_row(i) || is_product) return true;
            if (groups_[i].is_table ? is_named_table(i)
                                    : !is_plain(trimmed(label_of(i))) || has_sentence(i))
                return true;
        }
        return !groups_.empty() && !groups_.back().is_table &&
               has_sentence_in(after_call(std::string_view(text_).substr(groups_.back().end)));
    }
    bool has_lists() const { return !std::ranges::all_of(groups_, &NumberGroup::is_table); }

private:
    /// True for a table that is more than the file of a spreadsheet.
    bool is_named_table(std::size_t i) const {
        const std::string label = label_of(i);
        return groups_[i].is_printed || names_type(trimmed(line_above(i))) ||
               (!label.empty() &&
                (label.ends_with(')') || label.find_first_of("#,;|\t") == label.npos));
    }
    void find_groups() {
        for (std::size_t at = 0; at < text_.size();) {
            const std::size_t line = std::min(text_.find('\n', at), text_.size() - 1) + 1;
            std::optional<NumberGroup> group;
            if (at == 0 || text_[at - 1] == '\n') group = read_number_table(text_, at, label_);
            const std::string_view rest = std::string_view(text_).substr(at, line - at);
            const std::size_t bracket = at + std::min(rest.find('['), rest.size());
            if (!group && bracket < line && may_be_list(bracket)) {
                group = read_number_list(text_, bracket, label_);
            }
            if (!group) {
                at = std::min(bracket + 1, line);
                continue;
            }
            at = group->end;
            if (group->is_table || !is_side_note(*group)) groups_.push_back(*std::move(group));
        }
    }
    /// False for the bracket of an index or of a shape.
    bool may_be_list(std::size_t at) const {
        const bool is_nested = text_.compare(at, 2, "[[") == 0;
        const bool is_index = at > 0 && (is_letter_of_name(text_[at - 1]) || text_[at - 1] == ')' ||
                                         (text_[at - 1] == ']' && !is_nested));
        const std::string_view before = std::string_view(text_).substr(0, at);
        return !is_index && !before.ends_with("Size(") && !before.ends_with("In ") &&
               !before.ends_with("shape=");
    }
    /// True for the shape in `Q = X  [3, 4]`.
    bool is_shape_of_name(const NumberGroup& group) const {
        const std::size_t begin = text_.substr(0, group.begin).rfind('\n') + 1;
        const std::string_view before = std::string_view(text_).substr(begin, group.begin - begin);
        const std::size_t set = before.rfind('=');
        const std::string_view name = set == before.npos ? "" : trimmed(before.substr(set + 1));
        return group.numbers.dimension() == 1 && group.numbers.dtype() == DType::int64 &&
               !name.empty() && std::ranges::all_of(name, is_letter_of_name);
    }
    /// True for a list without a name after a matrix on the same line: a comment on it.
    bool is_side_note(const NumberGroup& group) const {
        if (is_shape_of_name(group)) return true;
        if (groups_.empty()) return false;
        const std::size_t begin = groups_.back().end;
        const std::string_view link = std::string_view(text_).substr(begin, group.begin - begin);
        return link.find('\n') == link.npos && link.find_first_of("=:*@+-/") == link.npos &&
               !trimmed(link).empty() &&
               group.numbers.dimension() < groups_.back().numbers.dimension();
    }
    /// True if a line between two groups is neither a name nor Python.
    bool has_sentence(std::size_t i) const {
        return has_sentence_in(i == 0 ? between(i) : after_call(between(i)));
    }
    static bool has_sentence_in(std::string_view text) {
        const std::string lines = arrays_alone(text);
        for (std::size_t at = 0; at <= lines.size();) {
            const std::size_t end = std::min(lines.find('\n', at), lines.size());
            const std::string_view line = trimmed(std::string_view(lines).substr(at, end - at));
            if (!names_type(line) && !is_plain(line)) return true;
            at = end + 1;
        }
        return false;
    }
    /// Returns the text after the end of a call: `, dtype=float32)`.
    static std::string_view after_call(std::string_view text) {
        const std::string_view rest = trimmed(text);
        if (!rest.starts_with(',') && !rest.starts_with(')')) return text;
        const std::size_t line = std::min(text.find('\n', text.find_first_of(",)")), text.size());
        const std::size_t close = text.substr(0, line).rfind(')');
        return close == text.npos ? text : text.substr(close + 1);
    }
    /// True for `q = tensor(`, `q:`, `d_k = 64` and an empty line.
    static bool is_plain(std::string_view line) {
        if (is_line_of_marks(line)) return false;
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
        for (int lines = 0; lines < 4 && !before.empty(); ++lines) {
            const std::size_t end = before.rfind('\n');
            const std::string_view line = end == before.npos ? before : before.substr(end + 1);
            if (i > 0 && end == before.npos) break;  // after the matrix above
            const bool has_name = !names_type(line) && !is_line_of_marks(line);
            if (has_name && !without_marks(line).empty()) return std::string(line);
            before = before.substr(0, end == before.npos ? 0 : end);
        }
        return has_titles() ? groups_[i].title : "";
    }
    /// True if several tables have names in their corners.
    bool has_titles() const {
        return std::ranges::count_if(groups_, [](const NumberGroup& each) {
                   return !each.title.empty() && each.title != "token";
               }) > 1;
    }
    /// True for the line under a heading, `-----`.
    static bool is_line_of_marks(std::string_view line) {
        line = trimmed(line);
        return line.size() > 1 && line.find_first_not_of("-=~*_") == line.npos;
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
        if (is_softmax(i)) return false;
        // `/ sqrt(2) =`, on one line
        return link.find('\n') == link.npos && operators.find(link[0]) != operators.npos &&
               link.ends_with('=');
    }
    /// True if a list is the softmax of the one before it.
    bool is_softmax(std::size_t i) const {
        if (i == 0 || i >= groups_.size()) return false;
        const std::string_view link = trimmed(between(i));
        return own_line(i - 1).ends_with("softmax(") && link.starts_with(')') &&
               trimmed(link.substr(1)) == "=";
    }
    /// True if a list is a row below the previous one: it has no name, or follows a number, words
    /// in quotes or, below a title, any word.
    bool is_next_row(std::size_t i, bool has_title = false) const {
        if (i == 0 || i >= groups_.size()) return false;
        const NumberGroup &a = groups_[i - 1], &b = groups_[i];
        const auto lines = std::ranges::count(between(i), '\n');
        const auto row = row_label(own_line(i), has_title);
        const auto row_before = row_label(own_line(i - 1), has_title);
        const Shape shape = a.numbers.shape();
        const bool is_vector = shape.size() == 1 || (shape.size() == 2 && shape[0] == 1);
        return is_vector && b.numbers.shape() == shape && !goes_on(i + 1) && a.words.empty() &&
               b.words.empty() && row && row_before &&
               (lines == 1 || (lines == 0 && !row->stem.empty())) && row->stem == row_before->stem;
    }

    /// Reads one matrix, which may consist of several groups, and returns the start of the next.
    std::size_t take(std::size_t first) {
        const NumberGroup& group = groups_[first];
        if (!group.words.empty()) {
            words_ = group.words;
            return first + 1;
        }
        if (group.is_table) {
            if (!group.fault.empty()) fail(group);
            add(names_of_label(label_of(first)), group.numbers, group.row_names);
            if (!all_.empty()) all_.back().column_names = group.column_names;
            return first + 1;
        }
        std::size_t end = first + 1;
        const std::string above = line_above(first);
        const bool has_title = trimmed(above).ends_with(':') || above.find('\t') != above.npos;
        if (is_next_row(end, has_title)) {
            NumberLists rows(label_);
            std::vector<std::string> row_names;
            std::string stem;
            rows.open();
            for (std::size_t i = first; i == first || is_next_row(i, has_title); ++i) {
                rows.open();
                for (const double number : groups_[i].numbers.numbers()) rows.add(number);
                rows.close();
                const auto row = row_label(own_line(i), has_title);
                stem = row->stem;
                if (!row->name.empty()) row_names.push_back(row->name);
                end = i + 1;
            }
            rows.close();
            const std::string label = row_names.empty() ? label_of(first) : above;
            add(stem.empty() ? names_of_label(label) : std::vector{stem},
                rows.tensor(DType::float64, rows.shape(), numbered_axes(2)), row_names);
            return end;
        }
        if (is_softmax(end)) {  // softmax([2, 1]) = [0.73, 0.27]
            add({"scaled_scores"}, group.numbers, {});
            add({"softmax"}, groups_[end].numbers, {});
            return end + 1;
        }
        while (goes_on(end)) ++end;
        const NumberGroup& result = groups_[end - 1];
        const std::vector<std::string> names = names_of_label(label_of(first));
        if (result.fault.empty()) {
            add(names, result.numbers, {});
        } else if (shortened_ != nullptr) {
            shortened_->push_back(names.empty() ? "a matrix" : names.front());
        } else {
            fail(result);
        }
        return end;
    }
    [[noreturn]] void fail(const NumberGroup& group) const {
        const std::size_t end = std::min(group.end + 1, text_.size());
        throw InputError(label_ + ": " + place_in(text_, group.is_table ? end : group.begin) +
                         ": " + group.fault);
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
        for (const std::string& name : names) {
            all_.push_back({name, numbers, row_names, {}});
            name_rows(all_.back(), words_);
        }
    }

    std::string text_;
    const std::string& label_;
    std::vector<NumberGroup> groups_;
    std::vector<NamedTensor> all_;
    std::vector<std::string> words_;
    std::vector<std::string>* shortened_ = nullptr;
};

Document document_in(std::string_view text, const std::string& label) {
    const bool has_empty_fields = text.find("\t\t") != text.npos || text.find(",,") != text.npos ||
                                  text.find(";;") != text.npos;
    return {in_one_spelling(has_empty_fields ? split_tables(text) : std::string(text)), label};
}

}  // namespace

std::optional<std::vector<NamedTensor>> read_document(std::string_view text,
                                                      const std::string& label) {
    constexpr std::size_t longest = std::size_t{1} << 20U;  // longer texts are data
    const bool is_latex = text.find("\\begin{") != text.npos;
    if (text.size() > longest) return std::nullopt;
    Document document = document_in(text, label);
    const bool is_document = is_latex || document.has_words() ||
                             (document.has_lists() && !looks_like_printed_array(text));
    if (!is_document) return std::nullopt;
    std::vector<NamedTensor> all = document.read();
    if (all.empty()) {
        throw InputError(label + ": has no matrix of numbers: write it as [[1, 2], [3, 4]]");
    }
    if (all.size() == 1 && all[0].name == "matrix_1") all[0].name.clear();
    return all;
}

std::vector<NamedTensor> document_matrices(std::string_view text, const std::string& label,
                                           std::vector<std::string>& shortened) {
    return text.empty() ? std::vector<NamedTensor>() : document_in(text, label).read(&shortened);
}

}  // namespace attn

#include "attn/files/io/array_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

// Returns the columns for the axes, keeping each tensor's own order. Columns that no tensor orders
// have the usual order.
Axes table_axes(const std::vector<TensorRef>& tensors) {
    Axes left;
    std::set<std::pair<std::string, std::string>> before;  // (a, b): a is directly before b
    for (const TensorRef& each : tensors) {
        const Axes& axes = each.tensor.axes();
        for (std::size_t i = 0; i < axes.size(); ++i) {
            if (std::find(left.begin(), left.end(), axes[i]) == left.end()) left.push_back(axes[i]);
            if (i > 0) before.emplace(axes[i - 1], axes[i]);
        }
    }
    const std::array<std::string_view, 7> usual{"batch", "head", "vocab",  "token",
                                                "query", "key",  "feature"};
    const auto rank = [&](const std::string& axis) {
        return std::find(usual.begin(), usual.end(), axis) - usual.begin();
    };
    std::stable_sort(left.begin(), left.end(),
                     [&](const auto& one, const auto& other) { return rank(one) < rank(other); });
    Axes columns;
    while (!left.empty()) {
        const auto is_first = [&](const std::string& axis) {
            return std::none_of(left.begin(), left.end(), [&](const std::string& other) {
                return before.contains({other, axis});
            });
        };
        const auto next = std::find_if(left.begin(), left.end(), is_first);
        if (next == left.end()) {
            throw OutputError("csv: the axes " + left[0] + " and " + left[1] +
                              " are in either order: write the steps as .npz");
        }
        columns.push_back(*next);
        left.erase(next);
    }
    return columns;
}

}  // namespace

std::string csv_field(const std::string& word) {
    const std::string text = (is_formula(word) ? "'" : "") + word;
    if (text.find_first_of(",;\t\n\r \"#") == text.npos) return text;
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"') result += '"';
        result += letter;
    }
    return result + '"';
}

namespace {

template <class T>
void append_number(std::string& text, T number) {
    std::array<char, 32> digits{};
    char* end = nullptr;
    if constexpr (std::is_floating_point_v<T>) {
        // The sign of a nan is meaningless: do not write it.
        if (number != number) number = std::numeric_limits<T>::quiet_NaN();
    }
    if constexpr (std::is_same_v<T, bool>) {
        end = std::to_chars(digits.begin(), digits.end(), static_cast<int>(number)).ptr;
    } else {
        end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    }
    text.append(digits.begin(), end);
}

// The words of one tensor in one column, and the axes of its indices.
struct WordColumn {
    const AxisWords* words = nullptr;  // null if this tensor has none
    std::size_t axis = 0;
    std::optional<std::size_t> by{};

    const std::string& at(const Shape& index) const {
        static const std::string nothing;
        if (words == nullptr) return nothing;
        const auto& sequences = words->words;
        const auto& row = sequences[std::min(by ? index[*by] : 0, sequences.size() - 1)];
        return index[axis] < row.size() ? row[index[axis]] : nothing;
    }
};

std::vector<WordColumn> word_columns(const TensorRef& tensor, const Axes& axes) {
    std::vector<WordColumn> columns;
    for (const std::string& axis : axes) {
        WordColumn& column = columns.emplace_back();
        for (const AxisWords& words : tensor.words) {
            if (words.axis != axis || words.words.empty()) continue;
            column.words = &words;
            column.axis = tensor.tensor.axis(axis);
            if (tensor.tensor.has_axis(words.by)) column.by = tensor.tensor.axis(words.by);
        }
    }
    return columns;
}

template <class T>
void write_elements(const Sink& sink, const TensorRef& tensor, const Array<T>& array,
                    const std::vector<std::optional<std::size_t>>& axis_of_column,
                    const std::vector<WordColumn>& words) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    const Shape shape = shape_of(array);
    const std::string name = csv_field(tensor.name);
    Shape index(shape.size(), 0);
    std::string lines;
    for (std::size_t flat = 0; flat < array.size(); ++flat) {
        lines += name;
        for (const std::optional<std::size_t>& axis : axis_of_column) {
            lines += ',';
            if (axis) append_number(lines, index[*axis]);
        }
        lines += ',';
        append_number(lines, array.data()[flat]);
        for (const WordColumn& column : words) lines += ',' + csv_field(column.at(index));
        lines += '\n';
        if (lines.size() >= piece) {
            sink(lines);
            lines.clear();
        }
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
    sink(lines);
}

}  // namespace

void write_long_table(const Sink& sink, const std::vector<TensorRef>& tensors) {
    check_names("csv", tensors);
    for (const TensorRef& each : tensors) {
        const Axes& axes = each.tensor.axes();
        if (std::set<std::string>(axes.begin(), axes.end()).size() != axes.size()) {
            throw OutputError("csv: " + each.name + " has two axes of one name (" +
                              each.tensor.described() + "): write it as .npz");
        }
    }
    const Axes columns = table_axes(tensors);
    std::string head = "step";
    for (const std::string& column : columns) head += ',' + csv_field(column);
    head += ",value";
    Axes with_words;
    for (const std::string& column : columns) {
        const AxisWords* words = nullptr;
        for (const TensorRef& each : tensors) {
            if (words == nullptr) words = word_columns(each, {column}).front().words;
        }
        if (words == nullptr) continue;
        with_words.push_back(column);
        head += ',' + csv_field(column + '_' + words->kind);
    }
    sink(head + "\n");
    for (const TensorRef& each : tensors) {
        std::vector<std::optional<std::size_t>> axis_of_column;
        for (const std::string& column : columns) {
            const bool has = each.tensor.has_axis(column);
            axis_of_column.push_back(has ? std::optional(each.tensor.axis(column)) : std::nullopt);
        }
        std::visit(
            [&](const auto& array) {
                write_elements(sink, each, array, axis_of_column, word_columns(each, with_words));
            },
            each.tensor.values());
    }
}

}  // namespace attn

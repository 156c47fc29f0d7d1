#include "attn/files/io/array_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "attn/files/io/number_lists.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

// The elements of one step as far as they have been read.
struct Elements {
    std::string name;
    std::vector<std::size_t> columns;  // those that hold an index
    std::vector<std::size_t> indices;  // columns.size() for each element
    std::vector<double> values;
    std::vector<std::int64_t> integers;  // the same, as long as all are integers
    bool needs_integers = false;         // as float64 does not hold one of them
};

[[noreturn]] void refuse_table(const std::string& label, const std::string& what,
                               const std::string& advice) {
    throw InputError(label + ": " + what + ": " + advice);
}

// The columns of a line that are filled in between the step and the value.
std::vector<std::size_t> filled_columns(const std::vector<std::string>& fields, std::size_t value) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 1; i < value; ++i) {
        if (!fields[i].empty()) columns.push_back(i);
    }
    return columns;
}

void add_value(Elements& step, double value, std::string_view text) {
    const auto integer = parse_whole<std::int64_t>(text);
    if (integer && step.integers.size() == step.values.size()) {
        step.integers.push_back(*integer);
        constexpr std::int64_t exact = std::int64_t{1} << 53U;
        step.needs_integers = step.needs_integers || *integer > exact || *integer < -exact;
    }
    step.values.push_back(value);
}

template <class T>
Tensor assembled(const Elements& elements, const std::vector<T>& values,
                 const std::vector<std::string>& columns, const std::string& label) {
    const std::size_t dimension = elements.columns.size();
    const std::size_t count = values.size();
    const char* const advice = "give every element once";

    // The largest index along each axis tells the shape.
    Shape shape(dimension, 0);
    for (std::size_t i = 0; i < elements.indices.size(); ++i) {
        std::size_t& extent = shape[i % dimension];
        extent = std::max(extent, elements.indices[i] + 1);
    }
    if (byte_count(shape, 1) != count) {
        refuse_table(label,
                     std::to_string(count) + " elements do not fill the shape " + shape_text(shape),
                     advice);
    }

    // Put each value in its place. As many as there are places, they fill all unless one repeats.
    Array<T> array = empty_array<T>(shape);
    std::vector<bool> filled(count, false);
    for (std::size_t element = 0; element < count; ++element) {
        std::size_t flat = 0;
        for (std::size_t axis = 0; axis < dimension; ++axis) {
            flat = flat * shape[axis] + elements.indices[element * dimension + axis];
        }
        if (filled[flat]) refuse_table(label, "an element occurs twice", advice);
        filled[flat] = true;
        array.data()[flat] = values[element];
    }
    Axes axes;
    for (const std::size_t column : elements.columns) axes.push_back(columns[column]);
    return {std::move(axes), std::move(array)};
}

// The columns for the axes: each tensor's in its own order, so that the order of the columns is
// that of the axes when the table is read. Where that leaves a choice, the usual order decides.
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
                              " stand in either order: write the steps as .npz");
        }
        columns.push_back(*next);
        left.erase(next);
    }
    return columns;
}

std::string quoted_field(const std::string& word) {
    const std::string text = (is_formula(word) ? "'" : "") + word;
    if (text.find_first_of(",;\t\n\r \"#") == text.npos) return text;
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"') result += '"';
        result += letter;
    }
    return result + '"';
}

template <class T>
void append_number(std::string& text, T number) {
    std::array<char, 32> digits{};
    char* end = nullptr;
    if constexpr (std::is_floating_point_v<T>) {
        // The sign of a not-a-number means nothing and would only be spelt.
        if (number != number) number = std::numeric_limits<T>::quiet_NaN();
    }
    if constexpr (std::is_same_v<T, bool>) {
        end = std::to_chars(digits.begin(), digits.end(), static_cast<int>(number)).ptr;
    } else {
        end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    }
    text.append(digits.begin(), end);
}

// The words of one tensor in one column, and the axes that its indices are on.
struct WordColumn {
    const AxisWords* words = nullptr;  // none in this tensor
    std::size_t axis = 0;
    std::optional<std::size_t> batch{};

    const std::string& at(const Shape& index) const {
        static const std::string nothing;
        if (words == nullptr) return nothing;
        const auto& sequences = words->words;
        const auto& row = sequences[std::min(batch ? index[*batch] : 0, sequences.size() - 1)];
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
            if (tensor.tensor.has_axis("batch")) column.batch = tensor.tensor.axis("batch");
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
    const std::string name = quoted_field(tensor.name);
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
        for (const WordColumn& column : words) lines += ',' + quoted_field(column.at(index));
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

bool is_long_table(const std::vector<std::string>& columns) {
    return columns.size() >= 2 && columns.front() == "step" &&
           std::find(columns.begin() + 1, columns.end(), "value") != columns.end();
}

std::vector<NamedTensor> parse_long_table(CsvLines& lines, const std::vector<std::string>& columns,
                                          const std::string& label) {
    const std::set<std::string> distinct(columns.begin(), columns.end());
    if (distinct.size() != columns.size()) {
        refuse_table(label, "line " + std::to_string(lines.line()) + " names a column twice",
                     "name each column once");
    }
    const auto value_column = static_cast<std::size_t>(
        std::find(columns.begin(), columns.end(), "value") - columns.begin());
    std::vector<Elements> steps;
    std::map<std::string, std::size_t> positions;
    while (const std::vector<std::string>* fields = lines.next()) {
        const std::string place = label + ": line " + std::to_string(lines.line());
        if (fields->size() != columns.size()) {
            refuse_table(place,
                         "there are " + std::to_string(fields->size()) + " columns, not " +
                             std::to_string(columns.size()),
                         "all rows need the same length");
        }
        // Find the step that the line belongs to, or begin a new one.
        const std::vector<std::size_t> filled = filled_columns(*fields, value_column);
        const auto [position, is_new] = positions.try_emplace(fields->front(), steps.size());
        if (is_new) steps.push_back({fields->front(), filled, {}, {}, {}, false});
        Elements& step = steps[position->second];
        if (filled != step.columns) {
            refuse_table(place, "step " + shown(step.name) + " has other axes than before",
                         "fill in the same columns for all its elements");
        }
        // Take the indices and the value.
        for (const std::size_t column : filled) {
            const auto index = parse_whole<std::size_t>((*fields)[column]);
            if (!index || *index + 1 == 0) {
                refuse_table(
                    place,
                    shown((*fields)[column]) + " is no index along " + shown(columns[column]),
                    "count from 0");
            }
            step.indices.push_back(*index);
        }
        const std::string& number = (*fields)[value_column];
        const std::optional<double> value = parse_number(number);
        if (!value) {
            refuse_table(place, shown(number) + " is not a number", "write it as 1.5 or 1e-3");
        }
        add_value(step, *value, number);
    }

    std::vector<NamedTensor> tensors;
    for (const Elements& step : steps) {
        const std::string step_label = label + ": step " + shown(step.name);
        Tensor tensor = step.needs_integers && step.integers.size() == step.values.size()
                            ? assembled(step, step.integers, columns, step_label)
                            : assembled(step, step.values, columns, step_label);
        tensors.push_back({step.name, std::move(tensor)});
    }
    return tensors;
}

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
    for (const std::string& column : columns) head += ',' + quoted_field(column);
    head += ",value";
    Axes with_words;
    for (const std::string& column : columns) {
        const bool has = std::any_of(tensors.begin(), tensors.end(), [&](const TensorRef& each) {
            return word_columns(each, {column}).front().words != nullptr;
        });
        if (!has) continue;
        with_words.push_back(column);
        head += ',' + quoted_field(column + "_token");
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

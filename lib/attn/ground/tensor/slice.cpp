#include "attn/ground/tensor/slice.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t start = 0;;) {
        const std::size_t end = text.find(separator, start);
        parts.push_back(trimmed(text.substr(start, end - start)));
        if (end == std::string_view::npos) return parts;
        start = end + 1;
    }
}

std::optional<std::ptrdiff_t> number(std::string_view text, std::string_view whole) {
    if (text.empty()) return std::nullopt;
    std::ptrdiff_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw ConfigError("'" + std::string(whole) +
                          "' is not an index: write numbers, start:stop:step or ..., as in "
                          "0,:,1:3, or for an axis of tokens a word of the input");
    }
    return value;
}

AxisPart single(std::ptrdiff_t index, std::ptrdiff_t length, const std::string& axis) {
    if (index < -length || index >= length) {
        throw ShapeError("index " + std::to_string(index) + " is beyond the " + axis +
                         " axis, which has " + std::to_string(length) + ": use 0 to " +
                         std::to_string(length - 1));
    }
    return {index < 0 ? index + length : index, 1, 1, true};
}

AxisPart range(const std::vector<std::string_view>& parts, std::ptrdiff_t length,
               std::string_view whole) {
    const std::ptrdiff_t step = parts.size() > 2 ? number(parts[2], whole).value_or(1) : 1;
    if (step == 0 || parts.size() > 3) {
        throw ConfigError("'" + std::string(whole) + "' is not a slice: the step must not be 0");
    }
    // Clamp as Python does: a slice may be out of range, an index may not.
    const auto clamp = [&](std::optional<std::ptrdiff_t> given, std::ptrdiff_t otherwise) {
        if (!given) return otherwise;
        const std::ptrdiff_t low = step > 0 ? 0 : -1;
        const std::ptrdiff_t high = step > 0 ? length : length - 1;
        const std::ptrdiff_t index = *given < 0 ? *given + length : *given;
        return index < low ? low : index > high ? high : index;
    };
    const std::ptrdiff_t first = clamp(number(parts[0], whole), step > 0 ? 0 : length - 1);
    const std::ptrdiff_t stop = clamp(number(parts[1], whole), step > 0 ? length : -1);
    const std::ptrdiff_t span = step > 0 ? stop - first + step - 1 : first - stop - step - 1;
    const std::ptrdiff_t stride = step > 0 ? step : -step;
    return {first, step, span > 0 ? static_cast<std::size_t>(span / stride) : 0, false};
}

}  // namespace

std::vector<AxisPart> slice_parts(const Tensor& tensor, std::string_view indices) {
    return slice_parts(tensor.axes(), tensor.shape(), indices);
}

std::vector<AxisPart> slice_parts(const Axes& axes, const Shape& shape, std::string_view indices) {
    std::vector<std::string_view> words = split(indices, ',');
    std::size_t named = 0;
    for (const std::string_view word : words) named += word == "..." ? 0 : 1;
    if (named > shape.size()) {
        throw ShapeError("[" + std::string(indices) + "] has " + std::to_string(named) +
                         " indices for " + described(axes, shape));
    }
    std::vector<AxisPart> ranges;
    const auto take_whole = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            ranges.push_back({0, 1, shape[ranges.size()], false});
        }
    };
    bool filled = false;
    for (const std::string_view word : words) {
        if (word == "...") {
            if (filled) throw ConfigError("[" + std::string(indices) + "] may have one ... only");
            take_whole(shape.size() - named);
            filled = true;
            continue;
        }
        const auto length = static_cast<std::ptrdiff_t>(shape[ranges.size()]);
        const std::vector<std::string_view> parts = split(word, ':');
        if (parts.size() > 1) {
            ranges.push_back(range(parts, length, word));
        } else if (const auto index = number(word, word)) {
            ranges.push_back(single(*index, length, axes[ranges.size()]));
        } else {
            throw ConfigError("[" + std::string(indices) + "] has an empty index");
        }
    }
    take_whole(shape.size() - ranges.size());
    return ranges;
}

std::vector<AxisPart> nested(const std::vector<AxisPart>& outer,
                             const std::vector<AxisPart>& inner) {
    std::vector<AxisPart> all = outer;
    auto next = inner.begin();
    for (AxisPart& axis : all) {
        if (axis.drops_axis) continue;
        axis = {axis.first + next->first * axis.step, axis.step * next->step, next->count,
                next->drops_axis};
        ++next;
    }
    return all;
}

Tensor slice(const Tensor& tensor, std::string_view indices) {
    return slice(tensor, slice_parts(tensor, indices));
}

Tensor slice(const Tensor& tensor, const std::vector<AxisPart>& parts) {
    if (parts.size() != tensor.dimension()) {
        throw ShapeError("a slice of " + shape_text(tensor.shape()) +
                         " needs a part for each axis");
    }
    const auto wrapped = [](std::ptrdiff_t number) { return static_cast<std::size_t>(number); };
    const Shape whole = row_strides(tensor.shape());
    Axes axes;
    Shape shape, strides;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        offset += wrapped(parts[i].first) * whole[i];
        if (parts[i].drops_axis) continue;
        axes.push_back(tensor.axes()[i]);
        shape.push_back(parts[i].count);
        strides.push_back(wrapped(parts[i].step) * whole[i]);
    }
    return strided(tensor, shape, strides, offset).renamed(std::move(axes));
}

namespace {

/// Errors  ShapeError if an element would be out of range.
void check_reach(std::size_t size, const Shape& shape, const Shape& strides, std::size_t offset) {
    bool fits = shape.size() == strides.size();
    auto first = static_cast<std::ptrdiff_t>(offset), last = first;
    const auto end = static_cast<std::ptrdiff_t>(size);
    for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
        if (shape[axis] == 0) return;
        const auto stride = static_cast<std::ptrdiff_t>(strides[axis]);
        const auto steps = static_cast<std::ptrdiff_t>(shape[axis] - 1);
        // Larger products would overflow, and exceed any tensor.
        fits =
            steps >= 0 &&
            (stride == 0 || steps == 0 ||
             (steps <= end && -end <= stride && stride <= end && steps * std::abs(stride) <= end));
        if (!fits) break;
        (stride < 0 ? first : last) += steps * stride;
    }
    if (fits && first >= 0 && last < end) return;
    throw ShapeError("a view of shape " + shape_text(shape) + " reaches beyond the " +
                     std::to_string(size) + " elements of its tensor");
}

}  // namespace

std::vector<AxisPart> whole_parts(const Shape& shape) {
    std::vector<AxisPart> parts;
    for (const std::size_t length : shape) parts.push_back({0, 1, length, false});
    return parts;
}

Tensor slice_of_axis(const Tensor& tensor, std::size_t axis, std::size_t first, std::size_t count) {
    std::vector<AxisPart> parts = whole_parts(tensor.shape());
    if (axis >= parts.size()) {
        throw ShapeError("there is no axis " + std::to_string(axis) + " in " +
                         shape_text(tensor.shape()));
    }
    parts[axis] = {static_cast<std::ptrdiff_t>(first), 1, count, false};
    return slice(tensor, parts);
}

Tensor strided(const Tensor& tensor, const Shape& shape, const Shape& strides, std::size_t offset) {
    check_reach(tensor.size(), shape, strides, offset);
    const auto gather = [&](const auto& from) -> Tensor {
        auto numbers = empty_array<std::decay_t<decltype(*from.data())>>(shape);
        // Copy the last axis in one run, then move to the start of the next one.
        const std::size_t run = shape.empty() ? 1 : shape.back();
        const std::size_t step = shape.empty() ? 0 : strides.back();
        Shape index(shape.size(), 0);
        std::size_t start = offset;
        const auto* const source = from.data();
        auto* const to = numbers.data();
        for (std::size_t i = 0; i < numbers.size(); i += run) {
            for (std::size_t k = 0, place = start; k < run; ++k, place += step) {
                to[i + k] = source[place];
            }
            for (std::size_t axis = shape.size(); axis-- > 1;) {
                start += strides[axis - 1];
                if (++index[axis - 1] < shape[axis - 1]) break;
                start -= shape[axis - 1] * strides[axis - 1];
                index[axis - 1] = 0;
            }
        }
        return {numbered_axes(shape.size()), std::move(numbers)};
    };
    return std::visit(gather, tensor.values()).of_type(tensor.dtype());
}

Shape row_strides(const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    return strides;
}

Tensor rows_of(const Tensor& tensor, const std::vector<std::size_t>& rows) {
    return with_floating(tensor.dtype(), [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Shape shape = tensor.shape();
        for (const std::size_t row : rows) {
            if (!shape.empty() && row < shape[0]) continue;
            throw ShapeError("there is no row " + std::to_string(row) + " in " + shape_text(shape));
        }
        const std::size_t width = element_count(shape) / std::max<std::size_t>(shape[0], 1);
        shape[0] = rows.size();
        Array<T> part = empty_array<T>(shape);
        for (std::size_t r = 0; r < rows.size(); ++r) {
            std::copy_n(tensor.as<T>().data() + rows[r] * width, width, part.data() + r * width);
        }
        return Tensor(tensor.axes(), std::move(part)).of_type(tensor.dtype());
    });
}

Axes numbered_axes(std::size_t count) {
    Axes axes;
    for (std::size_t i = 0; i < count; ++i) axes.push_back("axis" + std::to_string(i));
    return axes;
}

std::vector<std::size_t> indices_of(std::size_t flat, const Shape& shape) {
    std::vector<std::size_t> indices(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        indices[axis] = flat % shape[axis];
        flat /= shape[axis];
    }
    return indices;
}

std::string index_text(const std::vector<std::size_t>& indices) {
    std::string text;
    for (std::size_t index : indices) text += (text.empty() ? "" : ",") + std::to_string(index);
    return "[" + text + "]";
}

}  // namespace attn

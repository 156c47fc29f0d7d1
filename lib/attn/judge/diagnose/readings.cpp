#include "attn/judge/diagnose/user_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>

#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {
namespace {

std::vector<std::size_t> all_axes(const Shape& shape) {
    std::vector<std::size_t> axes(shape.size());
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    return axes;
}

/// Converts a tensor to any other type; numbers that an integer type cannot represent become 0.
Tensor of_type(const Tensor& tensor, DType dtype) {
    if (tensor.dtype() == dtype) return tensor;
    const auto with_type = [&]<class T>(T) -> Tensor {
        return tensor_like(tensor, [&](std::size_t i) {
            const double number = tensor.at(i);
            const bool fits = !std::is_same_v<T, std::int64_t> || std::abs(number) < 9e18;
            return fits ? static_cast<T>(number) : T{};
        });
    };
    if (dtype == DType::int64) return with_type(std::int64_t{});
    if (dtype == DType::boolean) return with_type(false);
    const Tensor floating = with_floating(dtype, with_type);
    return is_16_bit(dtype) ? floating.of_type(dtype) : floating;
}

/// Reads `actual` as one of our tensors whose axes are in memory in that order; axes of length 1
/// may be missing from it.
Tensor laid_out(const Tensor& actual, const Axes& axes, const Shape& shape, DType dtype,
                const std::vector<std::size_t>& order) {
    Shape stride(shape.size(), 0);
    std::size_t next = 1;
    for (const std::size_t axis : std::views::reverse(order)) {
        stride[axis] = next;
        next *= shape[axis];
    }
    return of_type(strided(actual, shape, stride), dtype).renamed(axes);
}

/// True if neighbouring axes are ever saved as one: samples with heads or tokens, heads with
/// features.
bool may_join(const Axes& group) {
    const auto positions = std::count_if(group.begin(), group.end(), is_token_axis);
    const bool feature = std::find(group.begin(), group.end(), "feature") != group.end();
    return positions + (feature ? 1 : 0) <= 1;
}

/// Describes how the axes `order` (indices into `shape`) are joined to give `lengths`; empty if
/// they cannot be.
std::string joined_axes(const std::vector<std::size_t>& order, const Axes& axes, const Shape& shape,
                        const Shape& lengths) {
    std::string words;
    std::size_t next = 0;
    for (const std::size_t length : lengths) {
        if (length == 1) {
            words += words.empty() ? "1" : ", 1";
            continue;
        }
        Axes group;
        std::size_t product = 1;
        while (product < length && next < order.size()) {
            product *= shape[order[next]];
            group.push_back(axes[order[next++]]);
        }
        if (product != length || !may_join(group)) return "";
        if (!words.empty()) words += ", ";
        for (std::size_t i = 0; i < group.size(); ++i) words += (i == 0 ? "" : " * ") + group[i];
    }
    return next == order.size() ? "(" + words + ")" : "";
}

/// Returns the place of an axis in an order of axes; the length of the order if it is not there.
std::size_t place_of_axis(const char* axis, const std::vector<std::size_t>& order,
                          const Axes& axes) {
    const auto is_it = [&](std::size_t i) { return axes[i] == axis; };
    return static_cast<std::size_t>(std::ranges::find_if(order, is_it) - order.begin());
}

/// True if features come before heads although the two axes have the same length: no one saves
/// that.
bool is_nobodys_habit(const std::vector<std::size_t>& order, const Axes& axes, const Shape& shape) {
    const std::size_t head = place_of_axis("head", order, axes);
    const std::size_t feature = place_of_axis("feature", order, axes);
    return head < order.size() && feature < head && shape[order[head]] == shape[order[feature]];
}

bool exchanges_queries_and_keys(const std::vector<std::size_t>& order, const Axes& axes) {
    const std::size_t query = place_of_axis("query", order, axes);
    return query < order.size() && place_of_axis("key", order, axes) < query;
}

/// True if their axes, with neighbours joined, are ours in order: (B, K, H / K, T, T) as (B, H, T,
/// T).
bool splits_axes(const Shape& actual, const Shape& correct) {
    std::size_t next = 0;
    for (const std::size_t length : correct) {
        std::size_t product = 1;
        while (product < length && next < actual.size()) product *= actual[next++];
        if (product != length) return false;
    }
    return std::all_of(actual.begin() + static_cast<std::ptrdiff_t>(next), actual.end(),
                       [](std::size_t length) { return length == 1; });
}

/// Expands rows with only the keys in each query's window, its own key last. The number before the
/// first key is used for keys outside the window.
std::optional<Reading> widened(const Tensor& actual, const Axes& axes, const Shape& shape,
                               const Shape& lengths) {
    const std::size_t keys = shape.back(), width = lengths.back();
    const std::size_t queries = shape[shape.size() - 2];
    if (queries > keys || keys - queries + 1 >= width) return std::nullopt;
    const double beyond = actual.at(0);
    auto cells = Array<double>::filled(shape, beyond);
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const std::size_t row = i / width;
        const std::size_t end = row % queries + keys - queries + 1, key = end + i % width;
        if (key >= width) {
            cells.data()[row * keys + key - width] = actual.at(i);
        } else if (actual.at(i) != beyond) {
            return std::nullopt;
        }
    }
    return Reading{{axes, std::move(cells)}, "the window of each query"};
}

/// Shortens a tensor that is longer than ours along one axis: unfilled slots of a cache, a column
/// for a sink, cosines for both features of a pair; or reads one row for all queries. The excess
/// must have the numbers of such a form.
std::optional<Reading> shortened(const Tensor& actual, const Axes& axes, const Shape& shape) {
    Shape lengths = actual.shape();
    while (lengths.size() > shape.size() && lengths.front() == 1) lengths.erase(lengths.begin());
    if (lengths.size() != shape.size()) return std::nullopt;
    const auto differs = std::ranges::mismatch(lengths, shape).in1 - lengths.begin();
    const auto longer = static_cast<std::size_t>(differs);
    if (longer == shape.size()) return std::nullopt;
    const std::size_t has = lengths[longer], needs = shape[longer];
    Shape others = lengths;
    others[longer] = needs;
    const std::string& axis = axes[longer];
    const bool is_band = axis == "key" && longer > 0 && axes[longer - 1] == "query";
    if (others == shape && has < needs && is_band) return widened(actual, axes, shape, lengths);
    if (others != shape || (has < needs && (axis != "query" || has != 1))) return std::nullopt;
    const std::size_t inner = axis_view(lengths, longer).inner;
    if (has < needs) {
        Shape stride = row_strides(lengths);
        stride[longer] = 0;
        return Reading{strided(actual, shape, stride).renamed(axes), "the same for each query"};
    }
    std::vector<AxisPart> parts = whole_parts(shape);
    const auto all = [&](auto&& holds) {
        for (std::size_t i = 0; i < actual.size(); ++i) {
            if (!holds(i, i / inner % has)) return false;
        }
        return true;
    };
    // True if number i repeats the one `back` places before it.
    const auto repeats = [&](std::size_t i, std::size_t back) {
        return actual.at(i) == actual.at(i - back * inner);
    };
    std::string words = "the first " + std::to_string(needs) + " slots";
    if (axis == "pair" && has == 2 * needs) {
        const auto in_halves = [&](auto i, auto at) { return at < needs || repeats(i, needs); };
        const auto in_turn = [&](auto i, auto at) { return at % 2 == 0 || repeats(i, 1); };
        words = "each number twice";
        if (!all(in_halves)) {
            parts[longer].step = 2;
            if (!all(in_turn)) return std::nullopt;
        }
    } else if (axis != "key") {
        return std::nullopt;
    } else if (longer + 1 == shape.size()) {
        // The numbers of a sink, or of unfilled slots, are all equal.
        if (!all([&](auto i, auto at) { return at <= needs || repeats(i, 1); })) return {};
        const std::size_t more = has - needs;
        words = more == 1 ? "its last column left out"
                          : "its last " + std::to_string(more) + " columns left out";
    } else if (longer + 2 != shape.size() ||
               !all([&](auto i, auto at) { return at < needs || actual.at(i) == 0; })) {
        return std::nullopt;
    }
    return Reading{slice(laid_out(actual, axes, lengths, actual.dtype(), all_axes(lengths)), parts),
                   words};
}

}  // namespace

std::vector<Reading> readings(const Tensor& actual, const Axes& axes, const Shape& shape,
                              DType dtype) {
    if (std::optional<Reading> part = shortened(actual, axes, shape)) {
        return {{laid_out(part->tensor, axes, shape, dtype, all_axes(shape)), part->layout}};
    }
    const Shape& lengths = actual.shape();
    if (actual.size() != element_count(shape) || actual.size() == 0) return {};
    std::vector<Reading> result;
    const auto add = [&](const std::vector<std::size_t>& order, const std::string& layout) {
        result.push_back({laid_out(actual, axes, shape, dtype, order), layout});
    };
    std::vector<std::size_t> order = all_axes(shape);
    std::erase_if(order, [&](std::size_t axis) { return shape[axis] == 1; });
    const std::vector<std::size_t> correct = order;
    if (lengths == shape && actual.dtype() == dtype) {
        result.push_back({actual.renamed(axes), ""});
    } else if (lengths == shape) {
        add(all_axes(shape), "");
    }
    if (lengths.size() > shape.size() && splits_axes(lengths, shape))
        add(correct, "with axes joined");
    do {
        const bool is_known = order == correct && lengths == shape;
        const std::size_t group = place_of_axis("group", order, axes);
        const bool swaps = group < order.size() && place_of_axis("head", order, axes) < group;
        if (is_known || swaps || exchanges_queries_and_keys(order, axes) ||
            is_nobodys_habit(order, axes, shape)) {
            continue;
        }
        const std::string layout = joined_axes(order, axes, shape, lengths);
        if (!layout.empty()) add(order, layout);
    } while (std::ranges::next_permutation(order).found);
    // Heads in groups that share a key: (batch, token, group, head, feature).
    const auto head = std::ranges::find(axes, "head");
    const bool is_grouped = std::ranges::count(axes, "group") > 0;
    if (!result.empty() || head == axes.end() || is_grouped) return result;
    const std::ptrdiff_t at = head - axes.begin();
    for (std::size_t groups = 2; groups < shape[static_cast<std::size_t>(at)]; ++groups) {
        Axes separated = axes;
        Shape parted = shape;
        std::size_t& heads = parted[static_cast<std::size_t>(at)];
        if (heads % groups != 0 || std::ranges::count(lengths, groups) == 0) continue;
        heads /= groups;
        separated.insert(separated.begin() + at, "group");
        parted.insert(parted.begin() + at, groups);
        for (const Reading& each : readings(actual, separated, parted, dtype)) {
            result.push_back(
                {laid_out(each.tensor, axes, shape, dtype, all_axes(shape)), each.layout});
        }
    }
    return result;
}

std::vector<Reading> readings(const Tensor& actual, const Tensor& like) {
    return readings(actual, like.axes(), like.shape(), like.dtype());
}

namespace {

/// The two values of a mask: visible and hidden for a mask that is added to scores, or 0 and 1.
struct MaskValues {
    bool added = false;
    double first = 0;   ///< of the two: 0, or the visible one of an added mask
    double second = 0;  ///< 1, or the hidden one of an added mask
};

std::optional<MaskValues> values_of(const Tensor& actual) {
    std::set<double> values;
    for (std::size_t i = 0; i < actual.size() && values.size() < 3; ++i) {
        if (std::isnan(actual.at(i))) return std::nullopt;
        values.insert(actual.at(i));
    }
    if (values.empty() || values.size() > 2) return std::nullopt;
    const double low = *values.begin();
    const double high = *values.rbegin();
    if (low >= 0 && high <= 1) {
        if ((low != 0 && low != 1) || (high != 0 && high != 1)) return std::nullopt;
        return MaskValues{false, 0, 1};
    }
    // Numbers to add: 0 (or 1) for visible keys; for hidden ones far below, or by mistake above.
    if (high == 0 || (high == 1 && low < 0)) return MaskValues{true, high, low};
    if (low == 0) return MaskValues{true, 0, high};
    return std::nullopt;
}

/// Returns the four axes that a mask of that shape may have, in the order in which they are tried.
std::vector<std::pair<Shape, std::string>> mask_shapes(const Shape& actual, const Shape& full) {
    std::vector<std::pair<Shape, std::string>> result;
    const auto add = [&](Shape shape, const std::string& words) {
        for (std::size_t i = 0; i < 4; ++i) {
            if (shape[i] != 1 && shape[i] != full[i]) return;
        }
        for (const auto& [known, unused] : result) {
            if (known == shape) return;
        }
        result.emplace_back(std::move(shape), words);
    };
    if (actual.empty() || actual.size() > 4) return result;
    Shape right = actual;
    right.insert(right.begin(), 4 - right.size(), 1);
    if (actual.size() == 3) add({actual[0], 1, actual[1], actual[2]}, "(batch, query, key)");
    if (actual.size() == 2) add({actual[0], 1, 1, actual[1]}, "(batch, key)");
    add(right, "");
    if (actual.size() == 3 && actual[0] == full[0] * full[1]) {
        add({full[0], full[1], actual[1], actual[2]}, "(batch * head, query, key)");
    }
    return result;
}

}  // namespace

std::vector<MaskReading> mask_readings(const Tensor& actual, const Plan& plan) {
    std::vector<MaskReading> result;
    const std::optional<MaskValues> values = values_of(actual);
    if (!values) return result;
    const Shape full{plan.has_batch ? plan.batch : 1, plan.has_head ? plan.heads : 1,
                     plan.query_len, plan.key_len};
    for (const auto& [shape, layout] : mask_shapes(actual.shape(), full)) {
        Shape stride = row_strides(shape);
        for (std::size_t axis = 0; axis < 4; ++axis) {
            if (shape[axis] == 1) stride[axis] = 0;
        }
        const Tensor everywhere = strided(actual, full, stride);
        for (const bool true_keeps : {false, true}) {
            if (values->added && true_keeps) continue;
            const auto hides = [&](std::size_t i) {
                return (everywhere.at(i) == values->second) != true_keeps;
            };
            result.push_back({tensor_by(plan.per_head_axes("query", "key"),
                                        plan.per_head_shape(full[2], full[3]), hides),
                              true_keeps, layout});
        }
    }
    return result;
}

}  // namespace attn

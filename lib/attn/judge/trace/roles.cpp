#include "attn/judge/trace/roles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/ground/tensor/slice.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {
namespace {

std::vector<double> in_order(std::vector<double> numbers) {
    std::erase_if(numbers, [](double number) { return std::isnan(number); });
    std::ranges::sort(numbers);
    return numbers;
}

bool is_near(double a, double b, double unit) {
    return same_number(a, b) || std::abs(a - b) <= 8 * unit * std::abs(b);
}

std::vector<int> as_int(const std::vector<std::size_t>& axes) { return {axes.begin(), axes.end()}; }

/// Returns the axes of the result that x has, samples first.
std::vector<int> token_axes(const Origin& origin) {
    std::vector<int> axes = as_int(origin.product.axes_of_a(false));
    if (origin.has_tokens_first) std::ranges::reverse(axes);
    return axes;
}

/// Returns the summed axes in x's order.
std::vector<int> summed(const Contraction& product) {
    std::vector<int> all;
    for (const int axis : product.a) {
        if (axis < 0) all.push_back(axis);
    }
    return all;
}

}  // namespace

std::vector<int> axes_for(const std::vector<int>& of_operand, const std::vector<int>& wanted) {
    std::vector<int> axes;
    for (const int want : wanted) {
        const auto found = std::ranges::find(of_operand, want);
        axes.push_back(found == of_operand.end() ? -1
                                                 : static_cast<int>(found - of_operand.begin()));
    }
    return axes;
}

Tensor Arranged::tensor() const {
    const auto outcome = [&](auto zero) {
        using T = decltype(zero);
        Array<T> cells = empty_array<T>(shape);
        std::ranges::transform(all, cells.data(),
                               [](double number) { return static_cast<T>(number); });
        return Tensor(numbered_axes(shape.size()), std::move(cells));
    };
    if (dtype == DType::boolean) return outcome(bool{});
    if (dtype == DType::int64) return outcome(std::int64_t{});
    const Tensor tensor = with_floating(dtype, outcome);
    return is_16_bit(dtype) ? tensor.of_type(dtype) : tensor;
}

Arranged arranged(const Traced& tensor, const std::vector<int>& axes, const Shape& lengths) {
    const Shape from = row_strides(tensor.shape);
    Arranged outcome{lengths, std::vector<double>(element_count(lengths)), tensor.dtype};
    std::vector<std::size_t> cell(lengths.size(), 0);
    for (double& number : outcome.all) {
        std::size_t flat = 0;
        for (std::size_t i = 0; i < axes.size(); ++i) {
            if (axes[i] >= 0) flat += cell[i] * from[static_cast<std::size_t>(axes[i])];
        }
        number = tensor.all[flat];
        for (std::size_t i = lengths.size(); i-- > 0;) {
            if (++cell[i] < lengths[i]) break;
            cell[i] = 0;
        }
    }
    return outcome;
}

Arranged arranged(const Traced& tensor, const std::vector<int>& axes) {
    Shape lengths;
    for (const int axis : axes) lengths.push_back(tensor.shape[static_cast<std::size_t>(axis)]);
    return arranged(tensor, axes, lengths);
}

Arranged beside(const Arranged& a, const Arranged& b, std::size_t axis) {
    Arranged both{a.shape, {}, a.dtype};
    both.shape[axis] += b.shape[axis];
    std::size_t blocks = 1;
    for (std::size_t i = 0; i < axis; ++i) blocks *= a.shape[i];
    const auto part = [&](const Arranged& of, std::size_t block) {
        const auto size = static_cast<std::ptrdiff_t>(of.all.size() / blocks);
        const auto first = of.all.begin() + static_cast<std::ptrdiff_t>(block) * size;
        both.all.insert(both.all.end(), first, first + size);
    };
    for (std::size_t block = 0; block < blocks; ++block) {
        part(a, block);
        part(b, block);
    }
    return both;
}

bool has_samples_first(const Traced& merged, const Arranged& context) {
    const Shape& by = context.shape;
    if (merged.shape[0] != by[0] || merged.shape[1] != by[2]) return false;
    for (std::size_t i = 0; i < context.all.size(); ++i) {
        const std::size_t feature = i % by[3], token = i / by[3] % by[2];
        const std::size_t head = i / by[3] / by[2] % by[1], sample = i / by[3] / by[2] / by[1];
        const std::size_t at = ((sample * by[2] + token) * by[1] + head) * by[3] + feature;
        if (!same_number(merged.all[at], context.all[i])) return false;
    }
    return true;
}

void Origin::turn() {
    if (tokens.size() != 2) return;
    std::ranges::reverse(tokens);
    has_tokens_first = !has_tokens_first;
}

std::vector<std::size_t> all_channels(const Origin& origin) {
    std::vector<std::size_t> all(origin.channels);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

Origins::Origins(const Trace& trace) : trace_(trace) {
    for (const Traced& each : trace) sorted_.push_back(in_order(each.all));
}

std::optional<std::size_t> Origins::same_numbers(const std::vector<double>& numbers,
                                                 std::size_t from, std::size_t to,
                                                 bool may_be_joined) const {
    const std::vector<double> wanted = in_order(numbers);
    for (std::size_t i = from; i < std::min(to, trace_.size()); ++i) {
        if (sorted_[i] == wanted && (may_be_joined || !trace_[i].is_joined)) return i;
    }
    return std::nullopt;
}

std::optional<Origin> Origins::product_at(std::size_t result, std::optional<std::size_t> x) const {
    const Traced& outcome = trace_[result];
    const auto origin_of = [&](std::size_t from, std::size_t matrix,
                               std::optional<std::size_t> bias) -> std::optional<Origin> {
        const auto product = contraction_of(outcome, trace_[from], trace_[matrix],
                                            bias ? &trace_[*bias] : nullptr, false);
        if (!product || !product->axes_of_a(true).empty()) return std::nullopt;
        Origin origin{result, from, matrix, bias, *product, {}, 1};
        for (const std::size_t axis : product->axes_of_a(false)) {
            origin.tokens.push_back(outcome.shape[axis]);
        }
        for (const std::size_t axis : product->axes_of_b(false)) {
            origin.channels *= outcome.shape[axis];
        }
        return origin;
    };
    const auto is_usable = [&](std::size_t i) {
        return trace_[i].dtype != DType::int64 && trace_[i].dtype != DType::boolean;
    };
    std::vector<std::size_t> biases;
    for (std::size_t bias = result; bias-- > 0;) {
        const Traced& b = trace_[bias];
        // A bias by (head, feature) has several axes.
        const bool fits =
            b.is_row ? b.all.size() == outcome.shape.back()
                     : b.rank() + 1 < outcome.rank() &&
                           std::equal(b.shape.rbegin(), b.shape.rend(), outcome.shape.rbegin());
        if (fits && is_usable(bias)) biases.push_back(bias);
    }
    for (std::size_t from = x.value_or(result - 1) + 1; from-- > 0;) {
        if (!is_usable(from) || from == result) continue;
        for (std::size_t matrix = result; matrix-- > 0;) {
            if (!is_usable(matrix) || matrix == from || trace_[matrix].is_row) continue;
            if (!axes_fit(outcome, trace_[from], trace_[matrix])) continue;
            if (auto origin = origin_of(from, matrix, std::nullopt)) return origin;
            for (const std::size_t bias : biases) {
                if (auto origin = origin_of(from, matrix, bias)) return origin;
            }
        }
        if (x) break;
    }
    return std::nullopt;
}

std::optional<Origin> Origins::of(const Arranged& numbers, std::size_t before) const {
    if (std::optional<Origin> origin = of_tokens(numbers, before)) return origin;
    // Cut into heads without moving its axes, a projection has the same numbers at other tokens.
    const std::vector<double> wanted = in_order(numbers.all);
    for (std::size_t i = 0; i <= before && i < trace_.size(); ++i) {
        const Traced& whole = trace_[i];
        if (whole.shape.back() <= numbers.shape.back() || sorted_[i] != wanted) continue;
        const Arranged uncut{whole.shape, whole.all, whole.dtype};
        if (std::optional<Origin> origin = of_tokens(uncut, i)) return origin;
    }
    return std::nullopt;
}

std::optional<Origin> Origins::of_tokens(const Arranged& numbers, std::size_t before) const {
    const std::size_t features = numbers.shape.back();
    const std::size_t tokens = numbers.shape[numbers.shape.size() - 2];
    int tries = 0;
    std::optional<Origin> whole;
    for (std::size_t r = 0; r <= before && r < trace_.size() && tries < 8; ++r) {
        const std::vector<double>& sorted = sorted_[r];
        const auto holds = [&](double number) {
            const DType dtype = trace_[r].dtype;
            const double slack = (is_16_bit(dtype) ? 1 : 8) * unit_of(dtype) * std::abs(number);
            const auto found = std::ranges::lower_bound(sorted, number - slack);
            return found != sorted.end() && *found <= number + slack;
        };
        const auto first = numbers.all.begin();
        const bool may_hold =
            trace_[r].all.size() >= features && holds(numbers.all.back()) &&
            std::all_of(first, first + static_cast<std::ptrdiff_t>(features), holds);
        if (!may_hold || r == 0) continue;
        ++tries;
        // In a product of two matrices either may be x.
        std::optional<Origin> origin = product_at(r, std::nullopt);
        std::optional<Origin> other = origin ? product_at(r, origin->w) : std::nullopt;
        for (std::optional<Origin>* each : {&origin, &other}) {
            if (!*each) continue;
            if (take_channels(**each, numbers)) return *each;
            Origin turned = **each;
            turned.turn();
            if (turned.has_tokens_first && take_channels(turned, numbers)) return turned;
        }
        for (const std::optional<Origin>& each : {origin, other}) {
            const bool is_whole = each && each->channels * each->rows() == numbers.all.size() &&
                                  each->rows() % tokens == 0;
            const bool is_usable = is_whole && !looks_like_parameter(trace_[each->x].name);
            if (is_usable && !whole) whole = each;
        }
    }
    return whole;
}

bool Origins::take_channels(Origin& origin, const Arranged& numbers) const {
    const std::size_t features = numbers.shape.back();
    const std::size_t tokens = numbers.shape[numbers.shape.size() - 2];
    const std::size_t heads = numbers.all.size() / tokens / features;
    // The leading axes of the numbers count samples, the others heads.
    const std::size_t rows = origin.rows();
    if (rows == 0 || rows % tokens != 0 || heads % (rows / tokens) != 0) return false;
    const std::size_t each = heads / (rows / tokens);
    const Arranged outcome = output(origin, all_channels(origin));
    std::vector<std::size_t> channel;
    for (std::size_t h = 0; h < each; ++h) {
        for (std::size_t f = 0; f < features; ++f) {
            std::optional<std::size_t> found;
            for (std::size_t m = 0; m < origin.channels && !found; ++m) {
                bool fits = true;
                for (std::size_t row = 0; row < rows && fits; ++row) {
                    const std::size_t at =
                        ((row / tokens * each + h) * tokens + row % tokens) * features + f;
                    fits = is_near(outcome.all[row * origin.channels + m], numbers.all[at],
                                   unit_of(outcome.dtype));
                }
                if (fits) found = m;
            }
            if (!found) return false;
            channel.push_back(*found);
        }
    }
    origin.channel = std::move(channel);
    return true;
}

Arranged Origins::matrix(const Origin& origin, const std::vector<std::size_t>& channels) const {
    const Traced& w = trace_[origin.w];
    const std::vector<std::size_t> out = origin.product.axes_of_b(false);
    std::vector<int> wanted = as_int(out);
    std::ranges::copy(summed(origin.product), std::back_inserter(wanted));
    const Arranged whole = arranged(w, axes_for(origin.product.b, wanted));
    const std::size_t width = whole.all.size() / origin.channels;
    Arranged rows{{channels.size(), width}, {}, w.dtype};
    for (const std::size_t channel : channels) {
        const auto row = whole.all.begin() + static_cast<std::ptrdiff_t>(channel * width);
        rows.all.insert(rows.all.end(), row, row + static_cast<std::ptrdiff_t>(width));
    }
    return rows;
}

Arranged Origins::bias(const Origin& origin, const std::vector<std::size_t>& channels) const {
    const Traced& b = trace_[*origin.b];
    Arranged outcome{{channels.size()}, {}, b.dtype};
    for (const std::size_t channel : channels) {
        outcome.all.push_back(b.all[channel % b.all.size()]);
    }
    return outcome;
}

Arranged Origins::input(const Origin& origin) const {
    std::vector<int> wanted = token_axes(origin);
    std::ranges::copy(summed(origin.product), std::back_inserter(wanted));
    Arranged outcome = arranged(trace_[origin.x], axes_for(origin.product.a, wanted));
    outcome.shape = origin.tokens;
    outcome.shape.push_back(outcome.all.size() / std::max<std::size_t>(origin.rows(), 1));
    return outcome;
}

Arranged Origins::output(const Origin& origin, const std::vector<std::size_t>& channels) const {
    const Traced& result = trace_[origin.result];
    std::vector<int> axes = token_axes(origin);
    std::ranges::copy(as_int(origin.product.axes_of_b(false)), std::back_inserter(axes));
    const Arranged whole = arranged(result, axes);
    Arranged outcome{origin.tokens, {}, result.dtype};
    outcome.shape.push_back(channels.size());
    for (std::size_t row = 0; row < origin.rows(); ++row) {
        for (const std::size_t channel : channels) {
            outcome.all.push_back(whole.all[row * origin.channels + channel]);
        }
    }
    return outcome;
}

}  // namespace attn

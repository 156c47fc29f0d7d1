#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/ground/tensor/slice.hpp"
#include "attn/judge/trace/cores.hpp"

namespace attn {

std::optional<std::size_t> softmax_with_sink(const Trace& trace, std::size_t weights) {
    constexpr std::size_t far_back = 8;
    const Traced& cut = trace[weights];
    if (cut.rank() < 2) return std::nullopt;
    const std::size_t keys = cut.shape.back();
    for (std::size_t i = weights; i-- > 0 && weights - i <= far_back;) {
        const Traced& whole = trace[i];
        Shape shape = cut.shape;
        ++shape.back();
        if (whole.shape != shape || !sums_to_one(whole, whole.rank() - 1)) continue;
        bool is_cut = true;
        for (std::size_t cell = 0; cell < cut.all.size() && is_cut; ++cell) {
            is_cut = cut.all[cell] == whole.all[cell / keys * (keys + 1) + cell % keys];
        }
        if (is_cut) return i;
    }
    return std::nullopt;
}

bool has_two_values(const Traced& tensor) {
    const double first = tensor.all.front();
    double second = first;
    return std::ranges::all_of(tensor.all, [&](double number) {
        if (second == first) second = number;
        return number == first || number == second;
    });
}

RowsAlong::RowsAlong(const Traced& tensor, std::size_t axis)
    : length(tensor.shape[axis]), step(row_strides(tensor.shape)[axis]) {}

bool sums_to_one(const Traced& tensor, std::size_t axis) {
    const RowsAlong rows(tensor, axis);
    const double slack =
        std::max(1e-4, 4 * unit_of(tensor.dtype) * static_cast<double>(rows.length));
    bool has_row = false;
    if (rows.length < 2) return false;
    for (std::size_t i = 0; i < tensor.all.size(); ++i) {
        if (rows.first(i) != i) continue;
        double sum = 0, least = 0;
        for (std::size_t k = 0; k < rows.length; ++k) {
            sum += tensor.all[i + k * rows.step];
            least = std::min(least, tensor.all[i + k * rows.step]);
        }
        if (std::isnan(sum)) continue;
        if (least < 0 || std::abs(sum - 1) > slack) return false;
        has_row = true;
    }
    return has_row;
}

double slack_of(const Traced& a, const Traced& b) {
    return 16 * std::max(unit_of(a.dtype), unit_of(b.dtype));
}

double top_of_row(const Traced& tensor, const RowsAlong& rows, std::size_t cell) {
    double top = -HUGE_VAL;
    for (std::size_t k = 0; k < rows.length; ++k) {
        top = std::max(top, tensor.all[rows.first(cell) + k * rows.step]);
    }
    return top;
}

bool is_exponential(const Traced& from, const Traced& to, std::size_t axis) {
    if (from.shape != to.shape) return false;
    const RowsAlong rows(from, axis);
    bool is_plain = true, is_shifted = true;
    for (std::size_t i = 0; i < from.all.size(); ++i) {
        const double top = top_of_row(from, rows, i);
        const auto is_exp = [&](double number) {
            return std::abs(to.all[i] - std::exp(number)) <= 1e-3 * std::exp(number) + 1e-12;
        };
        is_plain = is_plain && is_exp(from.all[i]);
        is_shifted = is_shifted && is_exp(from.all[i] - top);
    }
    return is_plain || is_shifted;
}

bool is_softmax(const Traced& from, const Traced& to, std::size_t axis) {
    const RowsAlong rows(from, axis);
    for (std::size_t i = 0; i < from.all.size(); ++i) {
        const double top = top_of_row(from, rows, i);
        double sum = 0;
        for (std::size_t k = 0; k < rows.length; ++k) {
            sum += std::exp(from.all[rows.first(i) + k * rows.step] - top);
        }
        const double expected = std::exp(from.all[i] - top) / sum;
        if (std::isnan(expected) && std::isnan(to.all[i])) continue;  // every key is hidden
        if (!(std::abs(to.all[i] - expected) <= 16 * slack_of(from, to) * (expected + 1e-3))) {
            return false;
        }
    }
    return true;
}

bool is_lowered_by_top(const Traced& from, const Traced& to) {
    const double slack = slack_of(from, to);
    for (std::size_t axis = 0; axis < from.rank(); ++axis) {
        const RowsAlong rows(from, axis);
        bool fits = rows.length > 1;
        for (std::size_t i = 0; fits && i < from.all.size(); ++i) {
            const double top = top_of_row(from, rows, i);
            const double size = 1e-3 + std::abs(from.all[i]) + std::abs(top);
            fits = std::abs(to.all[i] - (from.all[i] - top)) <= slack * size;
        }
        if (fits) return true;
    }
    return false;
}

bool is_divided_by_other_sums(const Traced& e, const Traced& to) {
    const std::size_t length = to.shape.back();
    if (e.shape != to.shape || e.shape != Shape{length, length}) return false;
    for (std::size_t column = 0; column < length; ++column) {
        const auto row = e.all.begin() + static_cast<std::ptrdiff_t>(column * length);
        const double sum = std::accumulate(row, row + static_cast<std::ptrdiff_t>(length), 0.0);
        for (std::size_t i = column; i < e.all.size(); i += length) {
            const double left = std::abs(to.all[i] * sum - e.all[i]);
            if (!(left <= slack_of(e, to) * e.all[i])) return false;
        }
    }
    return true;
}

}  // namespace attn

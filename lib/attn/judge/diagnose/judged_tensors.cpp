#include "attn/judge/diagnose/judged_tensors.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/judge/compare/compare.hpp"

namespace attn {

void CellSizes::measure(const auto& cells, std::size_t rows, std::size_t columns) {
    for (std::size_t begin = 0; begin < cells.size(); begin += rows * columns) {
        Matrix matrix{std::vector<double>(rows), std::vector<double>(columns)};
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t column = 0; column < columns; ++column) {
                const auto cell = static_cast<double>(cells.data()[begin + row * columns + column]);
                const double size = std::abs(cell);
                if (!(size <= usual_)) continue;
                matrix.rows[row] = std::max(matrix.rows[row], size);
                matrix.columns[column] = std::max(matrix.columns[column], size);
            }
        }
        matrix.largest = rows == 0 ? 0 : std::ranges::max(matrix.rows);
        matrices_.push_back(std::move(matrix));
    }
}

CellSizes::CellSizes(const Tensor& expected)
    : shape_(expected.shape()), usual_(usual_size(expected)) {
    if (shape_.size() < 2) return;
    const std::size_t columns = shape_.back(), rows = shape_[shape_.size() - 2];
    has_sizes_ = std::min(rows, columns) >= 4;
    std::visit([&](const auto& cells) { measure(cells, rows, columns); }, expected.values());
}

bool looks_rounded(const Tensor& tensor, const Tensor& expected, double epsilon) {
    const bool has_heads = expected.has_axis("head");
    const std::size_t axis = has_heads ? expected.axis("head") : 0;
    const std::size_t heads = has_heads ? expected.shape()[axis] : 1;
    const std::size_t in_head = has_heads ? row_strides(expected.shape())[axis] : tensor.size();
    std::vector<double> rights, offs, of_head(heads);
    CellSizes(expected).each([&](std::size_t i, double size, double) {
        const double off = tensor.at(i) - expected.at(i);
        if (!std::isfinite(off) || off == 0 || size == 0) return;
        rights.push_back(expected.at(i) / size);
        offs.push_back(off / size);
        of_head[i / in_head % heads] += offs.back() * offs.back();
    });
    if (offs.size() < 8) return offs.empty();
    const auto count = static_cast<double>(offs.size());
    const double mean = std::accumulate(rights.begin(), rights.end(), 0.0) / count;
    double along = 0, spread = 0, size = 0, distance = 0, farthest = 0;
    for (std::size_t i = 0; i < offs.size(); ++i) {
        along += offs[i] * (rights[i] - mean);
        spread += (rights[i] - mean) * (rights[i] - mean);
        size += rights[i] * rights[i];
        distance += offs[i] * offs[i];
        farthest = std::max(farthest, std::abs(offs[i]));
    }
    return distance <= 2.25 * epsilon * epsilon * size &&
           std::abs(along) <= 0.5 * std::sqrt(spread * distance) &&
           farthest <= 8 * std::sqrt(distance / count) &&
           std::ranges::min(of_head) * static_cast<double>(heads) >= 1e-4 * distance;
}

Tensor as_seen(const Tensor& tensor, const Tensor& expected, const Tensor& mask) {
    const Shape full = broadcast_shape(mask.shape(), expected.shape());
    const auto hides = broadcast_strides("the mask", mask.shape(), "the scores", full);
    const auto holds = broadcast_strides("the tensor", expected.shape(), "the scores", full);
    std::vector<bool> seen(expected.size());
    for (std::size_t i = 0; i < element_count(full); ++i) {
        const std::vector<std::size_t> indices = indices_of(i, full);
        const auto along = [&](const std::vector<std::size_t>& strides) {
            return std::inner_product(indices.begin(), indices.end(), strides.begin(),
                                      std::size_t{0});
        };
        if (mask.at(along(hides)) == 0) seen[along(holds)] = true;
    }
    return tensor_like(expected,
                       [&](std::size_t i) { return (seen[i] ? tensor : expected).at(i); });
}

Tensor as_shifted(const Tensor& tensor, const Tensor& expected, std::ptrdiff_t offset) {
    const Shape shape = expected.shape();
    const std::size_t keys = shape.back(), queries = shape[shape.size() - 2];
    return tensor_like(expected, [&](std::size_t i) {
        const std::size_t row = i / keys;
        const auto own = static_cast<std::ptrdiff_t>(row % queries) + offset;
        const auto last = static_cast<std::ptrdiff_t>(keys) - 1;
        const std::size_t at =
            row * keys + static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(own, 0, last));
        return tensor.at(i) + (expected.at(at) - tensor.at(at));
    });
}

Tensor rotated_part(const Plan& plan, const Tensor& rotated_key, const Tensor& rotary_key) {
    std::vector<AxisPart> parts = whole_parts(rotated_key.shape());
    const std::size_t width = rotary_key.shape().back(), before = parts.back().count - width;
    parts.back() = {static_cast<std::ptrdiff_t>(before), 1, width, false};
    if (plan.has_head) parts[rotated_key.axis("head")] = {0, 1, 1, true};
    return slice(rotated_key, parts).renamed(rotary_key.axes());
}

namespace {

/// Returns the number of binary digits that a number needs.
int digits_of(double number) {
    const std::uint64_t fraction_bits = std::bit_cast<std::uint64_t>(number) << 12U;
    return fraction_bits == 0 ? 1 : 65 - std::countr_zero(fraction_bits);
}

}  // namespace

double epsilon_of_half(const Tensor& tensor) {
    if (is_16_bit(tensor.dtype())) return epsilon(tensor.dtype());
    if (!tensor.is_floating()) return 0;
    int most = 0;
    std::size_t numbers = 0;
    std::size_t long_ones = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        const double number = tensor.at(i);
        if (number == 0 || !std::isfinite(number)) continue;
        const int digits = digits_of(number);
        if (digits > 11) return 0;
        most = std::max(most, digits);
        ++numbers;
        long_ones += digits >= 6 ? 1U : 0U;
    }
    const bool is_half = numbers >= 8 && 2 * long_ones > numbers && most >= 8;
    return is_half ? std::ldexp(1.0, most <= 8 ? -7 : -10) : 0;
}

}  // namespace attn

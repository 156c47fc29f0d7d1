#include "attn/steps/mask.hpp"

#include <limits>

#include "attn/simd/kernels.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {
namespace {

void require_broadcast(const Shape& mask, const Shape& scores) {
    bool fits = mask.size() <= scores.size();
    for (std::size_t i = 0; fits && i < mask.size(); ++i) {
        const std::size_t length = mask[mask.size() - 1 - i];
        fits = length == 1 || length == scores[scores.size() - 1 - i];
    }
    if (!fits) {
        throw ShapeError("a mask of shape " + shape_text(mask) +
                         " does not broadcast to scores of shape " + shape_text(scores) +
                         ": from the right, each length must be equal or 1");
    }
}

/// Where the cells of row number `row` of the scores begin in the mask.
std::size_t place_in_mask(std::size_t row, const Shape& shape, const Shape& mask_shape) {
    std::size_t place = 0;
    std::size_t step = mask_shape.empty() ? 1 : mask_shape.back();
    for (std::size_t axis = 1; axis < mask_shape.size(); ++axis) {
        const std::size_t length = shape[shape.size() - 1 - axis];
        const std::size_t mask_length = mask_shape[mask_shape.size() - 1 - axis];
        if (mask_length != 1) place += row % length * step;
        step *= mask_length;
        row /= length;
    }
    return place;
}

}  // namespace

Array<bool> causal_mask(std::size_t query_len, std::size_t key_len, CausalAlign align) {
    Array<bool> mask = empty_array<bool>({query_len, key_len});
    const auto shift = align == CausalAlign::end ? static_cast<std::ptrdiff_t>(key_len) -
                                                       static_cast<std::ptrdiff_t>(query_len)
                                                 : std::ptrdiff_t{0};
    for (std::size_t q = 0; q < query_len; ++q) {
        for (std::size_t k = 0; k < key_len; ++k) {
            mask(q, k) = static_cast<std::ptrdiff_t>(k) > static_cast<std::ptrdiff_t>(q) + shift;
        }
    }
    return mask;
}

Array<bool> padding_mask(const Array<bool>& is_padding, std::size_t score_axes) {
    const Shape given = shape_of(is_padding);
    Shape shape(given.size() == 2 ? score_axes : 2, 1);
    shape.back() = given.back();
    if (given.size() == 2) shape.front() = given.front();
    Array<bool> mask = is_padding;
    mask.reshape(shape);
    return mask;
}

Array<bool> either_mask(const Array<bool>& first, const Array<bool>& second) {
    return evaluated<bool>(as_xtensor(first) || as_xtensor(second));
}

template <class T>
Array<T> loop::apply_mask(const Array<T>& scores, const Array<bool>& mask) {
    const Shape shape = shape_of(scores);
    const Shape mask_shape = shape_of(mask);
    require_broadcast(mask_shape, shape);
    Array<T> result = empty_array<T>(shape);

    const std::size_t length = shape.empty() ? 1 : shape.back();
    const std::size_t rows = length == 0 ? 0 : scores.size() / length;
    // A last axis of length 1 serves every key.
    const std::size_t from_key_to_key = mask_shape.empty() || mask_shape.back() == 1 ? 0 : 1;

    // Hide each cell whose place in the mask says so, and keep the scores of the others.
    for (std::size_t row = 0; row < rows; ++row) {
        const bool* hidden = mask.data() + place_in_mask(row, shape, mask_shape);
        for (std::size_t k = 0; k < length; ++k) {
            const T score = scores.data()[row * length + k];
            result.data()[row * length + k] =
                hidden[k * from_key_to_key] ? -std::numeric_limits<T>::infinity() : score;
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::apply_mask(const Array<T>& scores, const Array<bool>& mask) {
    const Shape shape = shape_of(scores);
    const Shape mask_shape = shape_of(mask);
    require_broadcast(mask_shape, shape);
    Array<T> result = empty_array<T>(shape);
    const std::size_t length = shape.empty() ? 1 : shape.back();
    const bool one_cell = mask_shape.empty() || mask_shape.back() == 1;
    const RowOperations<T>& rows = row_operations<T>(length);
    Array<bool> repeated = empty_array<bool>({one_cell ? length : 0});

    // Find each row's place in the mask and hide what that row of the mask hides.
    for (std::size_t row = 0; length > 0 && row < scores.size() / length; ++row) {
        const bool* hidden = mask.data() + place_in_mask(row, shape, mask_shape);
        if (one_cell) {
            std::fill_n(repeated.data(), length, *hidden);
            hidden = repeated.data();
        }
        rows.hide(scores.data() + row * length, hidden, result.data() + row * length, length);
    }
    return result;
}

template Array<float> loop::apply_mask(const Array<float>&, const Array<bool>&);
template Array<double> loop::apply_mask(const Array<double>&, const Array<bool>&);
template Array<float> vectorized::apply_mask(const Array<float>&, const Array<bool>&);
template Array<double> vectorized::apply_mask(const Array<double>&, const Array<bool>&);

}  // namespace attn

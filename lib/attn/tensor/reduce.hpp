#pragma once
#include <algorithm>

#include "attn/tensor/tensor.hpp"

namespace attn {

/// Combines all elements along one axis with `combine`, which must not care about their order,
/// starting from `initial`. The axis disappears.
///
/// Why  xt::reduce reads out of bounds on some tensors with axes of length 1 (xtensor 0.24), and
///      xt::amax starts at the lowest finite number, which is wrong for a row of -inf.
template <class T, class Combine>
Array<T> reduce_axis(const Array<T>& array, std::size_t axis, T initial, Combine combine) {
    Shape shape = shape_of(array);
    const std::size_t length = shape[axis];
    std::size_t outer = 1;
    std::size_t inner = 1;
    for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    Array<T> result = empty_array<T>(shape);
    std::fill_n(result.data(), outer * inner, initial);

    // Neighbours belong to different results.
    for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t k = 0; k < length; ++k) {
            const T* cells = array.data() + (o * length + k) * inner;
            T* results = result.data() + o * inner;
            for (std::size_t i = 0; i < inner; ++i) results[i] = combine(results[i], cells[i]);
        }
    }
    return result;
}

}  // namespace attn

#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "attn/tensor/groups.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {

/// The array with its axis number `axis` after all others, so that what belongs together along it
/// is contiguous; with_last_axis_at() undoes it.
///
/// Errors  ShapeError when there is no such axis.
template <class T>
Array<T> with_axis_last(Array<T> array, std::size_t axis) {
    axis_view(array.shape(), axis);
    if (axis + 1 == array.dimension()) return array;
    std::vector<std::size_t> order(array.dimension());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(axis),
                order.begin() + static_cast<std::ptrdiff_t>(axis) + 1, order.end());
    return evaluated<T>(xt::transpose(as_xtensor(array), order));
}

template <class T>
Array<T> with_last_axis_at(Array<T> array, std::size_t axis) {
    if (axis + 1 == array.dimension()) return array;
    std::vector<std::size_t> order(array.dimension());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(axis), order.end() - 1, order.end());
    return evaluated<T>(xt::transpose(as_xtensor(array), order));
}

}  // namespace attn

#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include <xtensor/xadapt.hpp>

#include "attn/ground/tensor/array.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {

/// Returns a view of an array for xtensor, without a copy. Only files with whole-array computations
/// include this header: xtensor takes three seconds to compile.
template <class T>
auto as_xtensor(const Array<T>& array) {
    return xt::adapt(array.data(), array.size(), xt::no_ownership(), array.shape());
}

/// Evaluates an xtensor expression, which may be lazy.
template <class T, class Expression>
Array<T> evaluated(const Expression& expression) {
    Array<T> result =
        Array<T>::from_shape(Shape(expression.shape().begin(), expression.shape().end()));
    auto view = xt::adapt(result.data(), result.size(), xt::no_ownership(), result.shape());
    view = expression;
    return result;
}

/// Moves axis number `axis` to the end, so that it is contiguous; with_last_axis_at() reverses
/// this.
///
/// Errors  ShapeError if there is no such axis.
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

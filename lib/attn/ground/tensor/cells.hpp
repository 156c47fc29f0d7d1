#pragma once
#include <type_traits>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

// Tensors made of functions of their cells, and conditions on all cells.

/// Builds a tensor of the type that `f` returns, from `f(i)` for each cell in row-major order.
template <class F>
Tensor tensor_by(const Axes& axes, const Shape& shape, F&& f) {
    using T = std::decay_t<std::invoke_result_t<F&, std::size_t>>;
    Array<T> cells = empty_array<T>(shape);
    for (std::size_t i = 0; i < cells.size(); ++i) cells.data()[i] = f(i);
    return {axes, std::move(cells)};
}

/// Builds a tensor with the axes and the shape of another.
template <class F>
Tensor tensor_like(const Tensor& like, F&& f) {
    return tensor_by(like.axes(), like.shape(), std::forward<F>(f));
}

/// Applies `f` to the cells of a floating-point tensor, in order and in its own type.
template <class F>
Tensor mapped(const Tensor& tensor, F&& f) {
    return with_floating(tensor.dtype(), [&]<class T>(T) -> Tensor {
        Array<T> cells = tensor.as<T>();
        for (T& cell : cells) cell = static_cast<T>(f(cell));
        return {tensor.axes(), std::move(cells)};
    });
}

/// Counts the cells for which `holds(number)` is true.
template <class Holds>
std::size_t count_cells(const Tensor& tensor, Holds&& holds) {
    std::size_t count = 0;
    each_number(tensor, [&](std::size_t, double number) { count += holds(number) ? 1U : 0U; });
    return count;
}

/// True if `holds(number)` is true for every cell.
template <class Holds>
bool all_cells(const Tensor& tensor, Holds&& holds) {
    return count_cells(tensor, holds) == tensor.size();
}

}  // namespace attn

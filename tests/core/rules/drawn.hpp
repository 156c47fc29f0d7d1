#pragma once
#include <cmath>

#include "attn/ground/tensor/array.hpp"

namespace attn::testing {

/// Numbers that no rule produces by a pattern of its own.
template <class T>
Array<T> drawn(const Shape& shape) {
    Array<T> cells = empty_array<T>(shape);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        cells.data()[i] = static_cast<T>(std::sin(0.7 * static_cast<double>(i)));
    }
    return cells;
}

}  // namespace attn::testing

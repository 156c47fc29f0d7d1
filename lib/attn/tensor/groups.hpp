#pragma once
#include <algorithm>
#include <cstddef>

#include "attn/tensor/array.hpp"
#include "attn/tensor/error.hpp"

namespace attn {

/// Errors  ShapeError with this message unless all fits.
inline void require_fit(bool fits, const std::string& message) {
    if (!fits) throw ShapeError(message);
}

/// A tensor seen as a list of matrices: all leading axes (batch, head) folded into one.
struct Groups {
    std::size_t count;    ///< how many matrices
    std::size_t rows;     ///< length of the last axis but one
    std::size_t columns;  ///< length of the last axis
};

/// Folds the leading axes of `shape`.  Errors  ShapeError for fewer than two axes.
inline Groups groups_of(const Shape& shape) {
    require_fit(shape.size() >= 2,
                "matrices are needed, not " + shape_text(shape) + ": give it two axes");
    Groups groups{1, shape[shape.size() - 2], shape[shape.size() - 1]};
    for (std::size_t i = 0; i + 2 < shape.size(); ++i) groups.count *= shape[i];
    return groups;
}

/// A tensor seen from one of its axes: the axes before it and the axes after it folded.
struct AxisView {
    std::size_t outer;
    std::size_t length;
    std::size_t inner;
};

/// Errors  ShapeError when there is no such axis.
inline AxisView axis_view(const Shape& shape, std::size_t axis) {
    require_fit(axis < shape.size(), "there is no axis " + std::to_string(axis) + " in " +
                                         shape_text(shape) + ": count from 0");
    AxisView view{1, shape[axis], 1};
    for (std::size_t i = 0; i < axis; ++i) view.outer *= shape[i];
    for (std::size_t i = axis + 1; i < shape.size(); ++i) view.inner *= shape[i];
    return view;
}

}  // namespace attn

#pragma once
#include <memory>

#include "attn/render/cells.hpp"
#include "attn/render/numpy_style.hpp"

namespace attn {

/// The floating values that `style` was measured for: the texts of write_numpy_cell,
/// and `nan` and infinities aligned to the right.
template <class T>
std::unique_ptr<Cells> numpy_cells(const T* data, const NumpyStyle& style);

}  // namespace attn

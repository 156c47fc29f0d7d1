#pragma once
#include <memory>

#include "attn/render/cells.hpp"
#include "attn/render/torch_style.hpp"

namespace attn {

/// Floating values in one form, aligned to the right: the texts of write_torch_value.
///
/// `greatest` is the greatest finite magnitude among them. It only helps to choose the fastest way.
template <class T>
std::unique_ptr<Cells> torch_cells(const T* data, const TorchStyle& style, double greatest);

}  // namespace attn

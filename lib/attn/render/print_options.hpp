#pragma once
#include <cstddef>
#include <limits>
#include <optional>

#include "attn/tensor/tensor.hpp"

namespace attn {

enum class SciMode { automatic, on, off };

/// How a tensor is printed: the meaning is PyTorch's `torch.set_printoptions` and NumPy's
/// `np.set_printoptions`. What is not set takes that library's own default (4, 1000, 3, 80 and
/// 8, 1000, 3, 75).
struct PrintOptions {
    std::optional<int> precision;
    std::optional<std::size_t> threshold;  ///< more elements than this are summarised
    std::optional<std::size_t> edgeitems;
    std::optional<std::size_t> linewidth;
    SciMode sci_mode = SciMode::automatic;
    /// The dtype that PyTorch prints without a note, as after `torch.set_default_dtype`.
    DType default_dtype = DType::float32;
};

/// The threshold that means "never summarise".
inline constexpr std::size_t no_threshold = std::numeric_limits<std::size_t>::max();

}  // namespace attn

#pragma once
#include <cstddef>
#include <limits>
#include <optional>

#include "attn/tensor/tensor.hpp"
#include "attn/text/ink.hpp"

namespace attn {

enum class SciMode { automatic, on, off };

/// How a tensor is printed: the meaning is PyTorch's `torch.set_printoptions` and NumPy's
/// `np.set_printoptions`. What is not set takes that library's own default (4, 1000, 3, 80 and
/// 8, 1000, 3, 75). The printing functions throw ConfigError when the precision is negative or
/// above 1074, the most decimals that a double has.
struct PrintOptions {
    std::optional<int> precision{};
    std::optional<std::size_t> threshold{};  ///< more elements than this are summarised
    std::optional<std::size_t> edgeitems{};  ///< shown at each end of an axis that is cut
    std::optional<std::size_t> linewidth{};
    /// PyTorch: the form of the numbers, except that a tensor without a finite non-zero value
    /// stays as it is; the width of the columns is still that of the automatic choice.
    /// NumPy: `off` is `suppress=True`, which leaves values from 1e8 on in exponent form; `on`,
    /// which NumPy has no setting for, is the exponent form for any array with a finite non-zero
    /// value.
    SciMode sci_mode = SciMode::automatic;
    /// The dtype that PyTorch prints without a note, as after `torch.set_default_dtype`.
    DType default_dtype = DType::float32;
    Ink ink{};  ///< of the words around tensors
};

/// The threshold that means "never summarise".
inline constexpr std::size_t no_threshold = std::numeric_limits<std::size_t>::max();

}  // namespace attn

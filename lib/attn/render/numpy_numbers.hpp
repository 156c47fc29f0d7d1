#pragma once
#include <cstddef>
#include <memory>

#include "attn/render/cells.hpp"
#include "attn/render/shown.hpp"

namespace attn {

/// The defaults of `np.set_printoptions`.
inline constexpr Settings numpy_defaults{8, 1000, 3, 75, SciMode::automatic};

/// How NumPy prints the floating values of one array: the points of all of them are aligned.
struct NumpyStyle {
    bool exponent = false;            ///< exponent form
    int precision = 0;                ///< decimals: at most so many, in exponent form exactly
    std::size_t left = 0;             ///< columns before the point
    std::size_t right = 0;            ///< columns after it
    std::size_t exponent_digits = 2;  ///< filled up with zeros
};

/// NumPy's choice for the printed values. `SciMode::off` is `suppress=True`, which still leaves
/// values from 1e8 on in exponent form; `SciMode::on` takes the exponent form as soon as there is
/// a finite value other than zero.
template <class T>
NumpyStyle numpy_style(const T* data, const Shown& shown, const Settings& settings);

/// The columns of every cell.
std::size_t numpy_cell_width(const NumpyStyle& style);

/// The floating values that `style` was measured for, padded on both sides, and `nan` and
/// infinities aligned to the right.
template <class T>
std::unique_ptr<Cells> numpy_cells(const T* data, const NumpyStyle& style);

}  // namespace attn

#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>

#include "attn/show/render/shown.hpp"

namespace attn {

/// The defaults of `torch.set_printoptions` and `np.set_printoptions`.
inline constexpr Settings torch_defaults{4, 1000, 3, 80, SciMode::automatic};
inline constexpr Settings numpy_defaults{8, 1000, 3, 75, SciMode::automatic};

/// The format of one tensor's numbers: PyTorch and NumPy choose one for all of them.
struct NumberForm {
    enum class Kind { whole, fixed, scientific };
    Kind kind = Kind::whole;  ///< `1.`, `0.5000`, `5.0000e-01`
    int precision = 4;        ///< decimals
    std::size_t width = 1;    ///< padded with spaces on the left

    /// NumPy: spaces replace trailing zeros of a fraction, there are no more decimals than identify
    /// the number, and every mantissa has a point.
    bool of_numpy = false;
    std::size_t exponent_digits = 2;  ///< for NumPy
    DType type = DType::float32;      ///< for NumPy: the type in which digits identify a float
};

/// Returns PyTorch's choice. A tensor without a finite non-zero value is printed as integers, even
/// if `sci_mode` requests another form; a forced form keeps the width of the form that it replaces.
/// Zeros, infinities and nan do not affect the width, and may be wider.
NumberForm torch_form(const Survey& survey, const Settings& settings);

/// Returns PyTorch's choice for plain numbers: integers have decimals, too, and the width is that
/// of the longest number of any kind.
NumberForm plain_form(const Survey& survey, const Settings& settings);

/// Returns NumPy's choice for the printed values. `SciMode::off` is `suppress=True`, which still
/// prints values from 1e8 on with exponents; `SciMode::on` uses exponents if there is a finite
/// value other than zero.
template <class T>
NumberForm numpy_form(const T* data, const Shown& shown, const Settings& settings, DType type);

/// Formats one number.
template <class T>
std::string number_text(T value, const NumberForm& form);

/// The cells of one tensor, padded to at least a common width: `text(i)` is element number `i`.
struct Cells {
    std::size_t width;
    std::function<std::string(std::size_t)> text;
    std::size_t unseen = 0;  ///< characters of a marked cell without columns
};

/// Formats floating-point values, right-aligned. Digits that `options.bound` could change are faint
/// with colours, otherwise in brackets, `0.16[45]`; if some numbers in `shown` have such digits,
/// the others are padded by two spaces.
template <class T>
Cells number_cells(const T* data, const NumberForm& form, const Shown& shown,
                   const PrintOptions& options);

/// Formats integers, right-aligned.
Cells integer_cells(const std::int64_t* data, const Shown& shown);

/// Formats bools as words, right-aligned.
Cells word_cells(const bool* data, std::size_t width);

/// Formats the cells of any tensor: bools as words of that width, floating-point values in the form
/// that `form_of(data)` returns.
template <class T, class FormOf>
Cells cells_of(const T* data, const Shown& shown, const PrintOptions& options,
               std::size_t word_width, const FormOf& form_of) {
    if constexpr (std::is_same_v<T, bool>) {
        return word_cells(data, word_width);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
        return integer_cells(data, shown);
    } else {
        return number_cells(data, form_of(data), shown, options);
    }
}

/// Formats element number `i` alone: the digits that identify it, `True`.
std::string scalar_text(const Tensor& tensor, std::size_t i);

}  // namespace attn

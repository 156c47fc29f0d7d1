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

/// How the numbers of one tensor are printed: PyTorch and NumPy choose one form for all of them.
struct NumberForm {
    enum class Kind { whole, fixed, scientific };
    Kind kind = Kind::whole;  ///< `1.`, `0.5000`, `5.0000e-01`
    int precision = 4;        ///< decimals
    std::size_t width = 1;    ///< blanks fill it before a number

    /// NumPy: blanks stand for zeros at the end of a fraction, no more decimals are written than
    /// identify the number, and every mantissa has a point.
    bool of_numpy = false;
    std::size_t exponent_digits = 2;  ///< of NumPy
    DType type = DType::float32;      ///< of NumPy: what a float's digits identify it among
};

/// PyTorch's choice. A tensor without a finite non-zero value is in whole form, even where
/// `sci_mode` asks for another; a forced form keeps the width of the form it replaces. Zeros,
/// infinities and nan have no say in the width: these may be wider.
NumberForm torch_form(const Survey& survey, const Settings& settings);

/// PyTorch's choice for the numbers alone: whole numbers have decimals too, and the width is that
/// of the longest number, whatever it is.
NumberForm plain_form(const Survey& survey, const Settings& settings);

/// NumPy's choice for the printed values. `SciMode::off` is `suppress=True`, which still leaves
/// values from 1e8 on in exponent form; `SciMode::on` takes the exponent form as soon as there is
/// a finite value other than zero.
template <class T>
NumberForm numpy_form(const T* data, const Shown& shown, const Settings& settings, DType type);

/// One number in a form.
template <class T>
std::string number_text(T value, const NumberForm& form);

/// The cells of one tensor, which all have a common width or more: `text(i)` is element number `i`.
struct Cells {
    std::size_t width;
    std::function<std::string(std::size_t)> text;
    std::size_t unseen = 0;  ///< letters of a marked cell that take no columns
};

/// Floating values in one form, aligned to the right. The digits that `options.bound` could change
/// are faint where there are colours, and otherwise in brackets, `0.16[45]`; numbers without such
/// digits keep two blanks free, as far as others in `shown` have some.
template <class T>
Cells number_cells(const T* data, const NumberForm& form, const Shown& shown,
                   const PrintOptions& options);

/// Integers, aligned to the right.
Cells integer_cells(const std::int64_t* data, const Shown& shown);

/// Bools as words, aligned to the right.
Cells word_cells(const bool* data, std::size_t width);

/// The cells of any tensor: bools as words of that width, floating values in the form that
/// `form_of(data)` chooses.
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

/// The text of element number `i` by itself: the digits that identify it, `True`.
std::string scalar_text(const Tensor& tensor, std::size_t i);

}  // namespace attn

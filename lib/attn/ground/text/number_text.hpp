#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// The most decimals of any double. More would only add zeros.
inline constexpr int most_decimals = 1074;

/// The functions below format one number, independent of the locale. Digits are correctly rounded,
/// ties of the exact binary value to even. All nan are `nan`, whatever their sign bit; infinities
/// are `inf` and `-inf`.

/// C's `%.{precision}f`.  Range  precision from 0 to most_decimals; 6 if it is negative.
std::string fixed_text(double value, int precision);

/// C's `%.{precision}e`.  Range  as fixed_text.
std::string scientific_text(double value, int precision);

/// Returns the fewest digits that identify the value among those of its type, with an exponent:
/// `1e-05`, `1.25e+100`.
std::string shortest_text(double value);
std::string shortest_text(float value);

/// Returns these digits without an exponent. An integer has no point, and all its digits.
std::string shortest_fixed_text(double value);
std::string shortest_fixed_text(float value);

/// Formats a scalar as Python and NumPy do: the shortest digits, with an exponent below 1e-4 and
/// from 1e16 on, and otherwise with at least one decimal.
std::string scalar_text(double value);
std::string scalar_text(float value);

/// Returns the number whose digits, by the functions above, are the fewest that identify `value` in
/// a 16-bit type, such as 0.1 for 0.0999755859 in float16; for float32 the value itself.
float as_printed(float value, DType type);

/// Pads the text with spaces on the left to `width` columns.
std::string padded(std::string text, std::size_t width);

/// Formats a number for a sentence: four significant digits, `nan`, `inf`, `-inf`.
std::string brief(double number);

/// Formats a number for a formula: an integer as it is, others with six significant digits.
std::string six_digits(double number);

/// Formats a number with four decimals, or with an exponent if it is too small or large for that.
std::string four_decimals(double number);

enum class SciMode { automatic, on, off };

/// Print options, with the meaning of PyTorch's `torch.set_printoptions` and NumPy's
/// `np.set_printoptions`. Unset options have the library's own defaults (4, 1000, 3, 80 and 8,
/// 1000, 3, 75). The printing functions throw ConfigError if the precision is negative or above
/// 1074, the most decimals of a double.
struct PrintOptions {
    std::optional<int> precision{};
    std::optional<std::size_t> threshold{};  ///< larger tensors are summarised
    std::optional<std::size_t> edgeitems{};  ///< printed at each end of a cut axis
    std::optional<std::size_t> linewidth{};
    /// PyTorch: the form of the numbers, except that a tensor without a finite non-zero value is
    /// unchanged; the column width is still that of the automatic choice. NumPy: `off` is
    /// `suppress=True`, which still prints values from 1e8 on with exponents; `on`, for which NumPy
    /// has no setting, uses exponents for any array with a finite non-zero value.
    SciMode sci_mode = SciMode::automatic;
    /// The dtype that PyTorch prints without a suffix, as after `torch.set_default_dtype`.
    DType default_dtype = DType::float32;
    Ink ink{};                      ///< for the words around tensors
    bool certain_digits = false;    ///< mark uncertain digits if the tensor's bound is known
    const Tensor* bound = nullptr;  ///< largest error of each number, to mark uncertain digits
};

/// The threshold that means "never summarise".
inline constexpr std::size_t no_threshold = std::numeric_limits<std::size_t>::max();

}  // namespace attn

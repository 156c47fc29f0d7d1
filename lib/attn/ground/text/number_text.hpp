#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// The decimals that any double can have. More of them would only add zeros.
inline constexpr int most_decimals = 1074;

/// The functions below give the text of one number, without regard to the locale. Digits are
/// rounded correctly, ties on the exact binary value to even. Every not-a-number is `nan`, whatever
/// its sign bit; infinities are `inf` and `-inf`.

/// C's `%.{precision}f`.  Range  precision from 0 to most_decimals; 6 where it is negative.
std::string fixed_text(double value, int precision);

/// C's `%.{precision}e`.  Range  as fixed_text.
std::string scientific_text(double value, int precision);

/// The fewest digits that identify the value among those of its type, in exponent form:
/// `1e-05`, `1.25e+100`.
std::string shortest_text(double value);
std::string shortest_text(float value);

/// The same digits without an exponent. A whole number has no point and all its digits.
std::string shortest_fixed_text(double value);
std::string shortest_fixed_text(float value);

/// The text of a number by itself, as Python and NumPy print one: the shortest digits, in exponent
/// form below 1e-4 and from 1e16 on, and otherwise with at least one decimal.
std::string scalar_text(double value);
std::string scalar_text(float value);

/// The number whose digits, by the functions above, are the fewest that identify `value` among the
/// numbers of a 16-bit type, as 0.1 for 0.0999755859 of float16; of float32 the value itself.
float as_printed(float value, DType type);

/// The text with blanks before it that fill `width` columns.
std::string padded(std::string text, std::size_t width);

/// A number for a sentence: four significant digits, `nan`, `inf`, `-inf`.
std::string brief(double number);

/// A number for a formula: a whole one as it is, others with six significant digits.
std::string six_digits(double number);

/// A number with four decimals, or in powers of ten where that would show nothing of it.
std::string four_decimals(double number);

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
    Ink ink{};                      ///< of the words around tensors
    bool certain_digits = false;    ///< mark the others, where the bound of a tensor is known
    const Tensor* bound = nullptr;  ///< how far each number may be off, whose digits are marked
};

/// The threshold that means "never summarise".
inline constexpr std::size_t no_threshold = std::numeric_limits<std::size_t>::max();

}  // namespace attn

// Replacements for libraries that are not available as WebAssembly: numbers as text and
// single-precision sines like those of the GNU C library, the tables of Unicode, which browsers and
// node have, and BLAS.
#include <fmt/format.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "attn/ground/simd/matmul.hpp"

// --- the machine

/// Memory grows up to 2 GiB in pages of 64 KiB; the C library reports the part in use.
extern "C" long sysconf(int name) {
    if (name == _SC_PAGESIZE) return 1 << 16;
    return name == _SC_PHYS_PAGES ? 1 << 15 : 1;
}

// --- numbers as text

namespace {

/// Writes the shortest digits in the format of C++: `1.25e-05`, or without an exponent.
template <class Number>
char* write_digits(char* out, Number value, bool is_fixed) {
    if (std::signbit(value)) *out++ = '-';
    const auto decimal = value == 0 ? fmt::detail::dragonbox::decimal_fp<Number>{0, 0}
                                    : fmt::detail::dragonbox::to_decimal(std::abs(value));
    // Write all digits of the number, not zeros after the shortest ones.
    if (is_fixed && decimal.exponent >= 0)
        return fmt::format_to(out, "{:.0f}", std::abs(static_cast<double>(value)));
    char* const first = out;
    out = std::to_chars(out, out + 20, decimal.significand).ptr;
    const auto count = static_cast<int>(out - first);
    const int size = count - 1 + decimal.exponent;  // the power of ten of the first digit
    if (is_fixed && size < 0) {
        std::copy_backward(first, out, out + 1 - size);
        std::fill_n(first, 1 - size, '0');
        first[1] = '.';
        return out + 1 - size;
    }
    char* const point = first + 1 + (is_fixed ? size : 0);
    if (point < out) {
        std::copy_backward(point, out, out + 1);
        *point = '.';
        ++out;
    }
    if (is_fixed) return out;
    *out++ = 'e';
    *out++ = size < 0 ? '-' : '+';
    if (std::abs(size) < 10) *out++ = '0';
    return std::to_chars(out, out + 3, std::abs(size)).ptr;
}

}  // namespace

std::to_chars_text std::to_chars(char* begin, char*, double value, chars_format format) {
    return {write_digits(begin, value, format == chars_format::fixed)};
}
std::to_chars_text std::to_chars(char* begin, char*, float value, chars_format format) {
    return {write_digits(begin, value, format == chars_format::fixed)};
}

// --- float32 functions with the results of the GNU C library, to the last bit

namespace {

/// Source  ARM's optimized routines, sinf and cosf: a polynomial of float64 within an octant.
float swing(float angle, int quarter) {
    constexpr double right = std::numbers::pi / 2, rest_of_right = 0x1.1a62633145c07p-54;
    double x = angle;
    if (!(std::abs(x) < 0x1p28))
        return static_cast<float>(quarter == 0 ? std::sin(x) : std::cos(x));
    if (std::abs(x) < 0x1p-12) return quarter == 0 ? angle : 1.0F;
    double sign = 1;
    if (std::abs(x) >= static_cast<float>(right / 2)) {
        const double turns = x * 0x1.45F306DC9C883p+23;
        const bool is_large = std::abs(x) >= 120;
        const double quarters =
            is_large ? std::nearbyint(x / right) : (static_cast<int>(turns) + 0x800000) >> 24;
        x = std::fma(-quarters, right, x);
        if (is_large) x = std::fma(-quarters, rest_of_right, x);
        const auto octant = static_cast<int>(quarters);
        if (((octant + 1) & 2) != 0) x = -x;
        if ((octant & 2) != 0) sign = -1;
        quarter ^= octant & 1;
    }
    const double square = x * x;
    if (quarter == 0) {
        const double cube = x * square;
        const double late = 0x1.1107605230bc4p-7 + square * -0x1.994eb3774cf24p-13;
        return static_cast<float>(x + cube * -0x1.555545995a603p-3 + cube * square * late);
    }
    const double fourth = square * square;
    const double late = -0x1.6c087e89a359dp-10 + square * 0x1.99343027bf8c3p-16;
    const double early = 1 + square * -0x1.ffffffd0c621cp-2;
    return static_cast<float>(sign *
                              (early + fourth * 0x1.55553e1068f19p-5 + fourth * square * late));
}

/// Computes exp(x) - 1 for |x| below 44: the remainder of x modulo ln 2, by a ratio of polynomials,
/// scaled back.
///
/// Source  fdlibm, expm1f.
float exponential_less_one(float x) {
    constexpr float high_ln2 = 6.9313812256e-01F, low_ln2 = 9.0580006145e-06F;
    constexpr float all_of_it = -18.714973F;  // below it exp(x) adds nothing
    if (x <= all_of_it) return -1;
    if (std::abs(x) < 0x1p-25F) return x;
    int power = 0;
    float lost = 0;
    if (std::abs(x) > 0.34657359028F) {
        const bool is_near = std::abs(x) < 1.0397207708F;
        const float half = x > 0 ? 0.5F : -0.5F;
        power = is_near ? (x > 0 ? 1 : -1) : static_cast<int>(1.4426950216F * x + half);
        const float high = x - static_cast<float>(power) * high_ln2;
        const float low = static_cast<float>(power) * low_ln2;
        x = high - low;
        lost = (high - x) - low;
    }
    const float half = 0.5F * x, square = x * half;
    const float late = 4.0082177293e-06F + square * -2.0109921195e-07F;
    const float middle = 1.5873016091e-03F + square * (-7.9365076090e-05F + square * late);
    const float ratio = 1 + square * (-3.3333335072e-02F + square * middle);
    const float rest = 3 - ratio * half;
    float error = square * ((ratio - rest) / (6 - x * rest));
    if (power == 0) return x - (x * error - square);
    error = x * (error - lost) - lost - square;
    if (power == -1) return 0.5F * (x - error) - 0.5F;
    if (power == 1 && x < -0.25F) return -2 * (error - (x + 0.5F));
    if (power == 1) return 1 + 2 * (x - error);
    if (power <= -2 || power > 56) return std::ldexp(1 - (error - x), power) - 1;
    const float less = std::ldexp(1.0F, -power);
    const float sum = power < 23 ? (1 - less) - (error - x) : (x - (error + less)) + 1;
    return std::ldexp(sum, power);
}

}  // namespace

extern "C" float sinf(float angle) { return swing(angle, 0); }
extern "C" float cosf(float angle) { return swing(angle, 1); }
/// Source  fdlibm, tanhf.
extern "C" float tanhf(float x) {
    const float size = std::abs(x);
    if (std::isnan(x) || size < 0x1p-55F) return x;
    float result = 1;
    if (size < 1) {
        const float less = exponential_less_one(-2 * size);
        result = -less / (less + 2);
    } else if (size < 22) {
        result = 1 - 2 / (exponential_less_one(2 * size) + 2);
    }
    return std::copysign(result, x);
}

// --- Unicode

extern "C" {
#ifndef ATTN_WHOLE
__attribute__((import_module("page"), import_name("letter")))
#endif
/// Returns a property of a character from JavaScript: 'c' its category, numbered as in utf8proc,
/// 'l' its lower-case letter, 'r' whether it is written from right to left, 'w' its columns.
int page_letter(int what, int point);

utf8proc_category_t utf8proc_category(utf8proc_int32_t point) {
    return static_cast<utf8proc_category_t>(page_letter('c', point));
}
utf8proc_int32_t utf8proc_tolower(utf8proc_int32_t point) {
    return point < 128 ? std::tolower(point) : page_letter('l', point);
}
int utf8proc_charwidth(utf8proc_int32_t point) { return point < 128 ? 1 : page_letter('w', point); }

const utf8proc_property_t* utf8proc_get_property(utf8proc_int32_t point) {
    static utf8proc_property_t property;
    const bool is_right = point >= 128 && page_letter('r', point) != 0;
    property.bidi_class = is_right ? UTF8PROC_BIDI_CLASS_R : UTF8PROC_BIDI_CLASS_L;
    return &property;
}

/// A mark or a joiner, and the character after a joiner, belong to the character before.
utf8proc_bool utf8proc_grapheme_break_stateful(utf8proc_int32_t before, utf8proc_int32_t point,
                                               utf8proc_int32_t*) {
    constexpr utf8proc_int32_t joiner = 0x200D;
    if (before < 128 && point < 128) return true;
    const utf8proc_category_t category = utf8proc_category(point);
    const bool is_mark = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
    return !is_mark && point != joiner && before != joiner;
}

utf8proc_ssize_t utf8proc_iterate(const utf8proc_uint8_t* text, utf8proc_ssize_t size,
                                  utf8proc_int32_t* point) {
    const int first = text[0];
    const int length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    *point = -1;
    if (length > size || (first >= 0x80 && first < 0xC2)) return UTF8PROC_ERROR_INVALIDUTF8;
    *point = length == 1 ? first : first & (0xFF >> (length + 1));
    for (int i = 1; i < length; ++i) *point = *point << 6 | (text[i] & 0x3F);
    return length;
}

utf8proc_ssize_t utf8proc_encode_char(utf8proc_int32_t point, utf8proc_uint8_t* out) {
    const int length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (int i = length; i-- > 1; point >>= 6) {
        out[i] = static_cast<utf8proc_uint8_t>(0x80 | (point & 0x3F));
    }
    const int lead = length == 1 ? 0 : 0xF00 >> length & 0xFF;
    out[0] = static_cast<utf8proc_uint8_t>(lead | point);
    return length;
}

}  // extern "C"

namespace attn {

// --- products, used only by the variants other than loop

void prepare_blas(std::size_t) {}

template <class T>
void blas_multiply(const T* a, std::size_t a_stride, const T* b, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second) {
    const bool transposed = second == Second::transposed;
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            T sum = 0;
            for (std::size_t p = 0; p < k; ++p) {
                sum += a[i * a_stride + p] * (transposed ? b[j * k + p] : b[p * n + j]);
            }
            result[i * result_stride + j] = sum;
        }
    }
}
template void blas_multiply(const float*, std::size_t, const float*, float*, std::size_t,
                            std::size_t, std::size_t, std::size_t, Second);
template void blas_multiply(const double*, std::size_t, const double*, double*, std::size_t,
                            std::size_t, std::size_t, std::size_t, Second);

}  // namespace attn

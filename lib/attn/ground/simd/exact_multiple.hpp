#pragma once
#include <cstddef>
#include <cstdint>

#include <xsimd/xsimd.hpp>

// Included only by the files that are compiled for one instruction set: see vector_math.hpp.
namespace attn::simd {

/// Computes result + row * factor in float64 with a single rounding, for processors without such an
/// instruction: product and sums are kept exactly in two numbers each, and the last but one
/// rounding is to odd, so that the final rounding is correct.
///
/// Source  Dekker 1971 (product), Knuth (sum), Boldo and Melquiond 2008 (rounding to odd).
template <class Arch>
class ExactMultiple {
    using Batch = xsimd::batch<double, Arch>;
    using Bits = xsimd::batch<std::int64_t, Arch>;

public:
    static void add(const double* row, double factor, double* result, std::size_t count) {
        const auto add_one = [&](std::size_t i) {
            result[i] = __builtin_fma(row[i], factor, result[i]);
        };
        const Batch factors(factor);
        const std::size_t whole = xsimd::all(is_usual(factors)) ? count - count % Batch::size : 0;
        for (std::size_t i = 0; i < whole; i += Batch::size) {
            const Batch x = Batch::load_unaligned(row + i);
            const Batch before = Batch::load_unaligned(result + i);
            const auto usual =
                is_usual(x) & is_usual(x * factors) & (xsimd::abs(before) < Batch(most));
            if (xsimd::all(usual)) {
                multiply_add(x, factors, before).store_unaligned(result + i);
            } else {
                for (std::size_t lane = 0; lane < Batch::size; ++lane) add_one(i + lane);
            }
        }
        for (std::size_t i = whole; i < count; ++i) add_one(i);
    }

private:
    static constexpr double least = 0x1p-600, most = 0x1p600;

    /// True if neither product nor rest leaves the range in which float64 has all its digits.
    [[gnu::always_inline]] static inline auto is_usual(const Batch& x) {
        const Batch size = xsimd::abs(x);
        return (size > Batch(least)) & (size < Batch(most));
    }

    /// A number, and its rounding error.
    struct Exact {
        Batch rounded, rest;
    };

    [[gnu::always_inline]] static inline Exact sum(const Batch& a, const Batch& b) {
        const Batch rounded = a + b, of_b = rounded - a;
        return {rounded, (a - (rounded - of_b)) + (b - of_b)};
    }

    /// Returns the upper 26 bits of a number: products of halves are exact.
    [[gnu::always_inline]] static inline Batch upper_half(const Batch& x) {
        const Batch shifted = x * Batch(0x8000001p0);
        return shifted - (shifted - x);
    }

    [[gnu::always_inline]] static inline Exact product(const Batch& a, const Batch& b) {
        const Batch upper_a = upper_half(a), lower_a = a - upper_a;
        const Batch upper_b = upper_half(b), lower_b = b - upper_b;
        const Batch rounded = a * b;
        const Batch rest = upper_a * upper_b - rounded + upper_a * lower_b + lower_a * upper_b;
        return {rounded, rest + lower_a * lower_b};
    }

    /// Returns the neighbour of an exact number whose last bit is 1.
    [[gnu::always_inline]] static inline Batch rounded_to_odd(const Exact& exact) {
        const Batch none(0.0), unit(0x1p-1074);  // whose bits are the integer 1
        const auto is_inexact = exact.rest != none;
        const auto is_beyond = is_inexact & ((exact.rest > none) ^ (exact.rounded > none));
        const auto bits_where = [&](const auto& holds) {
            return xsimd::bitwise_cast<Bits>(xsimd::select(holds, unit, none));
        };
        const Bits toward_zero = xsimd::bitwise_cast<Bits>(exact.rounded) - bits_where(is_beyond);
        return xsimd::bitwise_cast<Batch>(toward_zero | bits_where(is_inexact));
    }

    [[gnu::always_inline]] static inline Batch multiply_add(const Batch& a, const Batch& b,
                                                            const Batch& c) {
        const Exact ab = product(a, b);
        const Exact low = sum(c, ab.rest);
        const Exact high = sum(ab.rounded, low.rounded);
        return high.rounded + rounded_to_odd(sum(low.rest, high.rest));
    }
};

}  // namespace attn::simd

#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include <xsimd/xsimd.hpp>

// Included only by the files that are compiled for one instruction set. Everything here is a member
// of a class template on Arch: no two of those files may define the same function, or the linker
// would keep one of them, possibly one that this processor cannot run.
namespace attn::simd {

/// Arithmetic of the kernels beyond +, * and max.
template <class Real, class Arch>
struct VectorMath {
    using Batch = xsimd::batch<Real, Arch>;

    /// a * b + c, rounded once if the processor can. xsimd 8 uses separate operations on AVX-512.
    [[gnu::always_inline]] static inline Batch multiply_add(const Batch& a, const Batch& b,
                                                            const Batch& c) {
#if defined(__AVX512F__)
        if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
            if constexpr (sizeof(Real) == sizeof(float)) return _mm512_fmadd_ps(a, b, c);
            if constexpr (sizeof(Real) == sizeof(double)) return _mm512_fmadd_pd(a, b, c);
        }
#endif
        return xsimd::fma(a, b, c);
    }

    /// a / b, rounded once. xsimd 8 estimates the reciprocal on NEON.
    [[gnu::always_inline]] static inline Batch divide(const Batch& a, const Batch& b) {
#if defined(__aarch64__)
        if constexpr (sizeof(Real) == sizeof(float)) return vdivq_f32(a, b);
#endif
        return a / b;
    }

    /// Computes 2^x for x <= 0, to about half an ulp. Results below the smallest normal number are
    /// exactly 0, including 2^-inf; nan stays nan.
    ///
    ///     x = n + f with n an integer and -1/2 <= f <= 1/2;   2^x = 2^n p(f)
    ///
    /// Each line processes all vectors, to hide the latency of the operations.
    template <std::size_t Count>
    [[gnu::always_inline]] static inline void exp2_below_one(Batch (&x)[Count]) {
        Batch power[Count];
        // Near `magic` floating-point numbers are integers, so that adding it rounds x to n and
        // leaves n + bias in the lowest bits: shifted to the exponent they are 2^n.
        for (Batch& number : x) number = xsimd::max(Batch(-Format::bias), number);
        for (std::size_t i = 0; i < Count; ++i) power[i] = x[i] + Batch(Format::magic);
        for (std::size_t i = 0; i < Count; ++i) x[i] -= power[i] - Batch(Format::magic);
        scale_polynomial(power, x);
    }

    /// Computes e^x for x <= 0, to 1.5 ulp; the limits as in exp2_below_one.
    ///
    ///     x = n ln 2 + r;   e^x = 2^n p(r log2 e)
    ///
    /// ln 2 is subtracted in two parts, so that n times the first one is exact: x log2 e alone
    /// would lose as many digits of r as n has.
    template <std::size_t Count>
    [[gnu::always_inline]] static inline void exp_below_one(Batch (&x)[Count]) {
        Batch power[Count], whole[Count];
        const Batch lowest(-Format::bias * Format::ln2_high);
        for (Batch& number : x) number = xsimd::max(lowest, number);
        for (std::size_t i = 0; i < Count; ++i) {
            power[i] = multiply_add(x[i], Batch(Format::log2_e), Batch(Format::magic));
        }
        for (std::size_t i = 0; i < Count; ++i) whole[i] = power[i] - Batch(Format::magic);
        for (std::size_t i = 0; i < Count; ++i) {
            x[i] = multiply_add(whole[i], Batch(-Format::ln2_high), x[i]);
        }
        for (std::size_t i = 0; i < Count; ++i) {
            x[i] = multiply_add(whole[i], Batch(-Format::ln2_low), x[i]);
        }
        for (std::size_t i = 0; i < Count; ++i) x[i] *= Batch(Format::log2_e);
        scale_polynomial(power, x);
    }

    /// to(column, row) = from(row, column): whole squares in registers, the remainder one by one.
    static void transpose(const Real* from, std::size_t rows, std::size_t columns,
                          std::size_t from_stride, Real* to, std::size_t to_stride) {
        const std::size_t whole_rows = rows - rows % lanes;
        const std::size_t whole_columns = columns - columns % lanes;
        for (std::size_t r = 0; r < whole_rows; r += lanes) {
            for (std::size_t c = 0; c < whole_columns; c += lanes) {
                transpose_square(from + r * from_stride + c, from_stride, to + c * to_stride + r,
                                 to_stride);
            }
        }
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
                to[c * to_stride + r] = from[r * from_stride + c];
            }
        }
    }

private:
    static constexpr std::size_t lanes = Batch::size;

    /// Computes 2^n p(x) in place of x; the lowest bits of `power` are n + bias.
    template <std::size_t Count>
    [[gnu::always_inline]] static inline void scale_polynomial(Batch (&power)[Count],
                                                               Batch (&x)[Count]) {
        using Integers = xsimd::batch<typename Format::Integer, Arch>;
        Batch polynomial[Count];
        for (Batch& number : power) {
            number = xsimd::bitwise_cast<Batch>(xsimd::bitwise_cast<Integers>(number)
                                                << Format::mantissa_bits);
        }
        for (Batch& number : polynomial) number = Batch(Format::coefficients[Format::degree]);
        for (int term = Format::degree - 1; term >= 0; --term) {
            for (std::size_t i = 0; i < Count; ++i) {
                polynomial[i] =
                    multiply_add(polynomial[i], x[i], Batch(Format::coefficients[term]));
            }
        }
        for (std::size_t i = 0; i < Count; ++i) x[i] = polynomial[i] * power[i];
    }

    /// Interleaving the upper half of the rows with the lower half moves the highest bit of the row
    /// number to the end of the column number, and the highest bit of the column number to the end
    /// of the row number. Doing so once per bit exchanges the two numbers.
    [[gnu::always_inline]] static inline void transpose_square(const Real* from,
                                                               std::size_t from_stride, Real* to,
                                                               std::size_t to_stride) {
        constexpr auto numbers = std::make_index_sequence<lanes>();
        Batch square[lanes], next[lanes];
        for (std::size_t i = 0; i < lanes; ++i)
            square[i] = Batch::load_unaligned(from + i * from_stride);
        for (std::size_t bit = 1; bit < lanes; bit *= 2) {
            for (std::size_t i = 0; i < lanes / 2; ++i) {
                next[2 * i] = interleave<0>(square[i], square[i + lanes / 2], numbers);
                next[2 * i + 1] = interleave<lanes / 2>(square[i], square[i + lanes / 2], numbers);
            }
            for (std::size_t i = 0; i < lanes; ++i) square[i] = next[i];
        }
        for (std::size_t i = 0; i < lanes; ++i) square[i].store_unaligned(to + i * to_stride);
    }

    /// Returns a0 b0 a1 b1 ..., from lane `first` on. xsimd 8 interleaves only within 128 bits.
    template <std::size_t first, std::size_t... lane>
    [[gnu::always_inline]] static inline Batch interleave(const Batch& a, const Batch& b,
                                                          std::index_sequence<lane...>) {
        return Batch(
            __builtin_shufflevector(a.data, b.data, (first + lane / 2 + lane % 2 * lanes)...));
    }

    // The polynomials minimise the largest relative error among those with p(0) = 1: 2.6e-9 for
    // float, 1.8e-17 for double (by Remez exchange with 50 digits).
    struct Float32 {
        using Integer = std::int32_t;
        static constexpr int mantissa_bits = 23;
        static constexpr float bias = 127;
        static constexpr float magic = 0x1.8p23F + bias;
        static constexpr float log2_e = 1.44269504F;
        static constexpr float ln2_high = 0x1.63p-1F;
        static constexpr float ln2_low = -0x1.bd0106p-13F;
        static constexpr int degree = 6;
        static constexpr float coefficients[] = {1.0F,          0.69314721F,   0.24022653F,  //
                                                 0.0555031055F, 0.0096176930F, 0.0013406644F,
                                                 0.00015594679F};
    };
    struct Float64 {
        using Integer = std::int64_t;
        static constexpr int mantissa_bits = 52;
        static constexpr double bias = 1023;
        static constexpr double magic = 0x1.8p52 + bias;
        static constexpr double log2_e = 1.442695040888963407;
        static constexpr double ln2_high = 0x1.62e42fee0p-1;
        static constexpr double ln2_low = 0x1.a39ef35793c76p-33;
        static constexpr int degree = 11;
        static constexpr double coefficients[] = {1.0,
                                                  0.69314718055994569675,
                                                  0.24022650695910098007,
                                                  0.055504108664790394552,
                                                  0.0096181291076070023796,
                                                  0.0013333558153439964747,
                                                  0.0001540353044157213033,
                                                  0.000015252727385193868197,
                                                  1.3215442675329822143e-6,
                                                  1.0180647659234138888e-7,
                                                  7.0725704128144235096e-9,
                                                  4.078071929588336665e-10};
    };
    using Format = std::conditional_t<sizeof(Real) == sizeof(float), Float32, Float64>;
};

}  // namespace attn::simd

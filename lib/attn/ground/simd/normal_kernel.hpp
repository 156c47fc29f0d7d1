#pragma once
#include <cstddef>
#include <cstdint>

// Included only by the files that are compiled for one instruction set: see vector_math.hpp.
namespace attn::simd {

/// Computes blocks of sixteen normals with the results of PyTorch's AVX2 build (see
/// attn/ground/random/torch_generator.cpp): single-precision logarithm, sine and cosine with the
/// coefficients of the Cephes library. Products and sums other than explicit fma are rounded
/// separately. Uses small plain loops over half a block, which the compiler may vectorize; the
/// digits do not depend on that.
template <class Arch>
class NormalKernel {
    static constexpr std::size_t half = 8;

public:
    static void transform(float* values, std::size_t count) {
        constexpr float two_pi = 6.28318530717958647692F;
        for (float* block = values; block != values + count; block += 2 * half) {
            float radius[half];
            for (std::size_t j = 0; j < half; ++j) radius[j] = -2.0F * log(1.0F - block[j]);
            for (std::size_t j = 0; j < half; ++j) radius[j] = __builtin_sqrtf(radius[j]);
            for (std::size_t j = 0; j < half; ++j) {
                const SineCosine at = sine_cosine(two_pi * block[j + half]);
                block[j] = radius[j] * at.cosine + 0.0F;  // adding the mean turns -0 into 0
                block[j + half] = radius[j] * at.sine + 0.0F;
            }
        }
    }

private:
    struct SineCosine {
        float sine;
        float cosine;
    };

    /// Computes the natural logarithm.
    ///
    /// Range   x in [2^-126, 1].
    /// Source  Cephes `logf`.
    [[gnu::always_inline]] static inline float log(float x) {
        // Split x = mantissa * 2^exponent, with the mantissa between sqrt(1/2) and sqrt(2), and
        // subtract 1 from it.
        const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
        const float fraction = __builtin_bit_cast(float, (bits & 0x007FFFFFU) | 0x3F000000U);
        const bool low = fraction < 0.70710678118654752F;
        const float exponent =
            static_cast<float>(static_cast<std::int32_t>(bits >> 23) - 126) - (low ? 1.0F : 0.0F);
        const float mantissa = (fraction - 1.0F) + (low ? fraction : 0.0F);
        // Evaluate the polynomial in the mantissa.
        const float square = mantissa * mantissa;
        float y = 7.0376836292e-2F;
        y = __builtin_fmaf(y, mantissa, -1.1514610310e-1F);
        y = __builtin_fmaf(y, mantissa, 1.1676998740e-1F);
        y = __builtin_fmaf(y, mantissa, -1.2420140846e-1F);
        y = __builtin_fmaf(y, mantissa, 1.4249322787e-1F);
        y = __builtin_fmaf(y, mantissa, -1.6668057665e-1F);
        y = __builtin_fmaf(y, mantissa, 2.0000714765e-1F);
        y = __builtin_fmaf(y, mantissa, -2.4999993993e-1F);
        y = __builtin_fmaf(y, mantissa, 3.3333331174e-1F);
        y = y * mantissa;
        // Add exponent * ln 2, split in two so that the larger part is exact.
        y = __builtin_fmaf(y, square, exponent * -2.12194440e-4F);
        y = __builtin_fmaf(-square, 0.5F, y);
        return __builtin_fmaf(exponent, 0.693359375F, mantissa + y);
    }

    /// Computes sine and cosine together.
    ///
    /// Range   x in [0, 8192].
    /// Source  Cephes `sinf`, `cosf`.
    [[gnu::always_inline]] static inline SineCosine sine_cosine(float x) {
        // Subtract the nearest even number of octants, in three parts to keep precision.
        const std::int32_t octant = (static_cast<std::int32_t>(x * 1.27323954473516F) + 1) & ~1;
        const float octants = static_cast<float>(octant);
        x = __builtin_fmaf(octants, -0.78515625F, x);
        x = __builtin_fmaf(octants, -2.4187564849853515625e-4F, x);
        x = __builtin_fmaf(octants, -3.77489497744594108e-8F, x);
        const float square = x * x;
        // Evaluate both polynomials, on [-pi/4, pi/4].
        float cosine = __builtin_fmaf(2.443315711809948e-5F, square, -1.388731625493765e-3F);
        cosine = __builtin_fmaf(cosine, square, 4.166664568298827e-2F);
        cosine = cosine * square;
        cosine = __builtin_fmaf(cosine, square, -(square * 0.5F));
        cosine = cosine + 1.0F;
        float sine = __builtin_fmaf(-1.9515295891e-4F, square, 8.3321608736e-3F);
        sine = __builtin_fmaf(sine, square, -1.6666654611e-1F);
        sine = sine * square;
        sine = __builtin_fmaf(sine, x, x);
        // Exchange them in every other quadrant, and set the signs.
        const bool swapped = (octant & 2) != 0;
        const float sine_part = swapped ? cosine : sine;
        const float cosine_part = swapped ? sine : cosine;
        return {.sine = (octant & 4) != 0 ? -sine_part : sine_part,
                .cosine = ((octant - 2) & 4) == 0 ? -cosine_part : cosine_part};
    }
};

}  // namespace attn::simd

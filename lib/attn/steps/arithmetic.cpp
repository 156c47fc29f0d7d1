#include "attn/steps/arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "attn/simd/with_avx2.hpp"

namespace attn {
namespace {

using loop::Vectors;

/// So many vectors of the second factor are laid side by side, number by number: each of their sums
/// is a chain in which an addition waits for the one before, but the chains do not wait for each
/// other. The compiler makes SIMD instructions of them, which does not change a digit.
constexpr std::size_t width = 32;

/// Lays `width` vectors from `first` on side by side; those that are missing become zeros.
template <class T>
void lay_side_by_side(const Vectors<T>& vectors, std::size_t first, T* strip) {
    const std::size_t here = std::min(width, vectors.how_many - first);
    for (std::size_t i = 0; i < vectors.count; ++i, strip += width) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < here; ++v) strip[v] = vectors.at(first + v, i);
        std::fill(strip + here, strip + width, T(0));
    }
}

template <bool fused, class T>
[[gnu::always_inline]] inline T add_product(T sum, T x, T y) {
    return fused ? std::fma(x, y, sum) : sum + x * y;
}

/// sums[v] += x * strip[v]
template <bool fused, class T>
[[gnu::always_inline]] inline void add_products(T* sums, T x, const T* strip) {
    for (std::size_t v = 0; v < width; ++v) sums[v] = add_product<fused>(sums[v], x, strip[v]);
}

/// The dot products of vector number `row` of `a` with the vectors of a strip.
template <bool fused, class T>
[[gnu::always_inline]] inline void dots_of_one(const Vectors<T>& a, std::size_t row, const T* strip,
                                               bool one_chain, T* sums) {
    T even[width] = {};
    T odd[width] = {};
    std::size_t i = 0;
    for (; one_chain && i < a.count; ++i) {
        add_products<fused>(even, a.at(row, i), strip + i * width);
    }
    for (; i + 1 < a.count; i += 2) {
        add_products<fused>(even, a.at(row, i), strip + i * width);
        add_products<fused>(odd, a.at(row, i + 1), strip + (i + 1) * width);
    }
    for (std::size_t v = 0; v < width; ++v) sums[v] = one_chain ? even[v] : even[v] + odd[v];
    if (i < a.count) add_products<fused>(sums, a.at(row, i), strip + i * width);
}

template <bool fused, class T>
[[gnu::always_inline]] inline void all_dots(const Vectors<T>& a, const Vectors<T>& b,
                                            bool one_chain, T* results) {
    const auto strip = std::make_unique_for_overwrite<T[]>(b.count * width);
    T sums[width];
    for (std::size_t first = 0; first < b.how_many; first += width) {
        lay_side_by_side(b, first, strip.get());
        const std::size_t here = std::min(width, b.how_many - first);
        for (std::size_t row = 0; row < a.how_many; ++row) {
            dots_of_one<fused>(a, row, strip.get(), one_chain, sums);
            std::copy_n(sums, here, results + row * b.how_many + first);
        }
    }
}

}  // namespace

template <class T>
void loop::dots(const Vectors<T>& a, const Vectors<T>& b, const Arithmetic& arithmetic,
                T* results) {
    const bool one_chain = arithmetic.one_chain;
    if (!arithmetic.fused) return all_dots<false>(a, b, one_chain, results);
    with_avx2([&]() __attribute__((always_inline)) { all_dots<true>(a, b, one_chain, results); });
}

template void loop::dots(const Vectors<float>&, const Vectors<float>&, const Arithmetic&, float*);
template void loop::dots(const Vectors<double>&, const Vectors<double>&, const Arithmetic&,
                         double*);

}  // namespace attn

#include "attn/steps/arithmetic.hpp"

#include <cmath>

namespace attn {
namespace {

/// The factors of a row of dot products, as loop::dots() takes them.
template <class T>
struct Factors {
    const T* a;
    const T* b;
    std::size_t b_stride, b_distance, count;
};

template <bool fused, class T>
[[gnu::always_inline]] inline T add_product(T sum, T x, T y) {
    return fused ? std::fma(x, y, sum) : sum + x * y;
}

/// `Width` dot products, from output `first` on: while one sum waits for its last product, the
/// others go on.
template <bool fused, std::size_t Width, class T>
[[gnu::always_inline]] inline void some_dots(const Factors<T>& factors, std::size_t first,
                                             bool one_chain, T* results) {
    const T* const a = factors.a;
    const T* const b = factors.b + first * factors.b_distance;
    const auto cell = [&](std::size_t i, std::size_t output) {
        return b[i * factors.b_stride + output * factors.b_distance];
    };
    T even[Width] = {};
    T odd[Width] = {};
    std::size_t i = 0;
    for (; one_chain && i < factors.count; ++i) {
#pragma GCC unroll 4
        for (std::size_t o = 0; o < Width; ++o) {
            even[o] = add_product<fused>(even[o], a[i], cell(i, o));
        }
    }
    for (; i + 1 < factors.count; i += 2) {
#pragma GCC unroll 4
        for (std::size_t o = 0; o < Width; ++o) {
            even[o] = add_product<fused>(even[o], a[i], cell(i, o));
            odd[o] = add_product<fused>(odd[o], a[i + 1], cell(i + 1, o));
        }
    }
#pragma GCC unroll 4
    for (std::size_t o = 0; o < Width; ++o) {
        const T sum = one_chain ? even[o] : even[o] + odd[o];
        const bool last = i < factors.count;
        results[first + o] = last ? add_product<fused>(sum, a[i], cell(i, o)) : sum;
    }
}

template <bool fused, class T>
[[gnu::always_inline]] inline void all_dots(const Factors<T>& factors, std::size_t outputs,
                                            bool one_chain, T* results) {
    std::size_t first = 0;
    for (; first + 4 <= outputs; first += 4)
        some_dots<fused, 4>(factors, first, one_chain, results);
    for (; first < outputs; ++first) some_dots<fused, 1>(factors, first, one_chain, results);
}

#if defined(__x86_64__)
// The same numbers: here std::fma is one instruction, and a call of the C library elsewhere.
template <class T>
[[gnu::target("fma")]] void dots_by_instruction(const Factors<T>& factors, std::size_t outputs,
                                                bool one_chain, T* results) {
    all_dots<true>(factors, outputs, one_chain, results);
}
#endif

}  // namespace

template <class T>
void loop::dots(const T* a, const T* b, std::size_t b_stride, std::size_t b_distance,
                std::size_t count, std::size_t outputs, const Arithmetic& arithmetic, T* results) {
    const Factors<T> factors{a, b, b_stride, b_distance, count};
    const bool one_chain = arithmetic.one_chain;
    if (!arithmetic.fused) return all_dots<false>(factors, outputs, one_chain, results);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) {
        return dots_by_instruction(factors, outputs, one_chain, results);
    }
#endif
    all_dots<true>(factors, outputs, one_chain, results);
}

template void loop::dots(const float*, const float*, std::size_t, std::size_t, std::size_t,
                         std::size_t, const Arithmetic&, float*);
template void loop::dots(const double*, const double*, std::size_t, std::size_t, std::size_t,
                         std::size_t, const Arithmetic&, double*);

}  // namespace attn

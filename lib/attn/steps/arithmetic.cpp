#include "attn/steps/arithmetic.hpp"

#include <cmath>

namespace attn {
namespace {

template <bool fused, class T>
[[gnu::always_inline]] inline T add_product(T sum, T x, T y) {
    return fused ? std::fma(x, y, sum) : sum + x * y;
}

template <bool fused, class T>
[[gnu::always_inline]] inline T sum_of_products(const T* a, std::size_t a_stride, const T* b,
                                                std::size_t b_stride, std::size_t count,
                                                bool one_chain) {
    T even = 0;
    T odd = 0;
    if (one_chain) {
        for (; count > 0; --count, a += a_stride, b += b_stride) {
            even = add_product<fused>(even, *a, *b);
        }
        return even;
    }
    for (; count > 1; count -= 2, a += 2 * a_stride, b += 2 * b_stride) {
        even = add_product<fused>(even, *a, *b);
        odd = add_product<fused>(odd, a[a_stride], b[b_stride]);
    }
    const T sum = even + odd;
    return count == 1 ? add_product<fused>(sum, *a, *b) : sum;
}

#if defined(__x86_64__)
// The same numbers: here std::fma is one instruction, and a call of the C library elsewhere.
template <class T>
[[gnu::target("fma")]] T sum_by_instruction(const T* a, std::size_t a_stride, const T* b,
                                            std::size_t b_stride, std::size_t count,
                                            bool one_chain) {
    return sum_of_products<true>(a, a_stride, b, b_stride, count, one_chain);
}
#endif

}  // namespace

template <class T>
T loop::dot(const T* a, std::size_t a_stride, const T* b, std::size_t b_stride, std::size_t count,
            const Arithmetic& arithmetic) {
    const bool one_chain = arithmetic.one_chain;
    if (!arithmetic.fused) {
        return sum_of_products<false>(a, a_stride, b, b_stride, count, one_chain);
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) {
        return sum_by_instruction(a, a_stride, b, b_stride, count, one_chain);
    }
#endif
    return sum_of_products<true>(a, a_stride, b, b_stride, count, one_chain);
}

template float loop::dot(const float*, std::size_t, const float*, std::size_t, std::size_t,
                         const Arithmetic&);
template double loop::dot(const double*, std::size_t, const double*, std::size_t, std::size_t,
                          const Arithmetic&);

}  // namespace attn

#include "attn/steps/arithmetic.hpp"

#include <cmath>

namespace attn {
namespace {

template <class T>
[[gnu::always_inline]] inline T sum_of_products(const T* a, std::size_t a_stride, const T* b,
                                                std::size_t b_stride, std::size_t count,
                                                const Arithmetic& arithmetic) {
    const auto add_product = [&](T sum, std::size_t i) __attribute__((always_inline)) {
        const T x = a[i * a_stride];
        const T y = b[i * b_stride];
        return arithmetic.fused ? std::fma(x, y, sum) : sum + x * y;
    };
    T even = 0;
    T odd = 0;
    if (arithmetic.one_chain) {
        for (std::size_t i = 0; i < count; ++i) even = add_product(even, i);
        return even;
    }
    for (std::size_t i = 0; i + 1 < count; i += 2) {
        even = add_product(even, i);
        odd = add_product(odd, i + 1);
    }
    const T sum = even + odd;
    return count % 2 == 1 ? add_product(sum, count - 1) : sum;
}

#if defined(__x86_64__)
// The same numbers: std::fma is one instruction here, and a call of the C library elsewhere.
template <class T>
[[gnu::target("fma")]] T sum_by_instruction(const T* a, std::size_t a_stride, const T* b,
                                            std::size_t b_stride, std::size_t count,
                                            const Arithmetic& arithmetic) {
    return sum_of_products(a, a_stride, b, b_stride, count, arithmetic);
}
#endif

}  // namespace

template <class T>
T loop::dot(const T* a, std::size_t a_stride, const T* b, std::size_t b_stride, std::size_t count,
            const Arithmetic& arithmetic) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) {
        return sum_by_instruction(a, a_stride, b, b_stride, count, arithmetic);
    }
#endif
    return sum_of_products(a, a_stride, b, b_stride, count, arithmetic);
}

template float loop::dot(const float*, std::size_t, const float*, std::size_t, std::size_t,
                         const Arithmetic&);
template double loop::dot(const double*, std::size_t, const double*, std::size_t, std::size_t,
                          const Arithmetic&);

}  // namespace attn

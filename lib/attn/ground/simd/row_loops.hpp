#pragma once
#include "attn/ground/simd/kernels.hpp"

namespace attn {

/// The row operations that are plain loops, compiled separately for each instruction set.
template <class Real, class Set>
struct PlainLoops {
    static void multiply(const Real* row, Real number, Real* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = row[i] * number;
    }
    static void divide(const Real* row, Real number, Real* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = row[i] / number;
    }
    static void multiply_add(const Real* row, Real factor, Real addend, Real* result,
                             std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = fused(row[i], factor, addend);
    }
    static void add_multiple(const Real* row, Real factor, Real* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] += row[i] * factor;
    }
    static void add_exact_multiple(const Real* row, Real factor, Real* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = fused(row[i], factor, result[i]);
    }
    static void where(const bool* hidden, Real number, const Real* row, Real* result,
                      std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = hidden[i] ? number : row[i];
    }

    [[gnu::always_inline]] static inline Real fused(Real a, Real b, Real c) {
        if constexpr (sizeof(Real) == sizeof(float)) return __builtin_fmaf(a, b, c);
        return static_cast<Real>(__builtin_fma(a, b, c));
    }
};

/// Returns the table of a class that has all operations.
template <class Real, class Rows>
constexpr RowOperations<Real> row_table() {
    return {&Rows::multiply,
            &Rows::divide,
            &Rows::multiply_add,
            &Rows::add_multiple,
            &Rows::add_exact_multiple,
            &Rows::tanh,
            &Rows::normalize,
            &Rows::where,
            &Rows::maximum,
            &Rows::exponentials,
            &Rows::sum};
}

}  // namespace attn

#include "attn/simd/rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attn/simd/kernels.hpp"

namespace attn {
namespace {

/// The operations as the C library and the order of the sums define them.
template <class Real>
struct PlainRows {
    static void multiply(const Real* row, Real number, Real* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = row[i] * number;
    }

    static void divide(const Real* row, Real number, Real* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = row[i] / number;
    }

    static void hide(const Real* row, const bool* hidden, Real* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            result[i] = hidden[i] ? -std::numeric_limits<Real>::infinity() : row[i];
        }
    }

    static bool finite(const Real* row, std::size_t count) {
        return std::all_of(row, row + count, [](Real number) { return std::isfinite(number); });
    }

    static Real maximum(const Real* row, std::size_t count) {
        Real largest = -std::numeric_limits<Real>::infinity();
        for (std::size_t i = 0; i < count; ++i) {
            if (row[i] > largest || std::isnan(row[i])) largest = row[i];
        }
        return largest;
    }

    static Real exponentials(const Real* row, Real maximum, Real* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = std::exp(row[i] - maximum);
        return sum(result, count);
    }

    static Real sum(const Real* row, std::size_t count) {
        // Sixteen sums side by side; what is left of the row goes to the first.
        constexpr std::size_t lanes = 16;
        std::array<Real, lanes> sums{};
        const std::size_t whole = count - count % lanes;
        for (std::size_t i = 0; i < whole; ++i) sums[i % lanes] += row[i];
        for (std::size_t i = whole; i < count; ++i) sums[0] += row[i];
        Real all = 0;
        for (const Real sum : sums) all += sum;
        return all;
    }
};

template <class Real>
constexpr RowOperations<Real> plain_rows{&PlainRows<Real>::multiply,     &PlainRows<Real>::divide,
                                         &PlainRows<Real>::divide,       &PlainRows<Real>::hide,
                                         &PlainRows<Real>::finite,       &PlainRows<Real>::maximum,
                                         &PlainRows<Real>::exponentials, &PlainRows<Real>::sum};

}  // namespace

template <class Real>
RowOperations<Real> vector_row_operations(FusedArchitecture architecture) {
    const auto kernels = simd::kernels_for<Real>(architecture);
    return kernels ? kernels->rows : plain_rows<Real>;
}

template <class Real>
const RowOperations<Real>& row_operations(std::size_t length) {
    if (length < vector_row_length) return plain_rows<Real>;
    static const RowOperations<Real> in_vectors = vector_row_operations<Real>();
    return in_vectors;
}

template RowOperations<float> vector_row_operations(FusedArchitecture);
template RowOperations<double> vector_row_operations(FusedArchitecture);
template const RowOperations<float>& row_operations(std::size_t);
template const RowOperations<double>& row_operations(std::size_t);

}  // namespace attn

#pragma once
#include <cstddef>

#include "attn/simd/architecture.hpp"

namespace attn {

/// The second factor of a matrix product, packed once for first factors that come some rows at a
/// time: BLAS would pack it anew for each of them. See simd::PanelKernel for the layout.
///
/// Shapes  (steps, columns) as a matrix.
template <class Real>
struct Panels {
    const Real* numbers;  ///< aligned to 64 bytes
    std::size_t steps, columns;
};

/// Products with such a factor.
template <class Real>
struct PanelOperations {
    /// How many numbers the packed factor takes.
    std::size_t (*size)(std::size_t steps, std::size_t columns);
    /// Packs a matrix (steps, columns), or (columns, steps) when it is stored transposed.
    void (*pack)(const Real* matrix, std::size_t steps, std::size_t columns, bool transposed,
                 Real* panels);
    /// The product of `count` rows of `steps` numbers, `row_stride` apart, with the first `steps`
    /// rows and `columns` columns of the factor.
    ///
    /// Range  Sums of up to 192 products are added one by one; longer ones are sums of such sums.
    void (*multiply)(const Real* rows, std::size_t row_stride, std::size_t count,
                     const Panels<Real>& panels, std::size_t steps, std::size_t columns,
                     Real* result, std::size_t result_stride);
};

/// The operations on the widest vectors of this processor; null where none are written for it.
template <class Real>
const PanelOperations<Real>* panel_operations();

}  // namespace attn

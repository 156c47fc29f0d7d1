#include "attn/simd/products.hpp"

#include <algorithm>

#include "attn/simd/kernels.hpp"

namespace attn {
namespace {

/// Fewer rows than this do not repay packing a factor; BLAS multiplies them.
constexpr std::size_t fewest_rows_to_pack = 16;

}  // namespace

template <class T>
void PackedProducts::multiply(MatrixView<const T> a, MatrixView<const T> b, Second second,
                              MatrixView<T> result) {
    const bool transposed = second == Second::transposed;
    const std::size_t keys = b.rows;  // both factors of attention have a row for each key
    if (rows_ < fewest_rows_to_pack || keys < vector_row_length) {
        multiply_rows(a.numbers, a.row_stride, b.numbers, result.numbers, result.row_stride,
                      result.rows, a.columns, result.columns, second);
        return;
    }
    const PanelOperations<T>& panels = panel_operations<T>();
    const std::size_t steps = transposed ? b.columns : b.rows;
    const std::size_t columns = transposed ? b.rows : b.columns;
    Packed& packed = packed_[transposed ? 0 : 1];
    T* const numbers = packed.memory.template reserve<T>(panels.size(steps, columns));
    if (packed.matrix != b.numbers) {
        panels.pack(b.numbers, steps, columns, transposed, numbers);
        packed.matrix = b.numbers;
    }
    panels.multiply(a.numbers, a.row_stride, result.rows, {numbers, steps, columns}, a.columns,
                    result.columns, result.numbers, result.row_stride);
}

template <class T>
void multiply(MatrixView<const T> a, MatrixView<const T> b, Second second, MatrixView<T> result,
              PackedProducts* packed) {
    PackedProducts own(result.rows);
    if (result.rows == 0 || result.columns == 0) return;
    for (std::size_t g = 0; g < result.groups; ++g) {
        (packed ? *packed : own)
            .multiply(a.block(g, 0, a.rows), b.block(g, 0, b.rows), second,
                      result.block(g, 0, result.rows));
    }
}

template void multiply(MatrixView<const float>, MatrixView<const float>, Second, MatrixView<float>,
                       PackedProducts*);
template void multiply(MatrixView<const double>, MatrixView<const double>, Second, MatrixView<double>,
                       PackedProducts*);

}  // namespace attn

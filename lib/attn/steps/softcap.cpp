#include "attn/steps/softcap.hpp"

#include <cmath>

#include "attn/simd/kernels.hpp"
#include "attn/steps/twins.hpp"

namespace attn {

template <class T>
void loop::soft_cap(MatrixView<const T> scores, double cap, MatrixView<T> result) {
    const T bound = static_cast<T>(cap);

    // Divide every score by the cap, take tanh, multiply by the cap.
    for (std::size_t g = 0; g < result.groups; ++g) {
        for (std::size_t q = 0; q < result.rows; ++q) {
            for (std::size_t k = 0; k < result.columns; ++k) {
                result(g, q, k) = bound * std::tanh(scores(g, q, k) / bound);
            }
        }
    }
}

template <class T>
void vectorized::soft_cap(MatrixView<const T> scores, double cap, MatrixView<T> result) {
    const RowOperations<T>& rows = row_operations<T>(result.columns);
    for (std::size_t g = 0; g < result.groups; ++g) {
        for (std::size_t q = 0; q < result.rows; ++q) {
            rows.soft_cap(scores.row(g, q), static_cast<T>(cap), result.row(g, q), result.columns);
        }
    }
}

#define ATTN_INSTANTIATE(variant, T)                                             \
    template void variant::soft_cap(MatrixView<const T>, double, MatrixView<T>); \
    template <>                                                                  \
    Array<T> variant::soft_cap(const Array<T>& scores, double cap) {             \
        Array<T> result = empty_array<T>(scores.shape());                        \
        soft_cap<T>(rows_of(scores), cap, rows_of(result));                      \
        return result;                                                           \
    }
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

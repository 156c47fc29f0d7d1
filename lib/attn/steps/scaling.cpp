#include "attn/steps/scaling.hpp"

#include <cmath>

#include "attn/simd/kernels.hpp"
#include "attn/steps/twins.hpp"

namespace attn {

template <class T>
void loop::scale(MatrixView<const T> scores, const ScaleFactor& factor, MatrixView<T> result) {
    const T number = static_cast<T>(factor.number);
    const bool divide = factor.operation == ScaleFactor::Operation::divide;

    // Divide (or multiply) every score by the same number.
    for (std::size_t g = 0; g < result.groups; ++g) {
        for (std::size_t q = 0; q < result.rows; ++q) {
            for (std::size_t k = 0; k < result.columns; ++k) {
                const T score = scores(g, q, k);
                result(g, q, k) = divide ? score / number : score * number;
            }
        }
    }
}

template <class T>
void vectorized::scale(MatrixView<const T> scores, const ScaleFactor& factor,
                       MatrixView<T> result) {
    const RowOperations<T>& rows = row_operations<T>(result.columns);
    auto operation =
        factor.operation == ScaleFactor::Operation::divide ? rows.divide : rows.multiply;
    T number = static_cast<T>(factor.number);
    // Dividing by a power of two is multiplying by another, to the bit, and faster.
    int exponent = 0;
    if (operation == rows.divide && std::frexp(number, &exponent) == T(0.5) &&
        std::abs(exponent) < 100) {
        operation = rows.multiply;
        number = T(1) / number;
    }
    for (std::size_t g = 0; g < result.groups; ++g) {
        for (std::size_t q = 0; q < result.rows; ++q) {
            operation(scores.row(g, q), number, result.row(g, q), result.columns);
        }
    }
}

#define ATTN_INSTANTIATE(variant, T)                                                      \
    template void variant::scale(MatrixView<const T>, const ScaleFactor&, MatrixView<T>); \
    template <>                                                                           \
    Array<T> variant::scale(const Array<T>& scores, const ScaleFactor& factor) {          \
        Array<T> result = empty_array<T>(scores.shape());                                 \
        scale<T>(rows_of(scores), factor, rows_of(result));                               \
        return result;                                                                    \
    }
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

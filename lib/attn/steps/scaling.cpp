#include "attn/steps/scaling.hpp"

#include <cmath>

namespace attn {

template <class T>
Array<T> loop::scale(const Array<T>& scores, const ScaleFactor& factor) {
    Array<T> result = empty_array<T>(shape_of(scores));
    const T number = static_cast<T>(factor.number);
    const bool divide = factor.operation == ScaleFactor::Operation::divide;

    // Divide (or multiply) every score by the same number.
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const T score = scores.data()[i];
        result.data()[i] = divide ? score / number : score * number;
    }
    return result;
}

template <class T>
void vectorized::scale_row(const RowOperations<T>& rows, const T* scores, const ScaleFactor& factor,
                           T* result, std::size_t count) {
    const T number = static_cast<T>(factor.number);
    if (factor.operation == ScaleFactor::Operation::multiply) {
        return rows.multiply(scores, number, result, count);
    }
    // Dividing by a power of two is multiplying by another, to the bit.
    int exponent = 0;
    if (std::frexp(number, &exponent) == T(0.5) && std::abs(exponent) < 100) {
        return rows.multiply(scores, T(1) / number, result, count);
    }
    rows.divide(scores, number, result, count);
}

template <class T>
Array<T> vectorized::scale(const Array<T>& scores, const ScaleFactor& factor) {
    Array<T> result = empty_array<T>(shape_of(scores));
    scale_row(row_operations<T>(scores.size()), scores.data(), factor, result.data(),
              scores.size());
    return result;
}

template Array<float> loop::scale(const Array<float>&, const ScaleFactor&);
template Array<double> loop::scale(const Array<double>&, const ScaleFactor&);
template void vectorized::scale_row(const RowOperations<float>&, const float*, const ScaleFactor&,
                                    float*, std::size_t);
template void vectorized::scale_row(const RowOperations<double>&, const double*, const ScaleFactor&,
                                    double*, std::size_t);
template Array<float> vectorized::scale(const Array<float>&, const ScaleFactor&);
template Array<double> vectorized::scale(const Array<double>&, const ScaleFactor&);

}  // namespace attn

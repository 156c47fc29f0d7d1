#include "attn/core/steps/scaling.hpp"

#include "attn/ground/simd/row.hpp"

namespace attn {

template <class T>
Array<T> loop::scale(Array<T> scores, const ScaleFactor& factor) {
    const T number = static_cast<T>(factor.number);
    const bool divide = factor.operation == ScaleFactor::Operation::divide;

    // Divide (or multiply) every score by the same number.
    for (T& score : scores) score = divide ? score / number : score * number;
    return scores;
}

template <class T>
Array<T> vectorized::scale(Array<T> scores, const ScaleFactor& factor) {
    const T number = static_cast<T>(factor.number);
    const bool divide = factor.operation == ScaleFactor::Operation::divide;
    return by_row(std::move(scores),
                  [&](Row<T> s, std::size_t) { return divide ? s / number : s * number; });
}

template Array<float> loop::scale(Array<float>, const ScaleFactor&);
template Array<double> loop::scale(Array<double>, const ScaleFactor&);
template Array<float> vectorized::scale(Array<float>, const ScaleFactor&);
template Array<double> vectorized::scale(Array<double>, const ScaleFactor&);

}  // namespace attn

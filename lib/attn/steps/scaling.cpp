#include "attn/steps/scaling.hpp"

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
Array<T> vectorized::scale(const Array<T>& scores, const ScaleFactor& factor) {
    const T number = static_cast<T>(factor.number);
    if (factor.operation == ScaleFactor::Operation::divide) return scores / number;
    return scores * number;
}

template Array<float> loop::scale(const Array<float>&, const ScaleFactor&);
template Array<double> loop::scale(const Array<double>&, const ScaleFactor&);
template Array<float> vectorized::scale(const Array<float>&, const ScaleFactor&);
template Array<double> vectorized::scale(const Array<double>&, const ScaleFactor&);

}  // namespace attn

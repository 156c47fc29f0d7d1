#include "attn/core/steps/softcap.hpp"

#include <cmath>

#include "attn/ground/simd/row.hpp"

namespace attn {

template <class T>
Array<T> loop::soft_cap(Array<T> scores, double cap) {
    const T bound = static_cast<T>(cap);

    // Divide each score by the cap, take tanh, multiply by the cap.
    for (T& score : scores) score = bound * std::tanh(score / bound);
    return scores;
}

template <class T>
Array<T> vectorized::soft_cap(Array<T> scores, double cap) {
    const T bound = static_cast<T>(cap);
    return by_row(std::move(scores),
                  [&](Row<T> s, std::size_t) { return bound * tanh(s / bound); });
}

template Array<float> loop::soft_cap(Array<float>, double);
template Array<double> loop::soft_cap(Array<double>, double);
template Array<float> vectorized::soft_cap(Array<float>, double);
template Array<double> vectorized::soft_cap(Array<double>, double);

}  // namespace attn

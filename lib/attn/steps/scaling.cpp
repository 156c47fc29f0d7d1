#include "attn/steps/scaling.hpp"

#include "attn/steps/rows.hpp"
#include "attn/steps/twins.hpp"

namespace attn {

template <class T>
Array<T> loop::scale(const Array<T>& scores, const ScaleFactor& factor) {
    const T number = static_cast<T>(factor.number);
    const bool divide = factor.operation == ScaleFactor::Operation::divide;
    Array<T> result = empty_array<T>(scores.shape());

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
    const std::size_t columns = rows_of(scores).columns;
    return with_each_row(scores, [&](std::size_t, const auto& rows, const T* from, T* to) {
        factor.operation == ScaleFactor::Operation::divide
            ? rows.divide(from, number, to, columns)
            : rows.multiply(from, number, to, columns);
    });
}

#define ATTN_INSTANTIATE(variant, T) \
    template Array<T> variant::scale(const Array<T>&, const ScaleFactor&);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

#include "attn/steps/softcap.hpp"

#include <cmath>

#include "attn/steps/rows.hpp"
#include "attn/steps/twins.hpp"

namespace attn {

template <class T>
Array<T> loop::soft_cap(const Array<T>& scores, double cap) {
    const T bound = static_cast<T>(cap);
    Array<T> result = empty_array<T>(scores.shape());

    // Divide every score by the cap, take tanh, multiply by the cap.
    for (std::size_t i = 0; i < scores.size(); ++i) {
        result.data()[i] = bound * std::tanh(scores.data()[i] / bound);
    }
    return result;
}

template <class T>
Array<T> vectorized::soft_cap(const Array<T>& scores, double cap) {
    const std::size_t columns = rows_of(scores).columns;
    return with_each_row(scores, [&](std::size_t, const auto& rows, const T* from, T* to) {
        rows.soft_cap(from, static_cast<T>(cap), to, columns);
    });
}

#define ATTN_INSTANTIATE(variant, T) template Array<T> variant::soft_cap(const Array<T>&, double);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

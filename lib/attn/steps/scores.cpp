#include "attn/steps/scores.hpp"

#include "attn/steps/twins.hpp"
#include "attn/tensor/error.hpp"

namespace attn {

template <class T>
void loop::scores(MatrixView<const T> query, MatrixView<const T> key, MatrixView<T> scores,
                  const Arithmetic& arithmetic) {
    // Multiply each query with each key of the same head, feature by feature, and add up.
    for (std::size_t g = 0; g < scores.groups; ++g) {
        for (std::size_t q = 0; q < scores.rows; ++q) {
            for (std::size_t k = 0; k < scores.columns; ++k) {
                Dot<T> dot(arithmetic);
                for (std::size_t f = 0; f < query.columns; ++f) {
                    dot.add(query(g, q, f), key(g, k, f));
                }
                scores(g, q, k) = dot.sum();
            }
        }
    }
}

template <class T>
void vectorized::scores(MatrixView<const T> query, MatrixView<const T> key, MatrixView<T> scores,
                        const Arithmetic& arithmetic) {
    multiply(query, key, Second::transposed, scores, arithmetic.products);
}

namespace {

/// The scores before they are computed.
template <class T>
Array<T> room_for_scores(const Array<T>& query, const Array<T>& key) {
    const Shape& asks = query.shape();
    const Shape& offers = key.shape();
    const bool fits = asks.size() == offers.size() && asks.size() >= 2 &&
                      std::equal(asks.begin(), asks.end() - 2, offers.begin()) &&
                      asks.back() == offers.back();
    if (!fits) {
        throw ShapeError("query " + shape_text(asks) + " and key " + shape_text(offers) +
                         " need the same leading axes and the same number of features");
    }
    Shape shape = asks;
    shape.back() = offers[offers.size() - 2];
    return empty_array<T>(shape);
}

}  // namespace

#define ATTN_INSTANTIATE(variant, T)                                                       \
    template void variant::scores(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, \
                                  const Arithmetic&);                                      \
    template <>                                                                            \
    Array<T> variant::scores(const Array<T>& query, const Array<T>& key,                   \
                             const Arithmetic& arithmetic) {                               \
        Array<T> result = room_for_scores(query, key);                                     \
        scores<T>(matrices_of(query), matrices_of(key), matrices_of(result), arithmetic);  \
        return result;                                                                     \
    }
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

#include "attn/core/steps/scores.hpp"

#include <algorithm>

#include "attn/ground/simd/matmul.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

Shape scores_shape(const Shape& query, const Shape& key) {
    const bool fits = query.size() == key.size() && query.size() >= 2 &&
                      std::equal(query.begin(), query.end() - 2, key.begin()) &&
                      query.back() == key.back();
    if (!fits) {
        throw ShapeError("query " + shape_text(query) + " and key " + shape_text(key) +
                         " need the same leading axes and the same number of features");
    }
    Shape shape = query;
    shape.back() = key[key.size() - 2];
    return shape;
}

}  // namespace

template <class T>
Array<T> loop::scores(const Array<T>& query, const Array<T>& key, const Arithmetic& arithmetic) {
    Array<T> result = empty_array<T>(scores_shape(query.shape(), key.shape()));
    const MatrixView<const T> queries = matrices_of(query);
    const MatrixView<const T> keys = matrices_of(key);
    const MatrixView<T> scores = matrices_of(result);

    // Multiply each query by each key of the same head, feature by feature, and sum.
    for (std::size_t g = 0; g < scores.groups; ++g) {
        for (std::size_t q = 0; q < scores.rows; ++q) {
            for (std::size_t k = 0; k < scores.columns; ++k) {
                scores(g, q, k) = dot<T>(arithmetic, queries.columns, [&](std::size_t f) {
                    return std::pair(queries(g, q, f), keys(g, k, f));
                });
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::scores(const Array<T>& query, const Array<T>& key,
                            const Arithmetic& arithmetic) {
    scores_shape(query.shape(), key.shape());
    return matmul(query, key, Second::transposed, arithmetic.threads);
}

template Array<float> loop::scores(const Array<float>&, const Array<float>&, const Arithmetic&);
template Array<double> loop::scores(const Array<double>&, const Array<double>&, const Arithmetic&);
template Array<float> vectorized::scores(const Array<float>&, const Array<float>&,
                                         const Arithmetic&);
template Array<double> vectorized::scores(const Array<double>&, const Array<double>&,
                                          const Arithmetic&);

}  // namespace attn

#include "attn/steps/scores.hpp"

#include "attn/steps/groups.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/matmul.hpp"

namespace attn {
namespace {

void require_comparable(const Shape& query, const Shape& key) {
    const bool fits = query.size() == key.size() && query.size() >= 2 &&
                      std::equal(query.begin(), query.end() - 2, key.begin()) &&
                      query.back() == key.back();
    if (!fits) {
        throw ShapeError("query " + shape_text(query) + " and key " + shape_text(key) +
                         " need the same leading axes and the same number of features");
    }
}

}  // namespace

template <class T>
Array<T> loop::scores(const Array<T>& query, const Array<T>& key, const Arithmetic& arithmetic) {
    require_comparable(shape_of(query), shape_of(key));
    const auto [groups, query_len, head_dim] = groups_of(shape_of(query));
    const std::size_t key_len = groups_of(shape_of(key)).rows;
    Array<T> result = empty_array<T>(with_matrix(shape_of(query), query_len, key_len));

    // Multiply each query with each key of the same group, feature by feature, and add up.
    for (std::size_t g = 0; g < groups; ++g) {
        dots(rows_of(query.data() + g * query_len * head_dim, query_len, head_dim),
             rows_of(key.data() + g * key_len * head_dim, key_len, head_dim), arithmetic,
             result.data() + g * query_len * key_len);
    }
    return result;
}

template <class T>
Array<T> vectorized::scores(const Array<T>& query, const Array<T>& key,
                            const Arithmetic& arithmetic) {
    require_comparable(shape_of(query), shape_of(key));
    return matmul(query, key, Second::transposed, arithmetic.threads);
}

template Array<float> loop::scores(const Array<float>&, const Array<float>&, const Arithmetic&);
template Array<double> loop::scores(const Array<double>&, const Array<double>&, const Arithmetic&);
template Array<float> vectorized::scores(const Array<float>&, const Array<float>&,
                                         const Arithmetic&);
template Array<double> vectorized::scores(const Array<double>&, const Array<double>&,
                                          const Arithmetic&);

}  // namespace attn

#include "attn/steps/context.hpp"

#include "attn/steps/groups.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/matmul.hpp"

namespace attn {
namespace {

void require_mixable(const Shape& weights, const Shape& value) {
    const bool fits = weights.size() == value.size() && weights.size() >= 2 &&
                      std::equal(weights.begin(), weights.end() - 2, value.begin()) &&
                      weights.back() == value[value.size() - 2];
    if (!fits) {
        throw ShapeError("weights " + shape_text(weights) + " and value " + shape_text(value) +
                         " need the same leading axes and one value per key");
    }
}

}  // namespace

template <class T>
Array<T> loop::context(const Array<T>& weights, const Array<T>& value,
                       const Arithmetic& arithmetic) {
    require_mixable(shape_of(weights), shape_of(value));
    const auto [groups, query_len, key_len] = groups_of(shape_of(weights));
    const std::size_t value_dim = groups_of(shape_of(value)).columns;
    Array<T> result = empty_array<T>(with_matrix(shape_of(weights), query_len, value_dim));

    // Weigh one feature of every value with the attention of this query and add up.
    for (std::size_t g = 0; g < groups; ++g) {
        dots(rows_of(weights.data() + g * query_len * key_len, query_len, key_len),
             columns_of(value.data() + g * key_len * value_dim, key_len, value_dim), arithmetic,
             result.data() + g * query_len * value_dim);
    }
    return result;
}

template <class T>
Array<T> vectorized::context(const Array<T>& weights, const Array<T>& value,
                             const Arithmetic& arithmetic) {
    require_mixable(shape_of(weights), shape_of(value));
    return matmul(weights, value, Second::as_stored, arithmetic.threads);
}

template Array<float> loop::context(const Array<float>&, const Array<float>&, const Arithmetic&);
template Array<double> loop::context(const Array<double>&, const Array<double>&, const Arithmetic&);
template Array<float> vectorized::context(const Array<float>&, const Array<float>&,
                                          const Arithmetic&);
template Array<double> vectorized::context(const Array<double>&, const Array<double>&,
                                           const Arithmetic&);

}  // namespace attn

#include "attn/core/steps/context.hpp"

#include <algorithm>

#include "attn/ground/simd/matmul.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

Shape context_shape(const Shape& weights, const Shape& value) {
    const bool fits = weights.size() == value.size() && weights.size() >= 2 &&
                      std::equal(weights.begin(), weights.end() - 2, value.begin()) &&
                      weights.back() == value[value.size() - 2];
    if (!fits) {
        throw ShapeError("weights " + shape_text(weights) + " and value " + shape_text(value) +
                         " need the same leading axes and one value per key");
    }
    Shape shape = weights;
    shape.back() = value.back();
    return shape;
}

}  // namespace

template <class T>
Array<T> loop::context(const Array<T>& weights, const Array<T>& value,
                       const Arithmetic& arithmetic) {
    Array<T> result = empty_array<T>(context_shape(weights.shape(), value.shape()));
    const MatrixView<const T> shares = matrices_of(weights);
    const MatrixView<const T> values = matrices_of(value);
    const MatrixView<T> context = matrices_of(result);

    // Multiply one feature of every value by the weight of its key and sum over the keys.
    for (std::size_t g = 0; g < context.groups; ++g) {
        for (std::size_t q = 0; q < context.rows; ++q) {
            for (std::size_t f = 0; f < context.columns; ++f) {
                context(g, q, f) = dot<T>(arithmetic, shares.columns, [&](std::size_t k) {
                    return std::pair(shares(g, q, k), values(g, k, f));
                });
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::context(const Array<T>& weights, const Array<T>& value,
                             const Arithmetic& arithmetic) {
    context_shape(weights.shape(), value.shape());
    return matmul(weights, value, Second::as_stored, arithmetic.threads);
}

template Array<float> loop::context(const Array<float>&, const Array<float>&, const Arithmetic&);
template Array<double> loop::context(const Array<double>&, const Array<double>&, const Arithmetic&);
template Array<float> vectorized::context(const Array<float>&, const Array<float>&,
                                          const Arithmetic&);
template Array<double> vectorized::context(const Array<double>&, const Array<double>&,
                                           const Arithmetic&);

}  // namespace attn

#include "attn/steps/differential.hpp"

#include <cmath>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/steps/twins.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/matrix_view.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {
namespace {

template <class T>
void require_vectors(const Array<T>& q1, const Array<T>& k1, const Array<T>& q2,
                     const Array<T>& k2) {
    for (const Array<T>* other : {&k1, &q2, &k2}) {
        if (other->shape() == q1.shape() && q1.dimension() == 1) continue;
        throw ShapeError("lambda needs four vectors of one length, not " + shape_text(q1.shape()) +
                         " and " + shape_text(other->shape()));
    }
}

/// The shape of the differences: half the heads.
Shape shape_of_pairs(const Shape& weights, const Shape& lambda) {
    Shape shape = weights;
    require_fit(lambda == Shape{1}, "lambda is one number, not " + shape_text(lambda));
    if (shape.size() < 3 || shape[shape.size() - 3] % 2 != 0) {
        throw ShapeError("weights " + shape_text(weights) +
                         " need an even number of heads, two for each difference");
    }
    shape[shape.size() - 3] /= 2;
    return shape;
}

}  // namespace

template <class T>
Array<T> loop::lambda(const Array<T>& q1, const Array<T>& k1, const Array<T>& q2,
                      const Array<T>& k2, double lambda_init) {
    require_vectors(q1, k1, q2, k2);
    T first = 0;
    T second = 0;

    // Add up both dot products.
    for (std::size_t f = 0; f < q1.size(); ++f) {
        first += q1(f) * k1(f);
        second += q2(f) * k2(f);
    }
    return {std::exp(first) - std::exp(second) + static_cast<T>(lambda_init)};
}

template <class T>
Array<T> vectorized::lambda(const Array<T>& q1, const Array<T>& k1, const Array<T>& q2,
                            const Array<T>& k2, double lambda_init) {
    require_vectors(q1, k1, q2, k2);
    const T first = xt::sum(as_xtensor(q1) * as_xtensor(k1))();
    const T second = xt::sum(as_xtensor(q2) * as_xtensor(k2))();
    return {std::exp(first) - std::exp(second) + static_cast<T>(lambda_init)};
}

template <class T>
Array<T> loop::subtract_pairs(const Array<T>& weights, const Array<T>& lambda) {
    Array<T> result = empty_array<T>(shape_of_pairs(weights.shape(), lambda.shape()));
    const std::size_t cells = weights.shape().back() * weights.shape(weights.dimension() - 2);
    if (cells == 0) return result;

    // Take lambda times the odd head from the even one before it.
    for (std::size_t pair = 0; pair < result.size() / cells; ++pair) {
        const T* first = weights.data() + 2 * pair * cells;
        const T* second = first + cells;
        for (std::size_t i = 0; i < cells; ++i) {
            result.data()[pair * cells + i] = first[i] - lambda(0) * second[i];
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::subtract_pairs(const Array<T>& weights, const Array<T>& lambda) {
    const Shape shape = shape_of_pairs(weights.shape(), lambda.shape());
    const std::size_t rows = shape[shape.size() - 2];
    const std::size_t pairs = weights.size() == 0 ? 0 : element_count(shape) / rows / shape.back();
    const auto heads = xt::adapt(weights.data(), weights.size(), xt::no_ownership(),
                                 Shape{pairs, 2, rows, shape.back()});
    Array<T> result =
        evaluated<T>(xt::view(heads, xt::all(), 0) - lambda(0) * xt::view(heads, xt::all(), 1));
    result.reshape(shape);
    return result;
}

#define ATTN_INSTANTIATE(twin, T)                                                     \
    template Array<T> twin::lambda(const Array<T>&, const Array<T>&, const Array<T>&, \
                                   const Array<T>&, double);                          \
    template Array<T> twin::subtract_pairs(const Array<T>&, const Array<T>&);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

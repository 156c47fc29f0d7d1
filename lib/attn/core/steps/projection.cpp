#include "attn/core/steps/projection.hpp"

#include "attn/ground/simd/matmul.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {
namespace {

/// The sizes of one projection: `heads` matrices applied to each of `batch` sequences.
struct Sizes {
    std::size_t batch, heads, tokens, in, out;
    Shape result;
};

Sizes projection_sizes(const Shape& x, const Shape& weight, const Shape& bias,
                       WeightLayout layout) {
    const bool per_head = weight.size() == 3;
    const auto [matrices, rows, columns] = groups_of(weight);
    const auto [in, out] =
        layout == WeightLayout::out_in ? std::pair(columns, rows) : std::pair(rows, columns);
    const Groups groups = groups_of(x);
    if (groups.columns != in) {
        throw ShapeError("x " + shape_text(x) + " has " + std::to_string(groups.columns) +
                         " features but the weight " + shape_text(weight) + " takes " +
                         std::to_string(in) + ": transpose one of them");
    }
    Sizes sizes{groups.count, per_head ? weight[0] : 1, groups.rows, in, out, x};
    sizes.result.back() = out;
    if (per_head) sizes.result.insert(sizes.result.end() - 2, sizes.heads);
    const std::size_t biases = element_count(bias);
    if (biases != 0 && biases != sizes.heads * out) {
        throw ShapeError("bias " + shape_text(bias) + " does not fit the weight " +
                         shape_text(weight) + ": it needs one number per output feature");
    }
    return sizes;
}

template <class T>
void add_bias(Array<T>& result, const Array<T>& bias, const Sizes& sizes) {
    for (std::size_t row = 0; row < sizes.batch * sizes.heads * sizes.tokens; ++row) {
        const std::size_t head = row / sizes.tokens % sizes.heads;
        for (std::size_t o = 0; o < sizes.out; ++o) {
            result.data()[row * sizes.out + o] += bias.data()[head * sizes.out + o];
        }
    }
}

}  // namespace

template <class T>
Array<T> loop::project(const Array<T>& x, const Array<T>& weight, const Array<T>& bias,
                       WeightLayout layout, const Arithmetic& arithmetic) {
    const Sizes s = projection_sizes(shape_of(x), shape_of(weight), shape_of(bias), layout);
    Array<T> result = empty_array<T>(s.result);
    const bool out_in = layout == WeightLayout::out_in;
    const MatrixView<const T> weights = matrices_of(weight);
    const MatrixView<const T> tokens = matrices_of(x);
    const MatrixView<T> projected = matrices_of(result);

    // Multiply the features of each token by the weights of each new feature and sum.
    for (std::size_t g = 0; g < s.batch * s.heads; ++g) {
        const std::size_t b = g / s.heads;
        const std::size_t h = g % s.heads;
        for (std::size_t t = 0; t < s.tokens; ++t) {
            for (std::size_t o = 0; o < s.out; ++o) {
                projected(g, t, o) = dot<T>(arithmetic, s.in, [&](std::size_t i) {
                    return std::pair(tokens(b, t, i), out_in ? weights(h, o, i) : weights(h, i, o));
                });
            }
        }
    }
    if (bias.size() != 0) add_bias(result, bias, s);
    return result;
}

template <class T>
Array<T> vectorized::project(const Array<T>& x, const Array<T>& weight, const Array<T>& bias,
                             WeightLayout layout, const Arithmetic& arithmetic) {
    const Sizes s = projection_sizes(shape_of(x), shape_of(weight), shape_of(bias), layout);
    const Second second = layout == WeightLayout::out_in ? Second::transposed : Second::as_stored;
    Array<T> result;
    if (weight.dimension() == 2) {
        result = matmul(x, weight, second, arithmetic.threads);
    } else {
        result = empty_array<T>(s.result);
        for (std::size_t g = 0; g < s.batch * s.heads; ++g) {
            multiply_rows(x.data() + g / s.heads * s.tokens * s.in, s.in,
                          weight.data() + g % s.heads * s.in * s.out,
                          result.data() + g * s.tokens * s.out, s.out, s.tokens, s.in, s.out,
                          second);
        }
    }
    if (bias.size() != 0) add_bias(result, bias, s);
    return result;
}

template Array<float> loop::project(const Array<float>&, const Array<float>&, const Array<float>&,
                                    WeightLayout, const Arithmetic&);
template Array<float> vectorized::project(const Array<float>&, const Array<float>&,
                                          const Array<float>&, WeightLayout, const Arithmetic&);
template Array<double> loop::project(const Array<double>&, const Array<double>&,
                                     const Array<double>&, WeightLayout, const Arithmetic&);
template Array<double> vectorized::project(const Array<double>&, const Array<double>&,
                                           const Array<double>&, WeightLayout, const Arithmetic&);

}  // namespace attn

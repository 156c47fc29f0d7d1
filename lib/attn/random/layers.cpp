#include "attn/random/layers.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "attn/tensor/error.hpp"

namespace attn {
namespace {

template <class T>
std::span<T> span_of(Array<T>& array) {
    return {array.data(), array.size()};
}

template <class T>
Array<T> absent() {
    return empty_array<T>({0});
}

template <class T>
Array<T> zeros(std::size_t count) {
    Array<T> array = empty_array<T>({count});
    std::ranges::fill(span_of(array), T{0});
    return array;
}

/// A matrix (out, in), uniform in [-bound, bound).
template <class T>
Array<T> draw_matrix(Generator& generator, std::size_t out, std::size_t in, double bound) {
    Array<T> matrix = empty_array<T>({out, in});
    generator.uniform(span_of(matrix), -bound, bound);
    return matrix;
}

/// PyTorch's `xavier_uniform_`.  Source  Glorot and Bengio 2010, eq. (16).
template <class T>
Array<T> draw_xavier(Generator& generator, std::size_t out, std::size_t in) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(in + out));
    return draw_matrix<T>(generator, out, in, std::sqrt(3.0) * deviation);
}

/// The bound of a Linear's weight. It is 1/sqrt(in) on paper; PyTorch computes it as
/// `kaiming_uniform_` with a leaky slope of sqrt(5), and the last bit tells.
double linear_bound(std::size_t in) {
    const double slope = std::sqrt(5.0);
    const double gain = std::sqrt(2.0 / (1.0 + slope * slope));
    return std::sqrt(3.0) * (gain / std::sqrt(static_cast<double>(in)));
}

}  // namespace

template <class T>
LinearParameters<T> draw_linear(Generator& generator, std::size_t in, std::size_t out, bool bias) {
    LinearParameters<T> linear{.weight = draw_matrix<T>(generator, out, in, linear_bound(in)),
                               .bias = absent<T>()};
    if (bias) {
        const double bound = in > 0 ? 1.0 / std::sqrt(static_cast<double>(in)) : 0.0;
        linear.bias = empty_array<T>({out});
        generator.uniform(span_of(linear.bias), -bound, bound);
    }
    return linear;
}

template <class T>
Array<T> draw_embedding(Generator& generator, std::size_t rows, std::size_t columns,
                        std::ptrdiff_t padding_row) {
    if (padding_row >= 0 && static_cast<std::size_t>(padding_row) >= rows) {
        throw ConfigError("padding row " + std::to_string(padding_row) +
                          " is not in an embedding of " + std::to_string(rows) +
                          " rows: choose a smaller one, or more rows");
    }
    Array<T> table = empty_array<T>({rows, columns});
    generator.randn(span_of(table));
    if (padding_row >= 0) {
        const std::size_t start = static_cast<std::size_t>(padding_row) * columns;
        std::ranges::fill(span_of(table).subspan(start, columns), T{0});
    }
    return table;
}

template <class T>
MultiheadParameters<T> draw_multihead(Generator& generator, std::size_t embed_dim, bool bias,
                                      std::size_t key_dim, std::size_t value_dim) {
    MultiheadParameters<T> drawn{.w_qkv = absent<T>(),
                                 .w_query = absent<T>(),
                                 .w_key = absent<T>(),
                                 .w_value = absent<T>(),
                                 .b_qkv = bias ? zeros<T>(3 * embed_dim) : absent<T>(),
                                 .w_output = absent<T>(),
                                 .b_output = bias ? zeros<T>(embed_dim) : absent<T>()};
    // Draw the output projection with its bias, which PyTorch then replaces by zeros.
    drawn.w_output = draw_linear<T>(generator, embed_dim, embed_dim, bias).weight;
    // Draw the input projections, as one matrix if they have the same width.
    if (key_dim == embed_dim && value_dim == embed_dim) {
        drawn.w_qkv = draw_xavier<T>(generator, 3 * embed_dim, embed_dim);
    } else {
        drawn.w_query = draw_xavier<T>(generator, embed_dim, embed_dim);
        drawn.w_key = draw_xavier<T>(generator, embed_dim, key_dim);
        drawn.w_value = draw_xavier<T>(generator, embed_dim, value_dim);
    }
    return drawn;
}

template LinearParameters<float> draw_linear(Generator&, std::size_t, std::size_t, bool);
template LinearParameters<double> draw_linear(Generator&, std::size_t, std::size_t, bool);
template Array<float> draw_embedding(Generator&, std::size_t, std::size_t, std::ptrdiff_t);
template Array<double> draw_embedding(Generator&, std::size_t, std::size_t, std::ptrdiff_t);
template MultiheadParameters<float> draw_multihead(Generator&, std::size_t, bool, std::size_t,
                                                   std::size_t);
template MultiheadParameters<double> draw_multihead(Generator&, std::size_t, bool, std::size_t,
                                                    std::size_t);

}  // namespace attn

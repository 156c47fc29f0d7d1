#include "attn/core/steps/heads.hpp"

#include <algorithm>
#include <numeric>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/tensor/xtensor.hpp"

namespace attn {
namespace {

Shape split_shape(const Shape& projected, std::size_t heads) {
    if (projected.size() < 2 || heads == 0 || projected.back() % heads != 0) {
        throw ShapeError("cannot split " + shape_text(projected) + " into " +
                         std::to_string(heads) +
                         " heads: the number of features must be a multiple of the heads");
    }
    Shape shape = projected;
    shape.insert(shape.end() - 2, heads);
    shape.back() /= heads;
    return shape;
}

Shape merged_shape(const Shape& context) {
    if (context.size() < 3) {
        throw ShapeError("cannot merge " + shape_text(context) + ": there is no head axis");
    }
    Shape shape = context;
    shape.back() *= shape[shape.size() - 3];
    shape.erase(shape.end() - 3);
    return shape;
}

Shape repeated_shape(const Shape& tensor, std::size_t times) {
    if (tensor.size() < 3 || times == 0) {
        throw ShapeError("cannot repeat the heads of " + shape_text(tensor) + " " +
                         std::to_string(times) +
                         (times == 0 ? " times: at least once" : " times: there is no head axis"));
    }
    Shape shape = tensor;
    shape[shape.size() - 3] *= times;
    return shape;
}

/// Exchanges the third last axis with the second last.
template <class T>
Array<T> swap_tokens_and_heads(const Array<T>& tensor) {
    std::vector<std::size_t> order(tensor.dimension());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::swap(order[order.size() - 3], order[order.size() - 2]);
    return evaluated<T>(xt::transpose(as_xtensor(tensor), order));
}

}  // namespace

template <class T>
Array<T> loop::split_heads(const Array<T>& projected, std::size_t heads) {
    Array<T> result = empty_array<T>(split_shape(shape_of(projected), heads));
    const MatrixView<const T> whole = matrices_of(projected);
    const MatrixView<T> split = matrices_of(result);
    const std::size_t head_dim = split.columns;

    // Read head h of token t from its own run of head_dim features.
    for (std::size_t b = 0; b < whole.groups; ++b) {
        for (std::size_t h = 0; h < heads; ++h) {
            for (std::size_t t = 0; t < whole.rows; ++t) {
                for (std::size_t f = 0; f < head_dim; ++f) {
                    split(b * heads + h, t, f) = whole(b, t, h * head_dim + f);
                }
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::split_heads(const Array<T>& projected, std::size_t heads) {
    const Shape result_shape = split_shape(shape_of(projected), heads);
    Shape cut = shape_of(projected);
    cut.back() = heads;
    cut.push_back(result_shape.back());
    Array<T> cut_features = projected;
    cut_features.reshape(cut);
    return swap_tokens_and_heads(cut_features);
}

template <class T>
Array<T> loop::merge_heads(const Array<T>& context) {
    Array<T> result = empty_array<T>(merged_shape(shape_of(context)));
    const MatrixView<const T> split = matrices_of(context);
    const MatrixView<T> merged = matrices_of(result);
    const std::size_t heads = context.shape(context.dimension() - 3);
    const std::size_t value_dim = split.columns;

    // Write head h of token t to its own run of value_dim features.
    for (std::size_t b = 0; b < merged.groups; ++b) {
        for (std::size_t t = 0; t < merged.rows; ++t) {
            for (std::size_t h = 0; h < heads; ++h) {
                for (std::size_t f = 0; f < value_dim; ++f) {
                    merged(b, t, h * value_dim + f) = split(b * heads + h, t, f);
                }
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::merge_heads(const Array<T>& context) {
    const Shape result_shape = merged_shape(shape_of(context));
    Array<T> result = swap_tokens_and_heads(context);
    result.reshape(result_shape);
    return result;
}

template <class T>
Array<T> repeat_heads(const Array<T>& tensor, std::size_t times) {
    Array<T> result = empty_array<T>(repeated_shape(shape_of(tensor), times));
    const MatrixView<const T> heads = matrices_of(tensor);
    const MatrixView<T> repeated = matrices_of(result);

    // Copy head h / times into head h.
    for (std::size_t h = 0; h < repeated.groups; ++h) {
        std::copy_n(heads.row(h / times, 0), heads.group_stride, repeated.row(h, 0));
    }
    return result;
}

template <class T>
Array<T> take_features(const Array<T>& tensor, const std::vector<std::size_t>& columns) {
    Shape shape = shape_of(tensor);
    const std::size_t features = shape.empty() ? 0 : shape.back();
    for (const std::size_t column : columns) {
        if (column < features) continue;
        throw ShapeError("there is no feature " + std::to_string(column) + " in " +
                         shape_text(shape));
    }
    if (shape.empty()) throw ShapeError("a scalar has no features to take");
    shape.back() = columns.size();
    Array<T> result = empty_array<T>(shape);
    const MatrixView<const T> all = rows_of(tensor);
    const MatrixView<T> selected_rows = rows_of(result);
    for (std::size_t r = 0; r < selected_rows.rows; ++r) {
        for (std::size_t c = 0; c < columns.size(); ++c)
            selected_rows(0, r, c) = all(0, r, columns[c]);
    }
    return result;
}

template Array<float> loop::split_heads(const Array<float>&, std::size_t);
template Array<float> vectorized::split_heads(const Array<float>&, std::size_t);
template Array<float> loop::merge_heads(const Array<float>&);
template Array<float> vectorized::merge_heads(const Array<float>&);
template Array<float> repeat_heads(const Array<float>&, std::size_t);
template Array<float> take_features(const Array<float>&, const std::vector<std::size_t>&);
template Array<double> loop::split_heads(const Array<double>&, std::size_t);
template Array<double> vectorized::split_heads(const Array<double>&, std::size_t);
template Array<double> loop::merge_heads(const Array<double>&);
template Array<double> vectorized::merge_heads(const Array<double>&);
template Array<double> repeat_heads(const Array<double>&, std::size_t);
template Array<double> take_features(const Array<double>&, const std::vector<std::size_t>&);

}  // namespace attn

#include "attn/steps/latent.hpp"

#include <xtensor/xview.hpp>

#include "attn/simd/matmul.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/matrix_view.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {
namespace {

/// The shape of rows with the shared features appended.
Shape appended_shape(const Shape& rows, const Shape& shared) {
    Shape one_head = rows;
    if (rows.size() > 2) one_head.erase(one_head.end() - 3);
    const bool fits = rows.size() == shared.size() + 1 && (rows.size() == 3 || rows.size() == 4) &&
                      std::equal(one_head.begin(), one_head.end() - 1, shared.begin());
    require_fit(fits, "features " + shape_text(shared) + " cannot stand behind those of " +
                          shape_text(rows) + ": batch and tokens must be the same");
    Shape shape = rows;
    shape.back() += shared.back();
    return shape;
}

/// The products before they are computed.
template <class T>
Array<T> room_for_products(const Array<T>& rows, const Array<T>& matrices) {
    Shape shape = rows.shape();
    const bool fits = shape.size() > 2 && matrices.dimension() == 3 &&
                      shape[shape.size() - 3] == matrices.shape(0) &&
                      shape.back() >= matrices.shape(1);
    require_fit(fits, "the heads of " + shape_text(shape) + " do not fit the matrices " +
                          shape_text(matrices.shape()));
    shape.back() = matrices.shape(2);
    return empty_array<T>(shape);
}

}  // namespace

template <class T>
Array<T> loop::append_shared(const Array<T>& rows, const Array<T>& shared) {
    Array<T> result = empty_array<T>(appended_shape(rows.shape(), shared.shape()));
    const auto [groups, tokens, features] = groups_of(rows.shape());
    const std::size_t heads = rows.shape(rows.dimension() - 3);
    const std::size_t more = shared.shape().back();

    // Write the row of each head, then that of the token, whichever the head.
    for (std::size_t g = 0; g < groups; ++g) {
        for (std::size_t t = 0; t < tokens; ++t) {
            T* to = result.data() + (g * tokens + t) * (features + more);
            for (std::size_t f = 0; f < features; ++f) {
                to[f] = rows.data()[(g * tokens + t) * features + f];
            }
            for (std::size_t f = 0; f < more; ++f) {
                to[features + f] = shared.data()[(g / heads * tokens + t) * more + f];
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::append_shared(const Array<T>& rows, const Array<T>& shared) {
    const Shape shape = appended_shape(rows.shape(), shared.shape());
    const std::size_t heads = shape[shape.size() - 3];
    const std::size_t tokens = shape[shape.size() - 2];
    const std::size_t features = rows.shape().back();
    const std::size_t more = shared.shape().back();
    const std::size_t batch = shape.size() > 3 ? shape[0] : 1;
    Array<T> result = empty_array<T>(shape);
    auto to = xt::adapt(result.data(), result.size(), xt::no_ownership(),
                        Shape{batch, heads, tokens, features + more});
    xt::view(to, xt::all(), xt::all(), xt::all(), xt::range(0, features)) = xt::adapt(
        rows.data(), rows.size(), xt::no_ownership(), Shape{batch, heads, tokens, features});
    xt::view(to, xt::all(), xt::all(), xt::all(), xt::range(features, features + more)) =
        xt::adapt(shared.data(), shared.size(), xt::no_ownership(), Shape{batch, 1, tokens, more});
    return result;
}

template <class T>
Array<T> loop::multiply_heads(const Array<T>& rows, const Array<T>& matrices,
                              const Arithmetic& arithmetic) {
    Array<T> result = room_for_products(rows, matrices);
    const MatrixView<const T> from = matrices_of(rows);
    const MatrixView<const T> by = matrices_of(matrices);
    const MatrixView<T> to = matrices_of(result);

    // Multiply the first features of each row with the matrix of its head and add up.
    for (std::size_t g = 0; g < to.groups; ++g) {
        for (std::size_t t = 0; t < to.rows; ++t) {
            for (std::size_t f = 0; f < to.columns; ++f) {
                to(g, t, f) = dot<T>(arithmetic, by.rows, [&](std::size_t i) {
                    return std::pair(from(g, t, i), by(g % by.groups, i, f));
                });
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::multiply_heads(const Array<T>& rows, const Array<T>& matrices,
                                    const Arithmetic&) {
    Array<T> result = room_for_products(rows, matrices);
    const MatrixView<const T> from = matrices_of(rows);
    const MatrixView<const T> by = matrices_of(matrices);
    const MatrixView<T> to = matrices_of(result);
    for (std::size_t g = 0; g < to.groups; ++g) {
        multiply_rows(from.row(g, 0), from.row_stride, by.row(g % by.groups, 0), to.row(g, 0),
                      to.row_stride, to.rows, by.rows, by.columns, Second::as_stored);
    }
    return result;
}

template <class T>
Array<T> head_matrices(const Array<T>& weight, WeightLayout layout, std::size_t heads,
                       std::size_t first, std::size_t count) {
    const bool out_in = layout == WeightLayout::out_in;
    require_fit(weight.dimension() == 2 && heads > 0 &&
                    first + count <= weight.shape(out_in ? 0 : 1) / heads,
                "a weight " + shape_text(weight.shape()) + " does not hold features " +
                    std::to_string(first) + " to " + std::to_string(first + count) + " of " +
                    std::to_string(heads) + " heads: it must have their rows and no others");
    const std::size_t inputs = weight.shape(out_in ? 1 : 0);
    const std::size_t width = weight.shape(out_in ? 0 : 1) / heads;
    Array<T> result = empty_array<T>({heads, count, inputs});
    for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t f = 0; f < count; ++f) {
            const std::size_t out = h * width + first + f;
            for (std::size_t i = 0; i < inputs; ++i) {
                result(h, f, i) = out_in ? weight(out, i) : weight(i, out);
            }
        }
    }
    return result;
}

#define ATTN_INSTANTIATE(T)                                                                      \
    template Array<T> loop::append_shared(const Array<T>&, const Array<T>&);                     \
    template Array<T> vectorized::append_shared(const Array<T>&, const Array<T>&);               \
    template Array<T> loop::multiply_heads(const Array<T>&, const Array<T>&, const Arithmetic&); \
    template Array<T> vectorized::multiply_heads(const Array<T>&, const Array<T>&,               \
                                                 const Arithmetic&);                             \
    template Array<T> head_matrices(const Array<T>&, WeightLayout, std::size_t, std::size_t,     \
                                    std::size_t);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn

#include <algorithm>

#include "attn/simd/matmul.hpp"
#include "attn/steps/backward.hpp"
#include "attn/steps/twins.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/groups.hpp"
#include "attn/tensor/move_axis.hpp"

namespace attn {
namespace {

/// The sizes of one projection: `heads` matrices applied to each of `batch` sequences.
struct Sizes {
    std::size_t batch, heads, tokens, in, out;
};

/// Of the gradient of a result and the weight that made it.
Sizes sizes_of(const Shape& d_result, const Shape& weight, WeightLayout layout) {
    const Groups groups = groups_of(d_result);
    const std::size_t heads = weight.size() == 3 ? weight[0] : 1;
    const bool out_in = layout == WeightLayout::out_in;
    const std::size_t out = out_in ? weight.end()[-2] : weight.back();
    const std::size_t in = out_in ? weight.back() : weight.end()[-2];
    require_fit(groups.columns == out && groups.count % heads == 0,
                "the gradient " + shape_text(d_result) + " and the weight " + shape_text(weight) +
                    " need the same output features");
    return {groups.count / heads, heads, groups.rows, in, out};
}

/// Of the gradient of a result and the x that it was made of.
Sizes sizes_of(const Shape& d_result, const Shape& x, std::size_t heads) {
    const Groups groups = groups_of(d_result);
    const Groups tokens = groups_of(x);
    require_fit(groups.count == tokens.count * heads && groups.rows == tokens.rows,
                "the gradient " + shape_text(d_result) + " and x " + shape_text(x) +
                    " need the same tokens");
    return {tokens.count, heads, tokens.rows, tokens.columns, groups.columns};
}

template <class T>
Array<T> room_for_x(const Array<T>& d_result, const Sizes& s, bool per_head) {
    Shape shape = d_result.shape();
    if (per_head) shape.erase(shape.end() - 3);
    shape.back() = s.in;
    return empty_array<T>(shape);
}

template <class T>
Array<T> room_for_weight(const Sizes& s, WeightLayout layout) {
    Shape shape{s.out, s.in};
    if (layout == WeightLayout::in_out) std::swap(shape[0], shape[1]);
    if (s.heads > 1) shape.insert(shape.begin(), s.heads);
    return empty_array<T>(shape);
}

/// Every matrix transposed.
template <class T>
Array<T> swapped(const Array<T>& array) {
    return with_axis_last(array, array.dimension() - 2);
}

}  // namespace

template <class T>
Array<T> loop::d_projected_x(const Array<T>& d_result, const Array<T>& weight, WeightLayout layout,
                             const Arithmetic& arithmetic) {
    const Sizes s = sizes_of(d_result.shape(), weight.shape(), layout);
    Array<T> result = room_for_x(d_result, s, weight.dimension() == 3);
    const bool out_in = layout == WeightLayout::out_in;
    const MatrixView<const T> gradients = matrices_of(d_result);
    const MatrixView<const T> weights = matrices_of(weight);
    const MatrixView<T> d_x = matrices_of(result);

    // Add up what each new feature, of all heads, passes back to the old one.
    for (std::size_t b = 0; b < s.batch; ++b) {
        for (std::size_t t = 0; t < s.tokens; ++t) {
            for (std::size_t i = 0; i < s.in; ++i) {
                d_x(b, t, i) = dot<T>(arithmetic, s.heads * s.out, [&](std::size_t n) {
                    const std::size_t h = n / s.out;
                    const std::size_t o = n % s.out;
                    return std::pair(gradients(b * s.heads + h, t, o),
                                     out_in ? weights(h, o, i) : weights(h, i, o));
                });
            }
        }
    }
    return result;
}

template <class T>
Array<T> loop::d_projection(const Array<T>& d_result, const Array<T>& x, std::size_t heads,
                            WeightLayout layout, const Arithmetic& arithmetic) {
    const Sizes s = sizes_of(d_result.shape(), x.shape(), heads);
    Array<T> result = room_for_weight<T>(s, layout);
    const bool out_in = layout == WeightLayout::out_in;
    const MatrixView<const T> gradients = matrices_of(d_result);
    const MatrixView<const T> tokens = matrices_of(x);
    const MatrixView<T> d_weight = matrices_of(result);

    // Add up over all tokens of all sequences: they share the weight.
    for (std::size_t h = 0; h < s.heads; ++h) {
        for (std::size_t o = 0; o < s.out; ++o) {
            for (std::size_t i = 0; i < s.in; ++i) {
                (out_in ? d_weight(h, o, i) : d_weight(h, i, o)) =
                    dot<T>(arithmetic, s.batch * s.tokens, [&](std::size_t n) {
                        const std::size_t b = n / s.tokens;
                        const std::size_t t = n % s.tokens;
                        return std::pair(gradients(b * s.heads + h, t, o), tokens(b, t, i));
                    });
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::d_projected_x(const Array<T>& d_result, const Array<T>& weight,
                                   WeightLayout layout, const Arithmetic& arithmetic) {
    const Sizes s = sizes_of(d_result.shape(), weight.shape(), layout);
    const Second second = layout == WeightLayout::out_in ? Second::as_stored : Second::transposed;
    if (weight.dimension() == 2) return matmul(d_result, weight, second, arithmetic.threads);
    Array<T> result = room_for_x(d_result, s, true);
    Array<T> of_head = empty_array<T>({s.tokens, s.in});
    std::fill(result.begin(), result.end(), T{0});
    for (std::size_t g = 0; g < s.batch * s.heads; ++g) {
        multiply_rows(d_result.data() + g * s.tokens * s.out, s.out,
                      weight.data() + g % s.heads * s.in * s.out, of_head.data(), s.in, s.tokens,
                      s.out, s.in, second);
        T* const row = result.data() + g / s.heads * s.tokens * s.in;
        std::transform(of_head.begin(), of_head.end(), row, row, std::plus<T>());
    }
    return result;
}

template <class T>
Array<T> vectorized::d_projection(const Array<T>& d_result, const Array<T>& x, std::size_t heads,
                                  WeightLayout layout, const Arithmetic& arithmetic) {
    const Sizes s = sizes_of(d_result.shape(), x.shape(), heads);
    // All tokens of a head under each other: (heads, features, tokens of all sequences).
    Array<T> gradients = d_result;
    gradients.reshape({s.batch, s.heads, s.tokens, s.out});
    gradients = with_axis_last(std::move(gradients), 0);
    gradients = with_axis_last(std::move(gradients), 1);
    gradients.reshape({s.heads, s.out, s.batch * s.tokens});
    Array<T> tokens = x;
    tokens.reshape({s.batch, s.tokens, s.in});
    tokens = with_axis_last(with_axis_last(std::move(tokens), 0), 0);
    tokens.reshape({s.in, s.batch * s.tokens});
    Array<T> result = matmul(gradients, tokens, Second::transposed, arithmetic.threads);
    if (layout == WeightLayout::in_out) result = swapped(result);
    if (s.heads == 1) result.reshape({result.shape(1), result.shape(2)});
    return result;
}

namespace {

void require_ids(const Shape& d_x, const Array<std::int64_t>& ids, std::size_t rows) {
    require_fit(groups_of(d_x).count * groups_of(d_x).rows == ids.size(),
                "the gradient " + shape_text(d_x) + " needs one id for each of its rows, not " +
                    std::to_string(ids.size()));
    for (const std::int64_t id : ids) {
        require_fit(
            id >= 0 && static_cast<std::size_t>(id) < rows,
            "id " + std::to_string(id) + " has no row in a table of " + std::to_string(rows));
    }
}

}  // namespace

template <class T>
Array<T> loop::d_embedding(const Array<T>& d_x, const Array<std::int64_t>& ids, std::size_t rows) {
    require_ids(d_x.shape(), ids, rows);
    const std::size_t features = d_x.shape().back();
    Array<T> result = Array<T>::filled({rows, features}, T{0});

    // Add each token's gradient to the row of its id: a token that stands twice adds twice.
    for (std::size_t t = 0; t < ids.size(); ++t) {
        for (std::size_t f = 0; f < features; ++f) {
            const std::size_t row = static_cast<std::size_t>(ids.data()[t]);
            result.data()[row * features + f] += d_x.data()[t * features + f];
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::d_embedding(const Array<T>& d_x, const Array<std::int64_t>& ids,
                                 std::size_t rows) {
    require_ids(d_x.shape(), ids, rows);
    const std::size_t features = d_x.shape().back();
    Array<T> result = Array<T>::filled({rows, features}, T{0});
    for (std::size_t t = 0; t < ids.size(); ++t) {
        T* const row = result.data() + static_cast<std::size_t>(ids.data()[t]) * features;
        std::transform(row, row + features, d_x.data() + t * features, row, std::plus<T>());
    }
    return result;
}

#define ATTN_INSTANTIATE(twin, T)                                                         \
    template Array<T> twin::d_projected_x(const Array<T>&, const Array<T>&, WeightLayout, \
                                          const Arithmetic&);                             \
    template Array<T> twin::d_projection(const Array<T>&, const Array<T>&, std::size_t,   \
                                         WeightLayout, const Arithmetic&);                \
    template Array<T> twin::d_embedding(const Array<T>&, const Array<std::int64_t>&, std::size_t);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

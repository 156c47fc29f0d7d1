#include "attn/steps/backward.hpp"

#include <algorithm>

#include "attn/simd/matmul.hpp"
#include "attn/steps/arithmetic.hpp"
#include "attn/steps/scores.hpp"
#include "attn/steps/twins.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {
namespace {

/// Errors  ShapeError unless there are the same matrices, with one row of b for each row (or
///         column) of a.
void require_rows(const Shape& a, const Shape& b, bool of_columns) {
    const bool fits = a.size() == b.size() && a.size() >= 2 &&
                      std::equal(a.begin(), a.end() - 2, b.begin()) &&
                      b[b.size() - 2] == (of_columns ? a.back() : a[a.size() - 2]);
    if (fits) return;
    throw ShapeError("the gradient " + shape_text(a) + " and " + shape_text(b) +
                     " need the same leading axes and a row for each " +
                     (of_columns ? "column" : "row"));
}

/// Room for as many rows and columns in each matrix of an array.
template <class T>
Array<T> room_for(Shape shape, std::size_t rows, std::size_t columns) {
    shape.end()[-2] = rows;
    shape.end()[-1] = columns;
    return empty_array<T>(shape);
}

/// Every matrix transposed, in tiles that stay near.
template <class T>
Array<T> transposed(const Array<T>& array) {
    constexpr std::size_t tile = 32;
    const MatrixView<const T> from = matrices_of(array);
    Array<T> result = room_for<T>(array.shape(), from.columns, from.rows);
    const MatrixView<T> to = matrices_of(result);
    for (std::size_t g = 0; g < from.groups; ++g) {
        for (std::size_t r = 0; r < from.rows; r += tile) {
            for (std::size_t column = 0; column < from.columns; ++column) {
                const std::size_t end = std::min(r + tile, from.rows);
                for (std::size_t row = r; row < end; ++row)
                    to(g, column, row) = from(g, row, column);
            }
        }
    }
    return result;
}

template <class T>
void require_alike(const Array<T>& weights, const Array<T>& d_weights) {
    if (weights.shape() == d_weights.shape()) return;
    throw ShapeError("weights " + shape_text(weights.shape()) + " and their gradient " +
                     shape_text(d_weights.shape()) + " need the same shape");
}

}  // namespace

template <class T>
Array<T> loop::d_query(const Array<T>& d_scores, const Array<T>& key,
                       const Arithmetic& arithmetic) {
    require_rows(d_scores.shape(), key.shape(), true);
    const MatrixView<const T> gradients = matrices_of(d_scores);
    const MatrixView<const T> keys = matrices_of(key);
    Array<T> result = room_for<T>(d_scores.shape(), gradients.rows, keys.columns);
    const MatrixView<T> d_query = matrices_of(result);

    // Multiply one feature of every key with the gradient of its score and add up.
    for (std::size_t g = 0; g < d_query.groups; ++g) {
        for (std::size_t q = 0; q < d_query.rows; ++q) {
            for (std::size_t f = 0; f < d_query.columns; ++f) {
                d_query(g, q, f) = dot<T>(arithmetic, keys.rows, [&](std::size_t k) {
                    return std::pair(gradients(g, q, k), keys(g, k, f));
                });
            }
        }
    }
    return result;
}

template <class T>
Array<T> loop::d_key(const Array<T>& d_scores, const Array<T>& query,
                     const Arithmetic& arithmetic) {
    require_rows(d_scores.shape(), query.shape(), false);
    const MatrixView<const T> gradients = matrices_of(d_scores);
    const MatrixView<const T> queries = matrices_of(query);
    Array<T> result = room_for<T>(d_scores.shape(), gradients.columns, queries.columns);
    const MatrixView<T> d_key = matrices_of(result);

    // Every query that met the key adds its own features, times the gradient of the score.
    for (std::size_t g = 0; g < d_key.groups; ++g) {
        for (std::size_t k = 0; k < d_key.rows; ++k) {
            for (std::size_t f = 0; f < d_key.columns; ++f) {
                d_key(g, k, f) = dot<T>(arithmetic, queries.rows, [&](std::size_t q) {
                    return std::pair(gradients(g, q, k), queries(g, q, f));
                });
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::d_query(const Array<T>& d_scores, const Array<T>& key,
                             const Arithmetic& arithmetic) {
    require_rows(d_scores.shape(), key.shape(), true);
    return matmul(d_scores, key, Second::as_stored, arithmetic.threads);
}

template <class T>
Array<T> vectorized::d_key(const Array<T>& d_scores, const Array<T>& query,
                           const Arithmetic& arithmetic) {
    require_rows(d_scores.shape(), query.shape(), false);
    return matmul(transposed(d_scores), query, Second::as_stored, arithmetic.threads);
}

// Each weight is to context what a score is to its query and key: the same products.

#define ATTN_AS_FOR_SCORES(twin)                                               \
    template <class T>                                                         \
    Array<T> twin::d_weights(const Array<T>& d_context, const Array<T>& value, \
                             const Arithmetic& how) {                          \
        return scores(d_context, value, how);                                  \
    }                                                                          \
    template <class T>                                                         \
    Array<T> twin::d_value(const Array<T>& d_context, const Array<T>& weights, \
                           const Arithmetic& how) {                            \
        return d_key(weights, d_context, how);                                 \
    }
ATTN_AS_FOR_SCORES(loop)
ATTN_AS_FOR_SCORES(vectorized)
#undef ATTN_AS_FOR_SCORES

template <class T>
Array<T> loop::row_dot(const Array<T>& weights, const Array<T>& d_weights, std::size_t axis) {
    require_alike(weights, d_weights);
    const auto [outer, length, inner] = axis_view(weights.shape(), axis);
    Shape shape = weights.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    Array<T> result = Array<T>::filled(shape, T{0});

    // Multiply each weight of a row with its gradient and add up.
    for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t k = 0; k < length; ++k) {
            for (std::size_t i = 0; i < inner; ++i) {
                const std::size_t cell = (o * length + k) * inner + i;
                result.data()[o * inner + i] += weights.data()[cell] * d_weights.data()[cell];
            }
        }
    }
    return result;
}

template <class T>
Array<T> loop::d_softmax(const Array<T>& weights, const Array<T>& d_weights,
                         const Array<T>& row_dot, std::size_t axis) {
    require_alike(weights, d_weights);
    const auto [outer, length, inner] = axis_view(weights.shape(), axis);
    Array<T> result = empty_array<T>(weights.shape());

    // Give each score what its weight's gradient has more than the mean of its row, by its weight.
    for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t k = 0; k < length; ++k) {
            for (std::size_t i = 0; i < inner; ++i) {
                const std::size_t cell = (o * length + k) * inner + i;
                result.data()[cell] =
                    weights.data()[cell] * (d_weights.data()[cell] - row_dot.data()[o * inner + i]);
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::row_dot(const Array<T>& weights, const Array<T>& d_weights, std::size_t axis) {
    require_alike(weights, d_weights);
    return evaluated<T>(xt::sum(as_xtensor(weights) * as_xtensor(d_weights), {axis}));
}

template <class T>
Array<T> vectorized::d_softmax(const Array<T>& weights, const Array<T>& d_weights,
                               const Array<T>& row_dot, std::size_t axis) {
    require_alike(weights, d_weights);
    if (axis + 1 == weights.dimension()) {
        return with_each_row(d_weights, [&](std::size_t r, const auto&, T* row) {
            const std::size_t columns = weights.shape(axis);
            const T* weight = weights.data() + r * columns;
            const T dot = row_dot.data()[r];
            for (std::size_t k = 0; k < columns; ++k) row[k] = weight[k] * (row[k] - dot);
        });
    }
    Shape shape = weights.shape();
    shape[axis] = 1;
    const auto dots = xt::adapt(row_dot.data(), row_dot.size(), xt::no_ownership(), shape);
    return evaluated<T>(as_xtensor(weights) * (as_xtensor(d_weights) - dots));
}

template <class T>
Array<T> loop::rotate_back(const Array<T>& d_rotated, const Array<T>& cosines,
                           const Array<T>& sines, Pairing pairing, std::size_t first) {
    Array<T> opposite = sines;
    for (T& sine : opposite) sine = -sine;
    return rotate(d_rotated, cosines, opposite, pairing, first);
}

template <class T>
Array<T> vectorized::rotate_back(const Array<T>& d_rotated, const Array<T>& cosines,
                                 const Array<T>& sines, Pairing pairing, std::size_t first) {
    return rotate(d_rotated, cosines, evaluated<T>(-as_xtensor(sines)), pairing, first);
}

namespace {

/// The matrices of all sequences under each other, as one.
template <class T>
Array<T> folded(Array<T> array) {
    const auto [groups, rows, columns] = groups_of(array.shape());
    array.reshape({groups * rows, columns});
    return array;
}

WeightLayout other(WeightLayout layout) {
    return layout == WeightLayout::out_in ? WeightLayout::in_out : WeightLayout::out_in;
}

void require_ids(const Shape& d_x, const Array<std::int64_t>& ids, std::size_t rows) {
    require_fit(element_count(d_x) == ids.size() * d_x.back(),
                "the gradient " + shape_text(d_x) + " needs one id for each of its rows, not " +
                    std::to_string(ids.size()));
    for (const std::int64_t id : ids) {
        require_fit(
            id >= 0 && static_cast<std::size_t>(id) < rows,
            "id " + std::to_string(id) + " has no row in a table of " + std::to_string(rows));
    }
}

}  // namespace

// The weight is read the other way round; a feature of it meets those of all tokens, as a key meets
// all queries.

#define ATTN_AS_FOR_TOKENS(twin)                                                                  \
    template <class T>                                                                            \
    Array<T> twin::d_projected_x(const Array<T>& d_result, const Array<T>& weight,                \
                                 WeightLayout layout, const Arithmetic& arithmetic) {             \
        return project(d_result, weight, empty_array<T>({0}), other(layout), arithmetic);         \
    }                                                                                             \
    template <class T>                                                                            \
    Array<T> twin::d_projection(const Array<T>& d_result, const Array<T>& x, WeightLayout layout, \
                                const Arithmetic& arithmetic) {                                   \
        const bool out_in = layout == WeightLayout::out_in;                                       \
        return d_key(folded(out_in ? d_result : x), folded(out_in ? x : d_result), arithmetic);   \
    }
ATTN_AS_FOR_TOKENS(loop)
ATTN_AS_FOR_TOKENS(vectorized)
#undef ATTN_AS_FOR_TOKENS

template <class T>
Array<T> loop::d_embedding(const Array<T>& d_x, const Array<std::int64_t>& ids, std::size_t rows) {
    require_ids(d_x.shape(), ids, rows);
    const std::size_t features = d_x.shape().back();
    Array<T> result = Array<T>::filled({rows, features}, T{0});

    // Add each token's gradient to the row of its id: a token that stands twice adds twice.
    for (std::size_t t = 0; t < ids.size(); ++t) {
        for (std::size_t f = 0; f < features; ++f) {
            result(ids.data()[t], f) += d_x.data()[t * features + f];
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
        T* const row = &result(ids.data()[t], 0);
        std::transform(row, row + features, d_x.data() + t * features, row, std::plus<T>());
    }
    return result;
}

#define ATTN_INSTANTIATE(twin, T)                                                                  \
    template Array<T> twin::d_query(const Array<T>&, const Array<T>&, const Arithmetic&);          \
    template Array<T> twin::d_key(const Array<T>&, const Array<T>&, const Arithmetic&);            \
    template Array<T> twin::d_weights(const Array<T>&, const Array<T>&, const Arithmetic&);        \
    template Array<T> twin::d_value(const Array<T>&, const Array<T>&, const Arithmetic&);          \
    template Array<T> twin::row_dot(const Array<T>&, const Array<T>&, std::size_t);                \
    template Array<T> twin::d_softmax(const Array<T>&, const Array<T>&, const Array<T>&,           \
                                      std::size_t);                                                \
    template Array<T> twin::d_projected_x(const Array<T>&, const Array<T>&, WeightLayout,          \
                                          const Arithmetic&);                                      \
    template Array<T> twin::d_projection(const Array<T>&, const Array<T>&, WeightLayout,           \
                                         const Arithmetic&);                                       \
    template Array<T> twin::d_embedding(const Array<T>&, const Array<std::int64_t>&, std::size_t); \
    template Array<T> twin::rotate_back(const Array<T>&, const Array<T>&, const Array<T>&,         \
                                        Pairing, std::size_t);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

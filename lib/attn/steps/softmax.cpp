#include "attn/steps/softmax.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include "attn/simd/kernels.hpp"
#include "attn/steps/groups.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/reduce.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {
namespace {

Shape without_axis(Shape shape, std::size_t axis) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return shape;
}

/// The reduced tensor with the axis put back at length 1, ready to broadcast.
template <class T>
Array<T> with_axis(Array<T> reduced, std::size_t axis) {
    Shape shape = shape_of(reduced);
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    reduced.reshape(shape);
    return reduced;
}

/// Replaces, or refuses, the rows whose maximum is -inf: they hide every cell.
template <class T>
void treat_empty_rows(Array<T>& weights, const Array<T>& row_max, std::size_t axis,
                      EmptyRow empty_row) {
    if (empty_row == EmptyRow::nan) return;
    const auto [outer, length, inner] = axis_view(shape_of(weights), axis);
    for (std::size_t row = 0; row < outer * inner; ++row) {
        if (row_max.data()[row] != -std::numeric_limits<T>::infinity()) continue;
        if (empty_row == EmptyRow::error) {
            throw ConfigError("row " + std::to_string(row) +
                              " of the scores hides every key, so there is nothing to share out: "
                              "mend the mask, or choose nan or zero for empty rows");
        }
        for (std::size_t i = 0; i < length; ++i) {
            weights.data()[(row / inner * length + i) * inner + row % inner] = T(0);
        }
    }
}

/// exp() as loop twins use it: computed in double and rounded once, the same on every machine.
template <class T>
T exact_exp(T x) {
    return static_cast<T>(std::exp(static_cast<double>(x)));
}

}  // namespace

template <class T>
Array<T> loop::row_max(const Array<T>& scores, std::size_t axis) {
    const auto [outer, length, inner] = axis_view(shape_of(scores), axis);
    Array<T> result = empty_array<T>(without_axis(shape_of(scores), axis));

    // Keep the largest score of each row; nan, once met, stays.
    for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t i = 0; i < inner; ++i) {
            T largest = -std::numeric_limits<T>::infinity();
            for (std::size_t k = 0; k < length; ++k) {
                const T score = scores.data()[(o * length + k) * inner + i];
                if (score > largest || std::isnan(score)) largest = score;
            }
            result.data()[o * inner + i] = largest;
        }
    }
    return result;
}

template <class T>
Array<T> loop::exponentials(const Array<T>& scores, const Array<T>& row_max, std::size_t axis) {
    const auto [outer, length, inner] = axis_view(shape_of(scores), axis);
    Array<T> result = empty_array<T>(shape_of(scores));

    // Measure each score from the largest of its row and take the exponential.
    for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t k = 0; k < length; ++k) {
            for (std::size_t i = 0; i < inner; ++i) {
                const std::size_t cell = (o * length + k) * inner + i;
                result.data()[cell] =
                    exact_exp(scores.data()[cell] - row_max.data()[o * inner + i]);
            }
        }
    }
    return result;
}

template <class T>
Array<T> loop::row_sum(const Array<T>& exponentials, std::size_t axis) {
    const auto [outer, length, inner] = axis_view(shape_of(exponentials), axis);
    Array<T> result = empty_array<T>(without_axis(shape_of(exponentials), axis));

    // Add up each row from left to right.
    for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t i = 0; i < inner; ++i) {
            T sum = 0;
            for (std::size_t k = 0; k < length; ++k) {
                sum += exponentials.data()[(o * length + k) * inner + i];
            }
            result.data()[o * inner + i] = sum;
        }
    }
    return result;
}

template <class T>
Array<T> loop::softmax(const Array<T>& scores, std::size_t axis, EmptyRow empty_row) {
    const auto [outer, length, inner] = axis_view(shape_of(scores), axis);
    const Array<T> largest = loop::row_max(scores, axis);
    Array<T> weights = loop::exponentials(scores, largest, axis);
    const Array<T> sums = loop::row_sum(weights, axis);

    // Divide each exponential by what its row adds up to.
    for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t k = 0; k < length; ++k) {
            for (std::size_t i = 0; i < inner; ++i) {
                weights.data()[(o * length + k) * inner + i] /= sums.data()[o * inner + i];
            }
        }
    }
    treat_empty_rows(weights, largest, axis, empty_row);
    return weights;
}

// Along the last axis a row is contiguous: rows.hpp says how it is worked on. Along another axis
// neighbours belong to different rows, which are the lanes.

template <class T>
Array<T> vectorized::row_max(const Array<T>& scores, std::size_t axis) {
    const auto [outer, length, inner] = axis_view(shape_of(scores), axis);
    if (inner != 1) {
        // Whatever is not smaller comes through, nan too.
        const auto larger = [](T a, T b) { return a >= b || std::isnan(a) ? a : b; };
        return reduce_axis(scores, axis, -std::numeric_limits<T>::infinity(), larger);
    }
    Array<T> result = empty_array<T>(without_axis(shape_of(scores), axis));
    const RowOperations<T>& rows = row_operations<T>(length);
    for (std::size_t row = 0; row < outer; ++row) {
        result.data()[row] = rows.maximum(scores.data() + row * length, length);
    }
    return result;
}

template <class T>
Array<T> vectorized::exponentials(const Array<T>& scores, const Array<T>& row_max,
                                  std::size_t axis) {
    const auto [outer, length, inner] = axis_view(shape_of(scores), axis);
    if (inner != 1) {
        const Array<T> largest = with_axis(row_max, axis);
        return evaluated<T>(xt::exp(as_xtensor(scores) - as_xtensor(largest)));
    }
    Array<T> result = empty_array<T>(shape_of(scores));
    const RowOperations<T>& rows = row_operations<T>(length);
    for (std::size_t row = 0; row < outer; ++row) {
        rows.exponentials(scores.data() + row * length, row_max.data()[row],
                          result.data() + row * length, length);
    }
    return result;
}

template <class T>
Array<T> vectorized::row_sum(const Array<T>& exponentials, std::size_t axis) {
    const auto [outer, length, inner] = axis_view(shape_of(exponentials), axis);
    if (inner != 1) return reduce_axis(exponentials, axis, T(0), std::plus<T>());
    Array<T> result = empty_array<T>(without_axis(shape_of(exponentials), axis));
    const RowOperations<T>& rows = row_operations<T>(length);
    for (std::size_t row = 0; row < outer; ++row) {
        result.data()[row] = rows.sum(exponentials.data() + row * length, length);
    }
    return result;
}

template <class T>
Array<T> vectorized::softmax(const Array<T>& scores, std::size_t axis, EmptyRow empty_row) {
    const Array<T> largest = vectorized::row_max(scores, axis);
    Array<T> weights = vectorized::exponentials(scores, largest, axis);
    const Array<T> sums = vectorized::row_sum(weights, axis);
    const auto [outer, length, inner] = axis_view(shape_of(scores), axis);
    if (inner != 1) {
        const Array<T> divisors = with_axis(sums, axis);
        weights = evaluated<T>(as_xtensor(weights) / as_xtensor(divisors));
    } else {
        const RowOperations<T>& rows = row_operations<T>(length);
        for (std::size_t row = 0; row < outer; ++row) {
            T* cells = weights.data() + row * length;
            rows.normalize(cells, sums.data()[row], cells, length);
        }
    }
    treat_empty_rows(weights, largest, axis, empty_row);
    return weights;
}

#define ATTN_INSTANTIATE(variant, T)                                                        \
    template Array<T> variant::row_max(const Array<T>&, std::size_t);                       \
    template Array<T> variant::exponentials(const Array<T>&, const Array<T>&, std::size_t); \
    template Array<T> variant::row_sum(const Array<T>&, std::size_t);                       \
    template Array<T> variant::softmax(const Array<T>&, std::size_t, EmptyRow);
ATTN_INSTANTIATE(loop, float)
ATTN_INSTANTIATE(loop, double)
ATTN_INSTANTIATE(vectorized, float)
ATTN_INSTANTIATE(vectorized, double)
#undef ATTN_INSTANTIATE

}  // namespace attn

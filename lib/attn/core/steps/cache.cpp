#include "attn/core/steps/cache.hpp"

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {
namespace {

/// Allocates the result.
template <class T>
Array<T> room_for_both(const Array<T>& past, const Array<T>& added) {
    Shape shape = past.shape();
    const Shape& more = added.shape();
    bool fits = shape.size() >= 2 && shape.size() == more.size();
    for (std::size_t i = 0; fits && i < shape.size(); ++i) {
        fits = i + 2 == shape.size() || shape[i] == more[i];
    }
    if (!fits) {
        throw ShapeError("past " + shape_text(shape) + " and new tokens " + shape_text(more) +
                         " need the same leading axes and the same number of features");
    }
    shape[shape.size() - 2] += more[more.size() - 2];
    return empty_array<T>(shape);
}

}  // namespace

template <class T>
Array<T> append_tokens(const Array<T>& past, const Array<T>& added) {
    Array<T> result = room_for_both(past, added);
    const MatrixView<const T> before = matrices_of(past);
    const MatrixView<const T> after = matrices_of(added);
    const MatrixView<T> both = matrices_of(result);

    // Copy each row from the past as long as there is one, then from the new tokens.
    for (std::size_t g = 0; g < both.groups; ++g) {
        for (std::size_t t = 0; t < both.rows; ++t) {
            for (std::size_t f = 0; f < both.columns; ++f) {
                both(g, t, f) = t < before.rows ? before(g, t, f) : after(g, t - before.rows, f);
            }
        }
    }
    return result;
}

template Array<float> append_tokens(const Array<float>&, const Array<float>&);
template Array<double> append_tokens(const Array<double>&, const Array<double>&);

}  // namespace attn

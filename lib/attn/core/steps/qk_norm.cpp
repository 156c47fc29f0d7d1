#include "attn/core/steps/qk_norm.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {
namespace {

/// Returns the number of heads that are normalised together.
std::size_t heads_together(const Shape& x, const Shape& gain, NormOver over, std::size_t heads) {
    const std::size_t together = over == NormOver::all ? heads : 1;
    const bool fits = together > 0 && groups_of(x).count % together == 0 &&
                      (over == NormOver::l2 || gain == Shape{together * x.back()});
    require_fit(fits, "rows " + shape_text(x) + " do not fit a gain " + shape_text(gain) +
                          ": it has one number for each feature of " + std::to_string(together) +
                          " heads");
    return together;
}

}  // namespace

template <class T>
Array<T> normalise(const Array<T>& x, const Array<T>& gain, NormOver over, double eps,
                   std::size_t heads) {
    const std::size_t together = heads_together(x.shape(), gain.shape(), over, heads);
    const T smallest = static_cast<T>(eps);
    Array<T> result = empty_array<T>(x.shape());
    const MatrixView<const T> rows = matrices_of(x);
    const MatrixView<T> normed = matrices_of(result);
    const std::size_t features = rows.columns;

    for (std::size_t first = 0; first < rows.groups; first += together) {
        for (std::size_t t = 0; t < rows.rows; ++t) {
            // Sum the squares of the row, over all heads that are normalised together.
            T squares = 0;
            for (std::size_t h = 0; h < together; ++h) {
                for (std::size_t f = 0; f < features; ++f) {
                    const T number = rows(first + h, t, f);
                    squares += number * number;
                }
            }
            // Divide every feature by their root mean square, or by the length.
            const T root =
                T{1} / std::sqrt(squares / static_cast<T>(together * features) + smallest);
            const T length = std::max(std::sqrt(squares), smallest);
            for (std::size_t h = 0; h < together; ++h) {
                for (std::size_t f = 0; f < features; ++f) {
                    const T number = rows(first + h, t, f);
                    normed(first + h, t, f) = over == NormOver::l2
                                                  ? number / length
                                                  : number * root * gain(h * features + f);
                }
            }
        }
    }
    return result;
}

template Array<float> normalise(const Array<float>&, const Array<float>&, NormOver, double,
                                std::size_t);
template Array<double> normalise(const Array<double>&, const Array<double>&, NormOver, double,
                                 std::size_t);

}  // namespace attn

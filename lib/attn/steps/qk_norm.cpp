#include "attn/steps/qk_norm.hpp"

#include <algorithm>
#include <cmath>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/steps/twins.hpp"
#include "attn/tensor/matrix_view.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {
namespace {

/// How many heads are normalised together.
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
Array<T> loop::normalise(const Array<T>& x, const Array<T>& gain, NormOver over, double eps,
                         std::size_t heads) {
    const auto [groups, tokens, features] = groups_of(x.shape());
    const std::size_t together = heads_together(x.shape(), gain.shape(), over, heads);
    const T smallest = static_cast<T>(eps);
    Array<T> result = empty_array<T>(x.shape());
    const auto cell = [&, tokens = tokens, features = features](std::size_t group, std::size_t t,
                                                                std::size_t f) {
        return (group * tokens + t) * features + f;
    };

    for (std::size_t first = 0; first < groups; first += together) {
        for (std::size_t t = 0; t < tokens; ++t) {
            // Add up the squares of the row, of all heads that are normalised together.
            T squares = 0;
            for (std::size_t h = 0; h < together; ++h) {
                for (std::size_t f = 0; f < features; ++f) {
                    const T number = x.data()[cell(first + h, t, f)];
                    squares += number * number;
                }
            }
            // Divide every feature by the root of their mean, or by the length.
            const T root =
                T{1} / std::sqrt(squares / static_cast<T>(together * features) + smallest);
            const T length = std::max(std::sqrt(squares), smallest);
            for (std::size_t h = 0; h < together; ++h) {
                for (std::size_t f = 0; f < features; ++f) {
                    const T number = x.data()[cell(first + h, t, f)];
                    result.data()[cell(first + h, t, f)] =
                        over == NormOver::l2 ? number / length
                                             : number * root * gain(h * features + f);
                }
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::normalise(const Array<T>& x, const Array<T>& gain, NormOver over, double eps,
                               std::size_t heads) {
    const auto [groups, tokens, features] = groups_of(x.shape());
    const std::size_t together = heads_together(x.shape(), gain.shape(), over, heads);
    const T smallest = static_cast<T>(eps);
    const Shape folded{groups / together, together, tokens, features};
    Array<T> squares = Array<T>::filled({groups / together, 1, tokens, 1}, T{0});
    for (std::size_t row = 0; row < groups * tokens; ++row) {
        T& sum = squares.data()[row / (together * tokens) * tokens + row % tokens];
        for (std::size_t f = 0; f < features; ++f) {
            const T number = x.data()[row * features + f];
            sum += number * number;
        }
    }
    const auto numbers = xt::adapt(x.data(), x.size(), xt::no_ownership(), folded);
    const auto sums = as_xtensor(squares);
    Array<T> result;
    if (over == NormOver::l2) {
        result = evaluated<T>(numbers / xt::maximum(xt::sqrt(sums), smallest));
    } else {
        const auto gains =
            xt::adapt(gain.data(), gain.size(), xt::no_ownership(), Shape{together, 1, features});
        const T count = static_cast<T>(together * features);
        result = evaluated<T>(numbers * (T{1} / xt::sqrt(sums / count + smallest)) * gains);
    }
    result.reshape(x.shape());
    return result;
}

#define ATTN_INSTANTIATE(twin, T)                                                         \
    template Array<T> twin::normalise(const Array<T>&, const Array<T>&, NormOver, double, \
                                      std::size_t);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

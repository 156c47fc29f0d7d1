#include "attn/steps/sinusoids.hpp"

#include <algorithm>
#include <cmath>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/steps/twins.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {
namespace {

void require_rows(const Shape& x, const Shape& rows) {
    if (x.size() >= rows.size() && std::equal(rows.rbegin(), rows.rend(), x.rbegin())) return;
    throw ShapeError("cannot add rows " + shape_text(rows) + " to " + shape_text(x) +
                     ": there must be one for each token, as long");
}

}  // namespace

template <class T>
Array<T> loop::sinusoids(const Array<std::int64_t>& positions, std::size_t features) {
    Array<T> result = empty_array<T>({positions.size(), features});

    // Give each pair of features the sine and the cosine of its angle.
    for (std::size_t t = 0; t < positions.size(); ++t) {
        for (std::size_t f = 0; f < features; ++f) {
            const T exponent = static_cast<T>(f - f % 2) / static_cast<T>(features);
            const T angle = static_cast<T>(positions(t)) * (T{1} / std::pow(T{10000}, exponent));
            result(t, f) = f % 2 == 0 ? std::sin(angle) : std::cos(angle);
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::sinusoids(const Array<std::int64_t>& positions, std::size_t features) {
    const std::size_t cosines = features / 2;
    const auto even = xt::arange<T>(0, static_cast<T>(features), 2);
    const auto rows = xt::view(as_xtensor(positions), xt::all(), xt::newaxis());
    const Array<T> angles = evaluated<T>(
        xt::cast<T>(rows) * (T{1} / xt::pow(T{10000}, even / static_cast<T>(features))));
    Array<T> result = empty_array<T>({positions.size(), features});
    auto out = xt::adapt(result.data(), result.size(), xt::no_ownership(), result.shape());
    const auto in = as_xtensor(angles);
    xt::view(out, xt::all(), xt::range(0, features, 2)) = xt::sin(in);
    xt::view(out, xt::all(), xt::range(1, features, 2)) =
        xt::cos(xt::view(in, xt::all(), xt::range(0, cosines, 1)));
    return result;
}

template <class T>
Array<T> loop::add_rows(const Array<T>& x, const Array<T>& rows) {
    require_rows(x.shape(), rows.shape());
    Array<T> result = x;
    for (std::size_t i = 0; i < x.size(); ++i) result.data()[i] += rows.data()[i % rows.size()];
    return result;
}

template <class T>
Array<T> vectorized::add_rows(const Array<T>& x, const Array<T>& rows) {
    require_rows(x.shape(), rows.shape());
    return evaluated<T>(as_xtensor(x) + as_xtensor(rows));
}

#define ATTN_INSTANTIATE(twin, T)                                               \
    template Array<T> twin::sinusoids(const Array<std::int64_t>&, std::size_t); \
    template Array<T> twin::add_rows(const Array<T>&, const Array<T>&);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

#include "attn/steps/rotary.hpp"

#include <cmath>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/steps/twins.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/matrix_view.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {
namespace {

/// Errors  ShapeError when the cosines and sines are not those of the tokens.
void require_angles(const Shape& x, const Shape& angles, const Shape& sines, std::size_t first) {
    if (x.size() >= 2 && angles.size() == 2 && sines == angles && x[x.size() - 2] == angles[0] &&
        x.back() >= first + 2 * angles[1]) {
        return;
    }
    throw ShapeError("cannot rotate " + shape_text(x) + " by angles " + shape_text(angles) +
                     ": there must be one row of angles for each token, half as long at most");
}

}  // namespace

template <class T>
Array<T> loop::inverse_frequencies(double theta, std::size_t rotary_dim) {
    Array<T> result = empty_array<T>({rotary_dim / 2});
    for (std::size_t i = 0; i < result.size(); ++i) {
        const T exponent = static_cast<T>(2 * i) / static_cast<T>(rotary_dim);
        result(i) = T{1} / std::pow(static_cast<T>(theta), exponent);
    }
    return result;
}

template <class T>
Array<T> vectorized::inverse_frequencies(double theta, std::size_t rotary_dim) {
    const auto even = xt::arange<T>(0, static_cast<T>(rotary_dim), 2);
    return evaluated<T>(T{1} / xt::pow(static_cast<T>(theta), even / static_cast<T>(rotary_dim)));
}

template <class T>
Array<T> loop::angles(const Array<std::int64_t>& positions, const Array<T>& inverse_frequencies) {
    Array<T> result = empty_array<T>({positions.size(), inverse_frequencies.size()});

    // Multiply every position with every inverse frequency.
    for (std::size_t t = 0; t < positions.size(); ++t) {
        for (std::size_t i = 0; i < inverse_frequencies.size(); ++i) {
            result(t, i) = static_cast<T>(positions(t)) * inverse_frequencies(i);
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::angles(const Array<std::int64_t>& positions,
                            const Array<T>& inverse_frequencies) {
    const auto rows = xt::view(as_xtensor(positions), xt::all(), xt::newaxis());
    return evaluated<T>(xt::cast<T>(rows) * as_xtensor(inverse_frequencies));
}

template <class T>
Array<T> loop::cosines(const Array<T>& angles, double factor) {
    Array<T> result = empty_array<T>(angles.shape());
    for (std::size_t i = 0; i < angles.size(); ++i) {
        result.data()[i] = std::cos(angles.data()[i]) * static_cast<T>(factor);
    }
    return result;
}

template <class T>
Array<T> loop::sines(const Array<T>& angles, double factor) {
    Array<T> result = empty_array<T>(angles.shape());
    for (std::size_t i = 0; i < angles.size(); ++i) {
        result.data()[i] = std::sin(angles.data()[i]) * static_cast<T>(factor);
    }
    return result;
}

template <class T>
Array<T> vectorized::cosines(const Array<T>& angles, double factor) {
    return evaluated<T>(xt::cos(as_xtensor(angles)) * static_cast<T>(factor));
}

template <class T>
Array<T> vectorized::sines(const Array<T>& angles, double factor) {
    return evaluated<T>(xt::sin(as_xtensor(angles)) * static_cast<T>(factor));
}

template <class T>
Array<T> loop::rotate(const Array<T>& x, const Array<T>& cosines, const Array<T>& sines,
                      Pairing pairing, std::size_t first) {
    require_angles(x.shape(), cosines.shape(), sines.shape(), first);
    const auto [groups, tokens, features] = groups_of(x.shape());
    const std::size_t pairs = cosines.shape(1);
    Array<T> result = x;

    // Rotate every pair of features of every token by the angle of its position.
    for (std::size_t g = 0; g < groups; ++g) {
        for (std::size_t t = 0; t < tokens; ++t) {
            const T* from = x.data() + (g * tokens + t) * features + first;
            T* to = result.data() + (g * tokens + t) * features + first;
            for (std::size_t i = 0; i < pairs; ++i) {
                const auto [a, b] = feature_pair(pairing, i, 2 * pairs);
                to[a] = from[a] * cosines(t, i) - from[b] * sines(t, i);
                to[b] = from[b] * cosines(t, i) + from[a] * sines(t, i);
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::rotate(const Array<T>& x, const Array<T>& cosines, const Array<T>& sines,
                            Pairing pairing, std::size_t first) {
    require_angles(x.shape(), cosines.shape(), sines.shape(), first);
    const auto [groups, tokens, features] = groups_of(x.shape());
    const std::size_t pairs = cosines.shape(1);
    const Shape folded{groups, tokens, features};
    const std::size_t end = first + 2 * pairs;
    const bool half = pairing == Pairing::half;
    const auto firsts = [&] {
        return half ? xt::range(first, first + pairs, 1) : xt::range(first, end, 2);
    };
    const auto seconds = [&] {
        return half ? xt::range(first + pairs, end, 1) : xt::range(first + 1, end, 2);
    };
    Array<T> result = x;
    const auto in = xt::adapt(x.data(), x.size(), xt::no_ownership(), folded);
    auto out = xt::adapt(result.data(), result.size(), xt::no_ownership(), folded);
    const auto a = xt::view(in, xt::all(), xt::all(), firsts());
    const auto b = xt::view(in, xt::all(), xt::all(), seconds());
    const auto cos = as_xtensor(cosines);
    const auto sin = as_xtensor(sines);
    xt::view(out, xt::all(), xt::all(), firsts()) = a * cos - b * sin;
    xt::view(out, xt::all(), xt::all(), seconds()) = b * cos + a * sin;
    return result;
}

#define ATTN_INSTANTIATE(twin, T)                                                              \
    template Array<T> twin::inverse_frequencies(double, std::size_t);                          \
    template Array<T> twin::angles(const Array<std::int64_t>&, const Array<T>&);               \
    template Array<T> twin::cosines(const Array<T>&, double);                                  \
    template Array<T> twin::sines(const Array<T>&, double);                                    \
    template Array<T> twin::rotate(const Array<T>&, const Array<T>&, const Array<T>&, Pairing, \
                                   std::size_t);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn

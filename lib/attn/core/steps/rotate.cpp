#include "attn/core/steps/rotate.hpp"

#include <cmath>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {
namespace {

/// Errors  ShapeError if the cosines and sines do not fit the tokens.
void require_angles(const Shape& x, const Shape& angles, const Shape& sines, std::size_t first) {
    if (x.size() >= 2 && angles.size() == 2 && sines == angles && x[x.size() - 2] == angles[0] &&
        x.back() >= first + 2 * angles[1]) {
        return;
    }
    throw ShapeError("cannot rotate " + shape_text(x) + " by angles " + shape_text(angles) +
                     ": there must be one row of angles for each token, at most half as long");
}

}  // namespace

template <class T>
Array<T> inverse_frequencies(double theta, std::size_t rotary_dim) {
    Array<T> result = empty_array<T>({rotary_dim / 2});
    for (std::size_t i = 0; i < result.size(); ++i) {
        const T exponent = static_cast<T>(2 * i) / static_cast<T>(rotary_dim);
        result(i) = T{1} / std::pow(static_cast<T>(theta), exponent);
    }
    return result;
}

template <class T>
Array<T> angles(const Array<std::int64_t>& positions, const Array<T>& inverse_frequencies) {
    Array<T> result = empty_array<T>({positions.size(), inverse_frequencies.size()});

    // Multiply each position by each inverse frequency.
    for (std::size_t t = 0; t < positions.size(); ++t) {
        for (std::size_t i = 0; i < inverse_frequencies.size(); ++i) {
            result(t, i) = static_cast<T>(positions(t)) * inverse_frequencies(i);
        }
    }
    return result;
}

template <class T>
Array<T> cosines(const Array<T>& angles, double factor) {
    Array<T> result = empty_array<T>(angles.shape());
    for (std::size_t i = 0; i < angles.size(); ++i) {
        result.data()[i] = std::cos(angles.data()[i]) * static_cast<T>(factor);
    }
    return result;
}

template <class T>
Array<T> sines(const Array<T>& angles, double factor) {
    Array<T> result = empty_array<T>(angles.shape());
    for (std::size_t i = 0; i < angles.size(); ++i) {
        result.data()[i] = std::sin(angles.data()[i]) * static_cast<T>(factor);
    }
    return result;
}

template <class T>
Array<T> rotate(const Array<T>& x, const Array<T>& cosines, const Array<T>& sines, Pairing pairing,
                std::size_t first) {
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

template Array<float> inverse_frequencies(double, std::size_t);
template Array<float> angles(const Array<std::int64_t>&, const Array<float>&);
template Array<float> cosines(const Array<float>&, double);
template Array<float> sines(const Array<float>&, double);
template Array<float> rotate(const Array<float>&, const Array<float>&, const Array<float>&, Pairing,
                             std::size_t);
template Array<double> inverse_frequencies(double, std::size_t);
template Array<double> angles(const Array<std::int64_t>&, const Array<double>&);
template Array<double> cosines(const Array<double>&, double);
template Array<double> sines(const Array<double>&, double);
template Array<double> rotate(const Array<double>&, const Array<double>&, const Array<double>&,
                              Pairing, std::size_t);

}  // namespace attn

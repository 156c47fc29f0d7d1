#include "attn/core/steps/norm.hpp"

#include <cmath>

#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

void require_features(const Shape& x, const Shape& gain, const Shape& bias) {
    const std::size_t features = x.empty() ? 0 : x.back();
    const bool fits =
        !x.empty() && gain == Shape{features} && (bias == Shape{features} || bias == Shape{0});
    if (fits) return;
    throw ShapeError("a norm of " + std::to_string(features) + " features has a gain " +
                     shape_text(gain) + " and a bias " + shape_text(bias) +
                     ": both must have one number for each feature");
}

}  // namespace

template <class T>
RowSize row_size(const T* row, std::size_t features, NormKind kind, double eps) {
    const auto count = static_cast<double>(features);
    RowSize size;
    for (std::size_t f = 0; f < features && kind == NormKind::layer; ++f) {
        size.mean += static_cast<double>(row[f]) / count;
    }
    double squares = 0;
    for (std::size_t f = 0; f < features; ++f) {
        const double distance = static_cast<double>(row[f]) - size.mean;
        squares += distance * distance;
    }
    size.root = std::sqrt(squares / count + eps);
    return size;
}

template <class T>
Array<T> norm(const Array<T>& x, const Array<T>& gain, const Array<T>& bias, NormKind kind,
              double eps) {
    require_features(x.shape(), gain.shape(), bias.shape());
    const std::size_t features = x.shape().back();
    Array<T> result = empty_array<T>(x.shape());

    // Shift and divide each row by its own mean and size, then scale and shift each feature.
    for (std::size_t first = 0; first < x.size(); first += features) {
        const auto [mean, root] = row_size(x.data() + first, features, kind, eps);
        for (std::size_t f = 0; f < features; ++f) {
            const T standard = static_cast<T>((x.data()[first + f] - mean) / root);
            result.data()[first + f] =
                standard * gain.data()[f] + (bias.size() > 0 ? bias.data()[f] : T{0});
        }
    }
    return result;
}

template RowSize row_size(const float*, std::size_t, NormKind, double);
template RowSize row_size(const double*, std::size_t, NormKind, double);
template Array<float> norm(const Array<float>&, const Array<float>&, const Array<float>&, NormKind,
                           double);
template Array<double> norm(const Array<double>&, const Array<double>&, const Array<double>&,
                            NormKind, double);

}  // namespace attn

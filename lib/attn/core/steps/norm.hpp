#pragma once
#include "attn/ground/tensor/array.hpp"

namespace attn {

// These do not use the rules of their steps: sums are in float64, whatever the dtype of the walk,
// as in layers of models.

/// The kind of normalisation of feature rows.
enum class NormKind { rms, layer };

/// Normalises each row of features, then scales every feature by its gain.
///
///     rms    result(f) = x(f) / sqrt(mean of x^2 + eps) * gain(f)
///     layer  result(f) = (x(f) - mean of x) / sqrt(variance of x + eps) * gain(f) + bias(f)
///
/// Shapes  x (..., features); gain and bias (features), an empty bias adds nothing; result as x.
/// Range   with gain 1 the mean square of a row is 1, or less if it is not far above eps.
/// Why     layer after layer adds to x: without a norm the sizes of its rows would drift apart.
/// Errors  ShapeError if gain or bias do not have one number per feature.
/// Source  Ba et al. 2016 (layer); Zhang and Sennrich 2019 (rms).
template <class T>
Array<T> norm(const Array<T>& x, const Array<T>& gain, const Array<T>& bias, NormKind kind,
              double eps);

/// The mean and the divisor of one row in a norm.
struct RowSize {
    double mean = 0;  ///< 0 with rms
    double root = 1;
};
template <class T>
RowSize row_size(const T* row, std::size_t features, NormKind kind, double eps);

}  // namespace attn

#pragma once
#include <optional>

#include "attn/bench/attend.hpp"

namespace attn {

/// How far two contexts lie apart where they are farthest from each other.
struct Disagreement {
    std::size_t index = 0;  ///< flat
    double got = 0;
    double expected = 0;
    double apart = 0;  ///< infinite where only one of them is nan
};

/// The largest distance between two contexts of the same shape.
Disagreement farthest_apart(const Array<float>& got, const Array<float>& expected);

/// How far rounding can set the contexts of two variants apart, which sum in different orders.
///
///     4 eps max|v| (sqrt(d) s + sqrt(T) + 4),   s = max|q| max|k| / sqrt(d), a bound of the scores
///
/// Why     n roundings add up to some sqrt(n) of them. Those of a score are of the size of the
///         products it sums, and the exponential turns them into relative ones of the weight; then
///         the T weights and their products with the values are summed. Both variants do that, each
///         with half an eps a rounding; 4 takes chance to where it does not matter.
/// Source  Higham & Mary, A new approach to probabilistic rounding error analysis, 2019.
double agreement_tolerance(const BenchInput& input);

}  // namespace attn

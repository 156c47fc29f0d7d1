#pragma once
#include <functional>
#include <string>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// How far the numbers of a type may be from exact ones, by what code does to them.
struct Rounding {
    double unit;     ///< of a number that is stored: at most so much of it, 2^-24 in float32
    double least;    ///< and never less than this, where numbers are tiny
    double sums;     ///< of each addition of a sum, and of what is worked out before it is stored
    double largest;  ///< beyond it there is infinity
    bool is_half = false;
    bool kept_more = false;  ///< what code read had more digits than were stored of it
};

/// The rounding of a floating type.
///
/// Errors  ConfigError for a type that is no floating one.
Rounding rounding_of(DType dtype);

/// The same of numbers in 16 bits, by what lies between 1 and the next one: 2^-10 in float16, 2^-7
/// in bfloat16. Their sums run in float32.
Rounding rounding_of_half(double epsilon);

/// What a number loses where it is stored in the type; 0 for one that the type has, however small.
double lost_where_stored(double number, const Rounding& rounding);
/// Whether the type has all numbers of a floating tensor.
bool holds(const Rounding& rounding, const Tensor& tensor);

/// The name under which a radius reads that of a tensor.
std::string radius_name(const std::string& tensor);

/// How far right code can be from the exact cells of a rule, as a rule in turn:
///
///     scores[q,k] = sum f: query[q,f] * key[k,f]
///     radius[q,k] = 1.9e-06 * (sum f: abs(query[q,f]) * abs(key[k,f])) + 6e-08 * abs(scores[q,k])
///
/// Each number that is stored may move by `unit` of itself; a sum of n by min(n, 3 sqrt(n)) times
/// `sums` of what its terms add up to, in whatever order it runs; a function by as much as its
/// derivative makes of its argument's radius. What covers the ways in which libraries work: any
/// order of sums, sums with or without fused multiply-add, exp2 in the place of exp, a division as
/// a product with the inverse, a difference times a factor written out, small products of 16-bit
/// matrices added up in 16 bits, running means stored in 16 bits.
///
/// `rule` is a completed one whose step's own cells are the exact ones. `is_exact` says of a
/// tensor whether the code read these very numbers; of others the radius is read too, as
/// radius_name(tensor).
///
/// Source  Higham and Mary 2019, A new approach to probabilistic rounding error analysis.
/// Errors  ConfigError for a rule that is not completed.
Rule radius_of(const Rule& rule, const Outline& made, const Rounding& rounding,
               const std::function<bool(const std::string& tensor)>& is_exact);

}  // namespace attn

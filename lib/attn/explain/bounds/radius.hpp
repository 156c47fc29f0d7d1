#pragma once
#include <functional>
#include <string>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// The rounding errors of a type in the operations of code.
struct Rounding {
    double unit;     ///< largest relative error of a stored number, 2^-24 in float32
    double least;    ///< smallest error, for tiny numbers
    double sums;     ///< of each addition of a sum, and of intermediate results
    double largest;  ///< numbers above it become infinite
    bool is_half = false;
    bool kept_more = false;  ///< later steps read more digits than were stored
};

/// Returns the rounding of a floating-point type.
///
/// Errors  ConfigError for other types.
Rounding rounding_of(DType dtype);

/// Returns the rounding of a 16-bit type by its machine epsilon: 2^-10 for float16, 2^-7 for
/// bfloat16. Sums run in float32.
Rounding rounding_of_half(double epsilon);

/// Returns the error of storing a number in the type; 0 if it is representable, even if tiny.
double lost_where_stored(double number, const Rounding& rounding);
/// True if the type represents all numbers of a floating-point tensor.
bool holds(const Rounding& rounding, const Tensor& tensor);

/// Returns the name by which radius rules read the radius of a tensor.
std::string radius_name(const std::string& tensor);

/// Returns the largest error of correct code for a rule's exact cells, again as a rule:
///
///     scores[q,k] = sum f: query[q,f] * key[k,f]
///     radius[q,k] = 1.9e-06 * (sum f: abs(query[q,f]) * abs(key[k,f])) + 6e-08 * abs(scores[q,k])
///
/// Each stored number may be off by `unit` relative to itself; a sum of n terms by min(n, 3
/// sqrt(n)) times `sums` of the sum of absolute values, in any order; a function by its derivative
/// times the radius of its argument. This covers the implementations of libraries: any order of
/// sums, with or without fused multiply-add, exp2 in place of exp, multiplication by the inverse in
/// place of division, an expanded difference times a factor, small products of 16-bit matrices
/// summed in 16 bits, running means stored in 16 bits.
///
/// `rule` must be completed; its step's own cells are the exact ones. `is_exact` returns true for a
/// tensor whose numbers the code read exactly; for others the radius is read, too, as
/// radius_name(tensor).
///
/// Source  Higham and Mary 2019, A new approach to probabilistic rounding error analysis.
/// Errors  ConfigError for a rule that is not completed.
Rule radius_of(const Rule& rule, const Outline& outline, const Rounding& rounding,
               const std::function<bool(const std::string& tensor)>& is_exact);

}  // namespace attn

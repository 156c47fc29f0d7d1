#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/simd/dot.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// The meaning of names in a rule.
struct RuleScope {
    /// Returns the tensor for a name.  Errors  ConfigError for an unknown name, with advice.
    std::function<const Tensor&(const std::string& name)> tensor;
    std::map<std::string, double> settings;  ///< `D` and its number
    /// For a rule that reads its own earlier rows: its result.
    std::optional<Outline> own{};
    /// If set, matrix products are computed as dot products with this order of summation, with the
    /// same digits on all machines; otherwise by the kernels of the machine.
    std::optional<Arithmetic> dots{};
    std::size_t threads = 1;    ///< most threads for large work; 0: one per core
    std::string other_forms{};  ///< forms to suggest if this one is too expensive: `$form NAME`
};

/// Computes the tensor of a rule by its definition: cell by cell, with sums from left to right.
///
/// Shapes  those of `axes` and `shape`; leading axes may be omitted, and are filled in by
/// completed().
/// Range   in `dtype`, a floating-point type: a 16-bit one rounds the result of each operation, and
///         a sum after it was computed in float32. Boolean if the expression is. `if` evaluates
///         only one branch; a sum over nothing is 0, a maximum over nothing -inf.
/// Errors  ConfigError with a caret: unknown tensors, unbound indices, two lengths for one index,
///         an index out of range, a boolean in place of a number.
Tensor evaluate_rule(const Rule& rule, const Axes& axes, const Shape& shape, DType dtype,
                     const RuleScope& scope);

/// The two parts of evaluate_rule: completing the rule for the tensors of the scope, and evaluating
/// it.
Rule completed_for(const Rule& rule, const Outline& outline, const RuleScope& scope);
Tensor evaluate_completed(const Rule& rule, const Outline& outline, DType dtype,
                          const RuleScope& scope);

/// Returns how many numbers the sums of a completed rule evaluate at least, without matrix products
/// and sums over conditions: each sum once for each combination of the indices that it depends on.
double numbers_summed(const Rule& rule, const Shape& outline);

}  // namespace attn

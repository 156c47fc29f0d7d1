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
    /// The tensor of a name.  Errors  ConfigError for a name without one, saying what to do.
    std::function<const Tensor&(const std::string& name)> tensor;
    std::map<std::string, double> settings;  ///< `D` and its number
    /// Of a rule that reads its own earlier rows: what it makes.
    std::optional<Outline> own{};
    /// Products of matrices are made of dot products that are summed so, to the same digits on
    /// every machine; unset: by the kernels of the machine.
    std::optional<Arithmetic> dots{};
    std::size_t threads = 1;    ///< at most so many share large work; 0: one for each core
    std::string other_forms{};  ///< to take where this one works out too many numbers: `$form NAME`
};

/// Makes the tensor of a rule, by its definition: cell by cell, sums from left to right.
///
/// Shapes  those of `axes` and `shape`; leading axes may be left out, as completed() fills them in.
/// Range   in `dtype`, a floating type: a 16-bit one rounds what each operation makes, a sum once
///         it is added up in float32. Truth where the expression is one. `if` takes one side only;
///         a sum over nothing is 0, a largest number of nothing -inf.
/// Errors  ConfigError with a caret: unknown tensors, indices that nothing binds, two lengths for
///         one index, an index beyond its axis, a truth where a number is due.
Tensor evaluate_rule(const Rule& rule, const Axes& axes, const Shape& shape, DType dtype,
                     const RuleScope& scope);

/// Its two parts: the rule completed for the tensors of the scope, and what it makes then.
Rule completed_for(const Rule& rule, const Outline& made, const RuleScope& scope);
Tensor evaluate_completed(const Rule& rule, const Outline& made, DType dtype,
                          const RuleScope& scope);

}  // namespace attn

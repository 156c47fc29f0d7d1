#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "attn/rules/rule.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

/// The meaning of names in a rule.
struct RuleScope {
    /// The tensor of a name.  Errors  ConfigError for a name without one, saying what to do.
    std::function<const Tensor&(const std::string& name)> tensor;
    std::map<std::string, double> settings;  ///< `D` and its number
};

/// Makes the tensor of a rule, by its definition: cell by cell, sums from left to right.
///
/// Shapes  those of `axes` and `shape`; leading axes may be left out, as completed() fills them in.
/// Range   in `dtype` (float32 or float64); truth where the expression is one. `if` takes one side
///         only; a sum over nothing is 0, a largest number of nothing -inf.
/// Errors  ConfigError with a caret: unknown tensors, indices that nothing binds, two lengths for
///         one index, an index beyond its axis, a truth where a number is due.
Tensor evaluate_rule(const Rule& rule, const Axes& axes, const Shape& shape, DType dtype,
                     const RuleScope& scope);

/// A rule that is worked out again and again, as those of cards are: it is completed once for all
/// tensors of the same lengths.
class CompletedRule {
public:
    /// As evaluate_rule(). The rule may be another one each time.
    Tensor evaluate(const Rule& rule, const Outline& made, DType dtype, const RuleScope& scope);

private:
    /// What a completed rule depends on.
    struct Key {
        RuleTree written;
        std::vector<std::pair<Axes, Shape>> tensors;  ///< what it makes, and what it reads
        std::vector<DType> types;
        std::map<std::string, double> settings;
        bool operator==(const Key&) const = default;
    };
    std::mutex one_at_a_time_;
    Key key_;
    std::shared_ptr<const Rule> completed_;
};

}  // namespace attn

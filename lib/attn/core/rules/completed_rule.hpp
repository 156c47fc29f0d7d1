#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "attn/core/rules/evaluate.hpp"

namespace attn {

/// A rule that is evaluated repeatedly, such as a card's: it is completed once for all tensors of
/// the same shapes.
class CompletedRule {
public:
    /// Evaluates as evaluate_rule(). The rule may change between calls.
    Tensor evaluate(const Rule& rule, const Outline& outline, DType dtype, const RuleScope& scope);

private:
    /// The dependencies of a completed rule.
    struct Key {
        RuleTree written;
        std::vector<std::pair<Axes, Shape>> tensors;  ///< the result and the inputs
        std::vector<DType> types;
        std::map<std::string, double> settings;
        bool operator==(const Key&) const = default;
    };
    std::mutex one_at_a_time_;
    Key key_;
    std::shared_ptr<const Rule> completed_;
};

}  // namespace attn

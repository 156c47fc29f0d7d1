#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "attn/core/rules/evaluate.hpp"

namespace attn {

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

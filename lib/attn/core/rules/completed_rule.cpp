#include "attn/core/rules/completed_rule.hpp"

#include "attn/core/rules/complete.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

/// Collects the settings that an expression names.
void add_settings(const RuleNode& node, const std::map<std::string, double>& all,
                  std::map<std::string, double>& named) {
    if (node.kind == RuleNode::Kind::name) {
        const auto found = all.find(node.word);
        if (found != all.end()) named.insert(*found);
    }
    for (const RuleTree& part : node.parts) add_settings(*part, all, named);
}

}  // namespace

Rule completed_for(const Rule& rule, const Outline& outline, const RuleScope& scope) {
    if (!scope.tensor) throw ConfigError("a rule reads tensors by a function of their names");
    const auto is_own = [&](const std::string& name) { return scope.own && name == rule.step; };
    const RuleNames names{[&](const std::string& name) {
                              if (!is_own(name)) scope.tensor(name);
                              return name;
                          },
                          [&](const std::string& name) {
                              if (is_own(name)) return *scope.own;
                              const Tensor& tensor = scope.tensor(name);
                              return Outline{tensor.axes(), tensor.shape()};
                          },
                          scope.settings,
                          [&](const std::string& name) {
                              if (is_own(name)) return RuleType::number;
                              const DType type = scope.tensor(name).dtype();
                              return type == DType::boolean ? RuleType::truth
                                     : type == DType::int64 ? RuleType::whole
                                                            : RuleType::number;
                          }};
    return completed(rule, outline, names);
}

Tensor CompletedRule::evaluate(const Rule& rule, const Outline& outline, DType dtype,
                               const RuleScope& scope) {
    require_whole_rule(rule);
    Key key{rule.value, {{outline.axes, outline.shape}}, {}, {}};
    add_settings(*rule.value, scope.settings, key.settings);
    for (const std::string& name : tensors_read(rule)) {
        if (scope.own && name == rule.step) continue;
        const Tensor& tensor = scope.tensor(name);
        key.tensors.emplace_back(tensor.axes(), tensor.shape());
        key.types.push_back(tensor.dtype());
    }
    std::shared_ptr<const Rule> whole;
    {
        const std::scoped_lock lock(one_at_a_time_);
        if (key == key_) whole = completed_;
    }
    if (whole == nullptr) {
        whole = std::make_shared<const Rule>(completed_for(rule, outline, scope));
        const std::scoped_lock lock(one_at_a_time_);
        key_ = std::move(key);
        completed_ = whole;
    }
    return evaluate_completed(*whole, outline, dtype, scope);
}

}  // namespace attn

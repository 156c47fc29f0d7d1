#include <algorithm>
#include <map>
#include <set>

#include "attn/core/rules/complete.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;
/// The replacements of indices.
using Indices = std::map<std::string, RuleTree>;

void add_names(const RuleNode& node, std::set<std::string>& names) {
    if (node.kind == Kind::name) names.insert(node.word);
    if (node.kind == Kind::reduce) names.insert(node.index);
    for (const RuleTree& part : node.parts) add_names(*part, names);
}

class Inliner {
public:
    Inliner(const Rule& rule, const std::function<std::optional<Rule>(const std::string&)>& result)
        : rule_of_(result), used_names_(rule.indices.begin(), rule.indices.end()) {
        add_names(*rule.value, used_names_);
    }

    RuleTree tree(const RuleNode& node, const Indices& indices) {
        if (node.kind == Kind::name) {
            const auto meant = indices.find(node.word);
            if (meant != indices.end()) return meant->second;
        }
        RuleNode copy = node;
        Indices inside = indices;
        if (node.kind == Kind::reduce && !indices.empty()) {
            copy.index = free_index(node.index);
            inside[node.index] = tree_of({.kind = Kind::name, .word = copy.index, .at = node.at});
        }
        for (std::size_t i = 0; i < copy.parts.size(); ++i) {
            const bool in_body = i + 1 == copy.parts.size();
            copy.parts[i] = tree(*node.parts[i], in_body ? inside : indices);
        }
        if (node.kind == Kind::cell) {
            if (const std::optional<Rule> rule = rule_of_(node.word)) {
                if (rule->indices.size() != copy.parts.size() || rule->value == nullptr) {
                    throw ConfigError("the rule of " + node.word + " has other indices than [" +
                                      joined(rule->indices, ",") + "] here");
                }
                if (++depth_ > deepest) {
                    throw ConfigError("the rule of " + node.word + " depends on itself");
                }
                Indices places;
                for (std::size_t i = 0; i < copy.parts.size(); ++i) {
                    places[rule->indices[i]] = copy.parts[i];
                }
                RuleTree whole = tree(*rule->value, places);
                --depth_;
                return whole;
            }
        }
        return tree_of(std::move(copy));
    }

private:
    std::string free_index(const std::string& index) {
        std::string name = index;
        for (int number = 2; !used_names_.insert(name).second; ++number) {
            name = index + std::to_string(number);
        }
        return name;
    }

    static constexpr std::size_t deepest = 256;

    const std::function<std::optional<Rule>(const std::string&)>& rule_of_;
    std::set<std::string> used_names_;
    std::size_t depth_ = 0;
};

}  // namespace

Rule inlined(const Rule& rule,
             const std::function<std::optional<Rule>(const std::string&)>& result) {
    require_whole_rule(rule);
    if (!result) throw ConfigError("rules are put into others by a function that knows them");
    Rule whole = rule;
    whole.text.clear();
    whole.value = Inliner(rule, result).tree(*rule.value, {});
    return whole;
}

}  // namespace attn

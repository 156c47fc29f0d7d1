#include "attn/rules/inline.hpp"

#include <map>
#include <set>

#include "attn/rules/nodes.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;
/// What stands in the place of an index.
using Indices = std::map<std::string, RuleTree>;

void add_names(const RuleNode& node, std::set<std::string>& names) {
    if (node.kind == Kind::name) names.insert(node.word);
    if (node.kind == Kind::reduce) names.insert(node.index);
    for (const RuleTree& part : node.parts) add_names(*part, names);
}

class Inliner {
public:
    Inliner(const Rule& rule, const std::function<std::optional<Rule>(const std::string&)>& made)
        : made_(made), taken_(rule.indices.begin(), rule.indices.end()) {
        add_names(*rule.value, taken_);
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
            if (const std::optional<Rule> rule = made_(node.word)) {
                Indices places;
                for (std::size_t i = 0; i < copy.parts.size(); ++i) {
                    places[rule->indices[i]] = copy.parts[i];
                }
                return tree(*rule->value, places);
            }
        }
        return tree_of(std::move(copy));
    }

private:
    std::string free_index(const std::string& index) {
        std::string name = index;
        for (int number = 2; !taken_.insert(name).second; ++number) {
            name = index + std::to_string(number);
        }
        return name;
    }

    const std::function<std::optional<Rule>(const std::string&)>& made_;
    std::set<std::string> taken_;
};

}  // namespace

Rule inlined(const Rule& rule, const std::function<std::optional<Rule>(const std::string&)>& made) {
    Rule whole = rule;
    whole.value = Inliner(rule, made).tree(*rule.value, {});
    return whole;
}

}  // namespace attn

#include "attn/rules/rule.hpp"

#include <algorithm>

namespace attn {
namespace {

using Kind = RuleNode::Kind;

}  // namespace

RuleTree tree_of(RuleNode node) { return std::make_shared<const RuleNode>(std::move(node)); }
bool is_operation(const RuleNode& node, const char* word) {
    return node.kind == Kind::operate && node.word == word && node.parts.size() == 2;
}
RuleTree number_node(double number) { return tree_of({.kind = Kind::number, .number = number}); }
RuleTree name_node(const std::string& name) { return tree_of({.kind = Kind::name, .word = name}); }
RuleTree cell_node(const std::string& tensor, const std::vector<RuleTree>& indices) {
    return tree_of({.kind = Kind::cell, .word = tensor, .parts = indices});
}
RuleTree call_node(const std::string& function, std::vector<RuleTree> parts) {
    return tree_of({.kind = Kind::call, .word = function, .parts = std::move(parts)});
}
RuleTree operate_node(const std::string& word, std::vector<RuleTree> parts) {
    return tree_of({.kind = Kind::operate, .word = word, .parts = std::move(parts)});
}
RuleTree choose_node(RuleTree condition, RuleTree yes, RuleTree no) {
    return tree_of(
        {.kind = Kind::choose, .parts = {std::move(condition), std::move(yes), std::move(no)}});
}

bool same_tree(const RuleNode& a, const RuleNode& b) {
    return a.kind == b.kind && a.word == b.word && a.index == b.index &&
           (a.kind != Kind::number || a.number == b.number) &&
           std::ranges::equal(a.parts, b.parts, [](const RuleTree& left, const RuleTree& right) {
               return same_tree(*left, *right);
           });
}

bool holds_index(const RuleNode& node, const std::string& name) {
    if (node.kind == Kind::name) return node.word == name;
    const bool binds = node.kind == Kind::reduce && node.index == name;
    const auto end = node.parts.end() - (binds ? 1 : 0);
    return std::any_of(node.parts.begin(), end,
                       [&](const RuleTree& part) { return holds_index(*part, name); });
}

bool gives_truth(const RuleNode& node) {
    const std::string& word = node.word;
    if (node.kind == Kind::choose) return gives_truth(*node.parts[1]);
    if (node.kind == Kind::cell) return word == "mask";
    return node.kind == Kind::operate &&
           (word == "and" || word == "or" || word == "not" ||
            std::string("<>=!").find(word.front()) != std::string::npos);
}

RuleTree changed(const RuleTree& tree, const std::function<RuleTree(const RuleNode&)>& change) {
    if (RuleTree other = change(*tree)) return other;
    RuleNode node = *tree;
    for (RuleTree& part : node.parts) part = changed(part, change);
    return tree_of(std::move(node));
}

RuleTree read_from(const RuleTree& tree, const std::string& tensor, const std::string& other) {
    RuleNode node = *tree;
    if (node.kind == Kind::cell && node.word == tensor) node.word = other;
    for (RuleTree& part : node.parts) part = read_from(part, tensor, other);
    return tree_of(std::move(node));
}

}  // namespace attn

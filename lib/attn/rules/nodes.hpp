#pragma once
#include <functional>
#include <string>
#include <vector>

#include "attn/rules/rule.hpp"

namespace attn {

// Nodes of rules that are made, not read.
RuleTree tree_of(RuleNode node);
RuleTree number_node(double number);
RuleTree name_node(const std::string& name);
RuleTree cell_node(const std::string& tensor, const std::vector<RuleTree>& indices);
RuleTree call_node(const std::string& function, std::vector<RuleTree> parts);
RuleTree operate_node(const std::string& word, std::vector<RuleTree> parts);
RuleTree choose_node(RuleTree condition, RuleTree yes, RuleTree no);

/// Whether the node is this operator between two.
bool is_operation(const RuleNode& node, const char* word);
/// Whether both are written alike.
bool same_tree(const RuleNode& a, const RuleNode& b);
/// Whether the name stands in the expression, outside of a reduction that binds it anew.
bool holds_index(const RuleNode& node, const std::string& name);
/// Whether an expression is a truth as it is written: `k > q`, or the mask.
bool gives_truth(const RuleNode& node);

/// The tree with each node that `change` answers for replaced.
RuleTree changed(const RuleTree& tree, const std::function<RuleTree(const RuleNode&)>& change);
/// The tree with every cell of one tensor read from another.
RuleTree read_from(const RuleTree& tree, const std::string& tensor, const std::string& other);

}  // namespace attn

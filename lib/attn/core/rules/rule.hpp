#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/rules/functions.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

struct RuleNode;
using RuleTree = std::shared_ptr<const RuleNode>;

/// A node in the right side of a rule.
struct RuleNode {
    enum class Kind {
        number,   ///< `2`, `-inf`
        name,     ///< an index, or a setting: a number of the plan
        cell,     ///< `scores[q,k]`; the parts are its indices
        call,     ///< `exp(...)`; the parts are its arguments
        operate,  ///< `+`, `and`, `<`, `not`, ... with one part or two
        choose,   ///< if (part 0) then (part 1) else (part 2)
        reduce,   ///< `sum k: ...`; the parts are body, or with `in first..end` first, end and body
    };
    Kind kind = Kind::number;
    std::string word{};   ///< the name, the function, the operator, `sum`, ...
    std::string index{};  ///< of a reduction
    double number = 0;
    std::vector<RuleTree> parts{};
    std::size_t at = 0;  ///< its place in the text
    RuleType type = RuleType::number;
    /// For a completed cell: the axes of its tensor and their lengths.
    std::shared_ptr<const Outline> outline{};
};

/// A step of attention as an equation in index notation: `weights[q,k] = exponentials[q,k] /
/// row_sum[q]`.
struct Rule {
    Rule() = default;
    /// Parses a rule.  Errors  as parse_rule; an empty text is an empty rule.
    Rule(const std::string& notation);
    Rule(const char* notation) : Rule(std::string(notation)) {}
    Rule(std::string notation, std::string name, std::vector<std::string> letters, RuleTree tree)
        : text(std::move(notation)),
          step(std::move(name)),
          indices(std::move(letters)),
          value(std::move(tree)) {}

    std::string text;                  ///< as written; empty if it was built from nodes
    std::string step;                  ///< the tensor on its left side
    std::vector<std::string> indices;  ///< of its axes; leading ones are omitted if they are shared
    RuleTree value;
};

/// Returns the grammar of rules, and that of attention files, as EBNF: the input of parse_rule.
const char* rule_grammar();
const char* attention_grammar();

/// Parses a rule of that grammar.
///
/// `sum i:` and `else` extend to the end or a closing bracket. `//` rounds down, and so does `/`
/// within the indices of a cell and the ends of a range.
/// Errors  ConfigError with a caret under the place.
Rule parse_rule(std::string_view text);
/// Parses an expression.
RuleTree parse_expression(std::string_view text);

/// Throws the error for a place in a rule: the message, the rule, and a caret under the place.
[[noreturn]] void refuse_rule(const std::string& text, std::size_t at, const std::string& message);
/// Throws the error for a rule that may have been built from nodes, without places.
[[noreturn]] void refuse_rule(const Rule& rule, std::size_t at, const std::string& message);
/// Errors  ConfigError for a rule without a step or a value, and for a node with other parts than
///         its kind requires.
void require_whole_rule(const Rule& rule);
void require_whole_node(const RuleNode& node);

/// Returns the names of the tensors that a rule reads, without repetition, in the order of the
/// text; empty for an empty rule.
std::vector<std::string> tensors_read(const Rule& rule);

// Build nodes. Their types follow from their parts; a cell has its own.
RuleTree tree_of(RuleNode node);
RuleTree number_node(double number);
RuleTree name_node(const std::string& name);
RuleTree cell_node(const std::string& tensor, const std::vector<RuleTree>& indices);
RuleTree call_node(const std::string& function, std::vector<RuleTree> parts);
RuleTree operate_node(const std::string& word, std::vector<RuleTree> parts);
RuleTree choose_node(RuleTree condition, RuleTree yes, RuleTree no);
/// Builds `sum index in first..end: body`.
RuleTree reduce_node(const std::string& word, const std::string& index, RuleTree first,
                     RuleTree end, RuleTree body);

/// True if the node is this binary operator.
bool is_operation(const RuleNode& node, const char* word);
/// True if both have the same text.
bool same_tree(const RuleNode& a, const RuleNode& b);
/// True if the name occurs freely in the expression, outside of reductions that bind it.
bool holds_index(const RuleNode& node, const std::string& name);
/// True if an expression reads a tensor.
bool reads_cells(const RuleNode& node);
/// True if an expression is boolean: `k > q`, or the mask.
inline bool gives_truth(const RuleNode& node) { return node.type == RuleType::truth; }
/// True if an expression is an integer, also as a sum, product or extreme of integers.
bool is_integer(const RuleNode& node);
/// True if an expression is that number.
bool is_number(const RuleNode& node, double number);

/// Replaces each node for which `change` returns a tree.  Errors  ConfigError without a tree.
RuleTree changed(const RuleTree& tree, const std::function<RuleTree(const RuleNode&)>& change);
/// Replaces the tensor of all its cells by another.
RuleTree read_from(const RuleTree& tree, const std::string& tensor, const std::string& other);

}  // namespace attn

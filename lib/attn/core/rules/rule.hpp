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

/// A node of the right side of a rule.
struct RuleNode {
    enum class Kind {
        number,   ///< `2`, `-inf`
        name,     ///< an index, or a setting: a number of the plan
        cell,     ///< `scores[q,k]`; the parts are its indices
        call,     ///< `exp(...)`; the parts are what it is called with
        operate,  ///< `+`, `and`, `<`, `not`, ... of one part or two
        choose,   ///< if (part 0) then (part 1) else (part 2)
        reduce,   ///< `sum k: ...`, with `in first..end` the parts are first, end and body
    };
    Kind kind = Kind::number;
    std::string word{};   ///< the name, the function, the operator, `sum`, ...
    std::string index{};  ///< of a reduction
    double number = 0;
    std::vector<RuleTree> parts{};
    std::size_t at = 0;  ///< its place in the text
    RuleType type = RuleType::number;
    /// What a completed cell reads: its axes and their lengths.
    std::shared_ptr<const Outline> outline{};
};

/// One step of attention as one sentence of arithmetic, in index notation:
/// `weights[q,k] = exponentials[q,k] / row_sum[q]`.
struct Rule {
    Rule() = default;
    /// A card says its rule as a text.  Errors  as parse_rule; an empty text is an empty rule.
    Rule(const std::string& said);
    Rule(const char* said) : Rule(std::string(said)) {}
    Rule(std::string said, std::string name, std::vector<std::string> letters, RuleTree tree)
        : text(std::move(said)),
          step(std::move(name)),
          indices(std::move(letters)),
          value(std::move(tree)) {}

    std::string text;                  ///< as it was written; empty for one that was made
    std::string step;                  ///< the tensor that it makes
    std::vector<std::string> indices;  ///< of its axes, the leading ones left out where shared
    RuleTree value;
};

/// The grammar of rules, and that of attention files, as EBNF: what parse_rule reads.
const char* rule_grammar();
const char* attention_grammar();

/// Reads a rule of that grammar.
///
/// All that is after `sum i:` or `else` belongs to it up to the end or a closing bracket.
/// `//` rounds down, and so does `/` within the indices of a cell and the ends of a range.
/// Errors  ConfigError with a caret under the place.
Rule parse_rule(std::string_view text);
/// The same of an expression alone.
RuleTree parse_expression(std::string_view text);

/// The error of a place in a rule: the message, the rule, and a caret under the place.
[[noreturn]] void refuse_rule(const std::string& text, std::size_t at, const std::string& message);
/// The same of a rule that may have been made, which has no places.
[[noreturn]] void refuse_rule(const Rule& rule, std::size_t at, const std::string& message);
/// Errors  ConfigError for a rule without a step or a value, and for a node with other parts than
/// its kind has.
void require_whole_rule(const Rule& rule);
void require_whole_node(const RuleNode& node);

/// The names of the tensors that a rule reads, each once, in the order of the text; none of an
/// empty rule.
std::vector<std::string> tensors_read(const Rule& rule);

// Nodes of rules that are made, not read. The type of each follows from its parts; that of a cell
// is the one it has.
RuleTree tree_of(RuleNode node);
RuleTree number_node(double number);
RuleTree name_node(const std::string& name);
RuleTree cell_node(const std::string& tensor, const std::vector<RuleTree>& indices);
RuleTree call_node(const std::string& function, std::vector<RuleTree> parts);
RuleTree operate_node(const std::string& word, std::vector<RuleTree> parts);
RuleTree choose_node(RuleTree condition, RuleTree yes, RuleTree no);
/// `sum index in first..end: body`
RuleTree reduce_node(const std::string& word, const std::string& index, RuleTree first,
                     RuleTree end, RuleTree body);

/// Whether the node is this operator between two.
bool is_operation(const RuleNode& node, const char* word);
/// Whether both are written alike.
bool same_tree(const RuleNode& a, const RuleNode& b);
/// Whether the name is in the expression, outside of a reduction that binds it anew.
bool holds_index(const RuleNode& node, const std::string& name);
/// Whether an expression reads a tensor.
bool reads_cells(const RuleNode& node);
/// Whether an expression is a truth: `k > q`, or the mask.
inline bool gives_truth(const RuleNode& node) { return node.type == RuleType::truth; }
/// Whether an expression is that number.
bool is_number(const RuleNode& node, double number);

/// The tree with each node that `change` answers for replaced.  Errors  ConfigError without a tree.
RuleTree changed(const RuleTree& tree, const std::function<RuleTree(const RuleNode&)>& change);
/// The tree with every cell of one tensor read from another.
RuleTree read_from(const RuleTree& tree, const std::string& tensor, const std::string& other);

}  // namespace attn

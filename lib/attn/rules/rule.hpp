#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
};

/// One step of attention as one sentence of arithmetic, in index notation:
/// `weights[q,k] = exponentials[q,k] / row_sum[q]`.
struct Rule {
    std::string text;
    std::string step;                  ///< the tensor that it makes
    std::vector<std::string> indices;  ///< of its axes, the leading ones left out where shared
    RuleTree value;
};

/// Reads a rule.
///
///     rule        name[index, ...] = expression
///     expression  numbers, names, cells name[...], + - * / % ^, comparisons, and or not,
///                 if c then a else b, sum i: e, mean i: e, max i: e, min i: e, sum i in a..b: e,
///                 exp log sqrt tanh cos sin abs sigmoid relu floor half min max
///
/// All that stands behind `sum i:` or `else` belongs to it up to the end or a closing bracket.
/// Errors  ConfigError with a caret under the place.
Rule parse_rule(std::string_view text);

/// The error of a place in a rule: the message, the rule, and a caret under the place.
[[noreturn]] void refuse_rule(const std::string& text, std::size_t at, const std::string& message);

/// The names of the tensors that a rule reads, each once, in the order of the text.
std::vector<std::string> tensors_read(const Rule& rule);

}  // namespace attn

#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/rules/rule.hpp"

namespace attn {

/// A rule with arguments: `unit(v)[f] = v[f] / sqrt(sum e: v[e] ^ 2)`. An argument is a tensor,
/// read as `v[...]`, or an expression, read as `v`.
struct Definition {
    std::string name;
    std::vector<std::string> arguments, indices;
    bool has_indices = false;  ///< it is read like a cell: `unit(query)[h,t,f]`
    RuleTree value;
};
using Definitions = std::map<std::string, Definition, std::less<>>;

/// Parses a definition, which may use earlier ones.
///
/// Errors  ConfigError with a caret, also for a name that a function has.
Definition parse_definition(std::string_view text, const Definitions& earlier);
/// As parse_rule, with definitions, whose rules replace their names.
Rule parse_rule(std::string_view text, const Definitions& definitions);

/// Returns the rule of a definition for its arguments and the indices after it. Indices that the
/// definition lacks come first in each tensor that is an argument. Sums get other indices if those
/// of the definition occur in `used_letters`.
///
/// Errors  ConfigError without a caret for other numbers of arguments or indices, an expression in
///         place of a tensor, and a result of more than 4096 parts.
RuleTree expanded(const Definition& definition, const std::vector<RuleTree>& arguments,
                  const std::vector<RuleTree>& indices, std::string_view used_letters,
                  std::size_t at);

/// Rewrites `softmax k: e` as exp(e - stop(m)) / (sum j: exp(e - stop(m))), where m is
/// the maximum of e over j. A shift changes no weight, so gradients need not pass through it.
RuleTree written_out_softmax(const RuleNode& softmax, const std::string& other_index);

// `latest scores` is the latest tensor of a chain, `exact scores` the step with that name.

/// Returns the name without `exact `, and whether it was there.
inline std::pair<std::string, bool> exact_name(const std::string& name) {
    constexpr std::string_view word = "exact ";
    const bool is_exact = name.starts_with(word);
    return {is_exact ? name.substr(word.size()) : name, is_exact};
}
/// True if an expression contains `latest`: then names without it are exact.
bool names_latest(const RuleNode& node);
/// Returns the expression with its names made exact.
RuleTree with_exact_names(const RuleTree& tree);

}  // namespace attn

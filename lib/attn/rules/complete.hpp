#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "attn/rules/rule.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

/// The meaning of names in a rule, before there are numbers.
struct RuleNames {
    /// The step that a name stands for: itself, or the latest of a chain.
    /// Errors  ConfigError for a name without one, saying what to do.
    std::function<std::string(const std::string& name)> step;
    std::function<Outline(const std::string& step)> outline;
    std::map<std::string, double> settings;  ///< `D` and its number
};

/// The rule that anybody can follow who has the tensors before it: steps by their names, numbers in
/// the place of settings, and an index for each axis. A rule that names fewer leaves out the first
/// ones, and so may every tensor that it reads: they are the same there, or 0 where there is but
/// one.
///
/// Errors  ConfigError with a caret: too many indices, unknown tensors, axes that nothing binds.
Rule completed(const Rule& rule, const Outline& made, const RuleNames& names);

/// The rule with the rules of other steps in the place of their cells: those for which `made` knows
/// one, and what these read in turn. All must be completed.
Rule inlined(const Rule& rule, const std::function<std::optional<Rule>(const std::string&)>& made);

}  // namespace attn

#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// The meaning of names in a rule, before there are numbers.
struct RuleNames {
    /// Returns the step for a name: itself, or the latest of a chain.
    /// Errors  ConfigError for an unknown name, with advice.
    std::function<std::string(const std::string& name)> step;
    std::function<Outline(const std::string& step)> outline;
    std::map<std::string, double> settings;  ///< `D` and its number
    /// The type of a step's cells; if empty, `mask` is boolean and others are numbers.
    std::function<RuleType(const std::string& step)> type{};
};

/// An axis that an index runs over alone: `k` in `key[k,f]`.
struct RuleAxis {
    const RuleNode* cell;
    std::size_t axis;   ///< of the cell
    bool is_requested;  ///< inside an `if`, which may exceed the axis
    std::size_t length() const { return cell->outline->shape[axis]; }
    const std::string& name() const { return cell->outline->axes[axis]; }
};
/// Returns the axes of an index in a completed expression, in the order of its text.
std::vector<RuleAxis> axes_of(const RuleNode& node, const std::string& index);
/// Infers the range of a summation index from the axes that it runs over; nullopt if there are
/// none, or their lengths differ.
std::optional<std::size_t> specified_length(const RuleNode& body, const std::string& index);

/// Makes a rule self-contained: steps by their names, numbers in place of settings, an index for
/// each axis, a range for each sum, `//` for `/` that rounds down, and the type of each node. A
/// rule with fewer indices than axes omits the first ones, and so may each tensor that it reads:
/// they are the same there, or 0 if the length is 1. Completed parts are unchanged.
///
/// Errors  ConfigError with a caret: too many indices, unknown tensors, unbound axes and names, two
///         lengths for one index, a boolean in place of a number, an index that is not an integer;
///         without a caret for a rule or names that lack a part.
Rule completed(const Rule& rule, const Outline& result, const RuleNames& names);

/// Replaces cells of other steps by their rules: those for which `result` returns one, recursively.
/// All must be completed.
///
/// Errors  ConfigError for rules that read each other, and for cells with other indices than their
///         rule.
Rule inlined(const Rule& rule,
             const std::function<std::optional<Rule>(const std::string&)>& result);

/// How a rule reads its own step: at a smaller index of one axis, so that its rows can be computed
/// in the order of that axis, or at a larger one, as in a backward pass.
struct RuleOrder {
    std::size_t axis = 0;
    bool backwards = false;
};
/// Returns the order of a completed rule; nullopt if it does not read itself, or there is none.
std::optional<RuleOrder> order_of(const Rule& rule);
/// Returns the orders if one axis is not enough: sequences first, then an axis within them.
std::vector<RuleOrder> orders_of(const Rule& rule);
/// Returns the axes along which a cell reads only cells at its own place, so that the places are
/// independent, such as heads.
std::vector<std::size_t> distinguished_axes(const Rule& rule);
/// Errors  ConfigError with a caret for a completed rule that reads itself in no order, or without
///         a condition that the earlier row exists.
void require_order(const Rule& rule);

/// Returns remarks on a completed rule that runs: an index over different kinds of axes that happen
/// to have the same length, a quotient of indices that is compared but not rounded down, and sums
/// too long for float32. One sentence each.
std::vector<std::string> remarks_on(const Rule& rule, const Outline& result, bool in_float32);

}  // namespace attn

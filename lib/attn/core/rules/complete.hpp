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
    /// The step that a name stands for: itself, or the latest of a chain.
    /// Errors  ConfigError for a name without one, saying what to do.
    std::function<std::string(const std::string& name)> step;
    std::function<Outline(const std::string& step)> outline;
    std::map<std::string, double> settings;  ///< `D` and its number
    /// What the cells of a step are; where nobody says it, those of `mask` are truths.
    std::function<RuleType(const std::string& step)> type{};
};

/// A place where an index goes over an axis by itself: `k` in `key[k,f]`.
struct RuleAxis {
    const RuleNode* cell;
    std::size_t axis;  ///< of the cell
    bool is_asked;     ///< on one side of an `if`, which may leave the axis
    std::size_t length() const { return cell->outline->shape[axis]; }
    const std::string& name() const { return cell->outline->axes[axis]; }
};
/// Those of an index in a completed expression, in the order of its text.
std::vector<RuleAxis> axes_of(const RuleNode& node, const std::string& index);
/// The length that the axes say of a sum's index, so that nobody has to; nothing where none does,
/// or not all the same.
std::optional<std::size_t> length_said(const RuleNode& body, const std::string& index);

/// The rule that anybody can follow who has the tensors before it: steps by their names, numbers in
/// the place of settings, an index for each axis, a range for each sum, `//` where `/` rounds down,
/// and the type of each node. A rule that names fewer indices leaves out the first ones, and so may
/// every tensor that it reads: they are the same there, or 0 where there is but one. What is
/// complete stays as it is.
///
/// Errors  ConfigError with a caret: too many indices, unknown tensors, axes and names that nothing
///         binds, two lengths for one index, a truth where a number is due, an index that is made
///         of other than whole numbers; without one for a rule or names that lack a part.
Rule completed(const Rule& rule, const Outline& made, const RuleNames& names);

/// The rule with the rules of other steps in the place of their cells: those for which `made` knows
/// one, and what these read in turn. All must be completed.
///
/// Errors  ConfigError for rules that read each other, and for cells of other indices than a
/// rule's.
Rule inlined(const Rule& rule, const std::function<std::optional<Rule>(const std::string&)>& made);

/// How a rule reads its own step: where one index is smaller, so that its rows can be made in the
/// order of that axis, or where it is larger, as on the way back.
struct RuleOrder {
    std::size_t axis = 0;
    bool backwards = false;
};
/// That of a completed rule; nothing where it does not read itself, or in no such order.
std::optional<RuleOrder> order_of(const Rule& rule);
/// The same where one axis is not enough: that of sequences first, then one within each of them.
std::vector<RuleOrder> orders_of(const Rule& rule);
/// The axes along which its own cells lie where the cell lies that reads them: what one head makes
/// waits for no other.
std::vector<std::size_t> apart_axes(const Rule& rule);
/// Errors  ConfigError with a caret for a completed rule that reads itself in no order, or without
///         asking whether there is a row before.
void require_order(const Rule& rule);

/// What a user should know of a completed rule that runs: an index that goes over other things in
/// one place than in another, which only happen to be as many, a quotient of indices that is
/// compared and does not round down, and sums too long for float32. One sentence each.
std::vector<std::string> remarks_on(const Rule& rule, const Outline& made, bool in_float32);

}  // namespace attn

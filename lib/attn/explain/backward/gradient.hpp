#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/rules/indices.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// Returns the contribution of one rule to the gradient of a tensor that it reads: the derivative
/// of the rule by each cell of the tensor, times the gradient of the rule's result, named `d_` and
/// the result. Contributions of a cell that is read several times are summed:
///
///     scores[q,k] = sum f: query[q,f] * key[k,f]
///     d_key[k,f] = sum q: d_scores[q,k] * query[q,f]
///
/// A rule that makes a single number is the loss, with gradient 1. If the tensor's index is a plain
/// index of the rule, that sum disappears; other index expressions are solved for their indices.
///
/// `rule` must be completed; `indices` are names for the axes of the tensor. Returns a completed
/// expression; nullptr if the rule reads the tensor only in indices and conditions.
///
/// Errors  ShapeError if `indices` and the tensor's axes differ in number, ConfigError for a rule
///         that is not completed, or does not fit the given outlines.
RuleTree gradient_of(const Rule& rule, const std::string& tensor,
                     const std::vector<std::string>& indices,
                     const std::function<Outline(const std::string& tensor)>& outline);

/// Returns a derivative from the table of functions (RuleFunction::by_x), with the parts of the
/// node for x and y, and `value` for v.
RuleTree derivative_term(const char* term, const RuleTree& node, const RuleTree& value);

/// Errors  ConfigError for an expression that is not completed: a cell without its axes, a sum
///         without its range.
void require_completed(const RuleNode& node);

/// A summation index, from `first` to before `end`.
struct GradientLoop {
    std::string index;
    RuleTree first, end;
};

/// One term of a gradient: a sum of products, under conditions.
struct GradientTerm {
    bool negative = false;
    std::vector<RuleTree> over{}, under{};  ///< factors and divisors
    std::vector<RuleTree> conditions{};
    std::vector<GradientLoop> loops{};  ///< outermost first

    GradientTerm times(const RuleTree& factor) const;
    GradientTerm over_by(const RuleTree& divisor) const;
    GradientTerm minus() const;
    GradientTerm where(const RuleTree& condition) const;
};

/// Returns the term for the cells of a tensor that a rule reads at `parts`: indices that are solved
/// for are no longer summed. `indices` are the cell's, `shape` the tensor's. nullopt if no cell is
/// read.
std::optional<GradientTerm> solved(GradientTerm term, const std::vector<RuleTree>& parts,
                                   const std::vector<std::string>& indices, const Shape& shape,
                                   IndexSpans spans);

/// Returns the number of iterations of a loop, but at least `least`; 0 if it ends before it begins.
RuleTree places_in(const GradientLoop& loop, const IndexSpans& spans, double least);

/// Returns the sum of all terms, with letters for summation indices; nullptr without terms.
RuleTree sum_of(std::vector<GradientTerm> terms, const std::vector<std::string>& indices,
                const IndexSpans& spans);

}  // namespace attn

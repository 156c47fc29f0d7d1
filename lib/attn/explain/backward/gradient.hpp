#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/rules/indices.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// The gradient that a tensor is given by one rule that reads it: the derivative of the rule by
/// each cell of the tensor, times the gradient of what the rule makes, which is called `d_` and its
/// name. A cell that is read many times gets the sum:
///
///     scores[q,k] = sum f: query[q,f] * key[k,f]
///     d_key[k,f] = sum q: d_scores[q,k] * query[q,f]
///
/// A rule that makes one number is the loss, whose own gradient is 1.
/// A plain index drops its sum, and an index that is made of others is solved for them.
///
/// `rule` is a completed one; `indices` are the names of the axes of the tensor. Returns a
/// completed expression; nothing where the rule reads the tensor in indices and conditions alone.
///
/// Errors  ShapeError for another number of indices than the tensor has axes, ConfigError for a
///         rule that is not completed, or not for the outlines that are given.
RuleTree gradient_of(const Rule& rule, const std::string& tensor,
                     const std::vector<std::string>& indices,
                     const std::function<Outline(const std::string& tensor)>& outline);

/// What the table of functions says of a derivative (RuleFunction::by_x), with the parts of the
/// node in the place of x and y, and `value` in that of v.
RuleTree derivative_term(const char* term, const RuleTree& node, const RuleTree& value);

/// Errors  ConfigError for an expression that is not completed: a cell without its axes, a sum
///         without its range.
void require_completed(const RuleNode& node);

/// An index that is added up over, from first on up to end.
struct GradientLoop {
    std::string index;
    RuleTree first, end;
};

/// One term of a gradient: a sum of products, where conditions hold.
struct GradientTerm {
    bool negative = false;
    std::vector<RuleTree> over{}, under{};  ///< factors, and what they are divided by
    std::vector<RuleTree> conditions{};
    std::vector<GradientLoop> loops{};  ///< outermost first

    GradientTerm times(const RuleTree& factor) const;
    GradientTerm over_by(const RuleTree& divisor) const;
    GradientTerm minus() const;
    GradientTerm where(const RuleTree& condition) const;
};

/// The term for the cells of a tensor that a rule reads at `parts`: what is solved for is no longer
/// added up over. `indices` are the cell's, `shape` the tensor's. Nothing where no cell is read.
std::optional<GradientTerm> solved(GradientTerm term, const std::vector<RuleTree>& parts,
                                   const std::vector<std::string>& indices, const Shape& shape,
                                   IndexSpans spans);

/// How many places a loop has, but never less than so many: 0 where it ends before it begins.
RuleTree places_in(const GradientLoop& loop, const IndexSpans& spans, double least);

/// The expression of all terms, with letters for the indices that are added up over; nothing for
/// none.
RuleTree sum_of(std::vector<GradientTerm> terms, const std::vector<std::string>& indices,
                const IndexSpans& spans);

}  // namespace attn

#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/rules/rule.hpp"
#include "attn/walk/step.hpp"

namespace attn {

/// A rule that differs in one thing from the right one.
struct Mutation {
    std::string kind;  ///< `two indices exchanged`
    Rule rule;
};

/// The right rule of a step with one thing wrong: two indices exchanged, a factor left out, doubled
/// or inverted, another tensor of the same shape read, an offset of one, a sum along another axis,
/// a condition turned round, a function left out, a sign turned, two steps in the other order.
///
/// `rule` is completed, and reads what `read` holds.
std::vector<Mutation> mutations(const Rule& rule, const Ledger& read);

/// The one that makes `tensor` from the tensors of `read`, as `is_theirs` judges it; nothing where
/// none does, or where two of different kinds do. A step that is not in
/// `read` is worked out by its rule.
std::optional<Mutation> mutation_behind(const Tensor& tensor, const PlannedStep& of,
                                        const Ledger& read,
                                        const std::function<bool(const Tensor&)>& is_theirs);

}  // namespace attn

#pragma once
#include <vector>

#include "attn/core/rules/rule.hpp"
#include "attn/judge/diagnose/search.hpp"

namespace attn {

/// Adds what can be done to a step as a whole beside its rule, or more to all that the rule reads.
void mutate_whole(const Rule& rule, const Ledger& read, const Outline& made,
                  std::vector<Mutation>& found);

/// A node with another part in the place of one.
inline RuleTree with_part(const RuleNode& node, std::size_t i, RuleTree part) {
    RuleNode copy = node;
    copy.parts[i] = std::move(part);
    return tree_of(std::move(copy));
}

}  // namespace attn

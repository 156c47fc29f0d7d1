#pragma once
#include <vector>

#include "attn/core/rules/rule.hpp"
#include "attn/judge/diagnose/search.hpp"

namespace attn {

/// Adds changes to a step as a whole, and additional operations on all its inputs.
void mutate_whole(const Rule& rule, const Ledger& read, const Outline& outline,
                  std::vector<Mutation>& found);

/// Returns a copy of a node with part `i` replaced.
inline RuleTree with_part(const RuleNode& node, std::size_t i, RuleTree part) {
    RuleNode copy = node;
    copy.parts[i] = std::move(part);
    return tree_of(std::move(copy));
}

}  // namespace attn

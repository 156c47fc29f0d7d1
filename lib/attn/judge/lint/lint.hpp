#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/core/walk/walk.hpp"

namespace attn {

enum class Severity { error, warning, info };

/// One pitfall: a check of a walk, and its lesson.
struct LintRule {
    std::string id;
    Severity severity;
    /// One line with the numbers of this walk, or nothing if the pitfall is not met.
    std::optional<std::string> (*check)(const Plan&, const Ledger&);
    std::string lesson;
};

/// Every rule, errors first.
const std::vector<LintRule>& lint_rules();

/// A pitfall that a walk meets.
struct LintFinding {
    const LintRule* rule;
    std::string line;
};

/// Looks for every pitfall in a walk.
std::vector<LintFinding> lint(const Plan& plan, const Ledger& ledger);

}  // namespace attn

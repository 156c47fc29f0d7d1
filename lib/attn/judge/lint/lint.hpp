#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/walk/walk.hpp"

namespace attn {

enum class Severity { error, warning, info };

/// A pitfall: a check of a walk, and its lesson.
struct LintRule {
    std::string id;
    Severity severity;
    /// Returns one line with numbers of this walk; nullopt if the pitfall does not apply.
    std::function<std::optional<std::string>(const Plan&, const Ledger&)> check;
    std::string lesson;
};

/// All rules, errors first.
const std::vector<LintRule>& lint_rules();

/// A pitfall that applies to a walk.
struct LintFinding {
    const LintRule* rule;
    std::string line;
};

/// Checks a walk for all pitfalls.
std::vector<LintFinding> lint(const Plan& plan, const Ledger& ledger);

}  // namespace attn

#include "app/commands/walk.hpp"

#include <algorithm>
#include <array>

#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "attn/compare/compare.hpp"
#include "attn/lint/lint.hpp"
#include "attn/plan/memory.hpp"

namespace app {
namespace {

/// A walk that was made.
struct Walked {
    const Arguments& arguments;
    const attn::Plan& plan;
    const attn::StepTable& table;
    const attn::Ledger& ledger;

    /// The flags of this walk that the command has too.
    Arguments flags_of(const std::string& command) const {
        return arguments.narrowed_to(find_command(command)->tables);
    }
};

/// Of the walk that a newcomer makes first.
std::string of_nothing_said(const Walked& walked) {
    return walked.arguments.said().empty() ? "attn-explain tour  # and then: attn-explain quiz"
                                           : "";
}

std::string of_mistake(const Walked& walked) {
    const std::vector<std::string> bugs = walked.arguments[flags::bugs];
    return bugs.empty() ? "" : "attn-explain bugs " + bugs.front();
}

std::string of_lint(const Walked& walked) {
    constexpr double small = 5e7;
    if (walked.plan.fused() || attn::bytes_needed(walked.plan) > small) return {};
    const std::vector<attn::LintFinding> findings = attn::lint(walked.plan, walked.ledger);
    const auto is_serious = [](const attn::LintFinding& finding) {
        return finding.rule->severity != attn::Severity::info;
    };
    if (std::none_of(findings.begin(), findings.end(), is_serious)) return {};
    return command_line("lint", walked.flags_of("lint"));
}

/// The largest weight that is no certainty, in the last row that has one.
std::string of_weight(const Walked& walked) {
    const attn::Tensor* weights = walked.ledger.find("weights");
    if (weights == nullptr || weights->size() == 0) return {};
    const std::size_t width = weights->shape().back();
    for (std::size_t end = weights->size(); end > 0; end -= width) {
        std::size_t best = end - width;
        for (std::size_t i = best; i < end; ++i) {
            if (weights->at(i) > weights->at(best)) best = i;
        }
        if (!(weights->at(best) > 0 && weights->at(best) < 1)) continue;
        Arguments flags = walked.flags_of("why");
        flags.set(flags::cell,
                  "weights" + attn::index_text(attn::indices_of(best, weights->shape())));
        return command_line("why", flags);
    }
    return {};
}

std::string of_steps(const Walked& walked) { return command_line("step", walked.flags_of("step")); }

/// The first that has something to say.
constexpr std::array all_hints{of_nothing_said, of_mistake, of_lint, of_weight, of_steps};

}  // namespace

std::string next_command(const Arguments& arguments, const attn::Plan& plan,
                         const attn::StepTable& table, const attn::Ledger& ledger) {
    const Walked walked{arguments, plan, table, ledger};
    for (const auto hint : all_hints) {
        const std::string line = hint(walked);
        if (!line.empty()) return line;
    }
    return {};
}

}  // namespace app

#include "attn/judge/lint/lint.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/lint/lint_checks.hpp"

/// The lines of rules.txt.
extern "C" const char attn_lint_rules[];

namespace attn {
namespace {

using namespace lint_checks;

struct Row {
    std::string_view id;
    Check* check;
};
constexpr Row rows[] = {
    {"softmax-axis", softmax_axis},
    {"scale-dmodel", scale_dmodel},
    {"hidden-rows", hidden_rows},
    {"unmasked-padding", unmasked_padding},
    {"not-finite", not_finite},
    {"huge-numbers", huge_numbers},
    {"scale-missing", scale_missing},
    {"scale-number", scale_number},
    {"saturated-softmax", saturated},
    {"no-gradient", no_gradient},
    {"exp-overflow", exp_overflow},
    {"float16-scores", float16_scores},
    {"narrow-sums", narrow_sums},
    {"rank-one-scores", rank_one},
    {"init-positive", positive_init},
    {"no-position", no_position},
    {"beyond-training", beyond_training},
    {"equal-positions", equal_positions},
    {"unseen-scaling", unseen_scaling},
    {"vocabulary-gaps", vocabulary_gaps},
    {"coincident-sizes", coincident_sizes},
    {"blind-padding", blind_padding},
    {"past-positions", past_positions},
    {"sink-share", sink_share},
    {"shared-heads", equal_groups},
    {"window-not-causal", window_not_causal},
    {"t5-scale", t5_scale},
    {"t5-cross", t5_cross},
    {"window-holds-all", window_holds_all},
    {"cap-without-effect", cap_without_effect},
    {"causal-lengths", causal_lengths},
    {"no-output-projection", no_output_projection},
    {"rotary-width", rotary_width},
    {"fused-by-head", fused_by_head},
    {"three-heads", three_heads},
    {"no-power", no_power},
};

std::vector<LintRule> read_rules() {
    std::vector<LintRule> rules;
    std::istringstream text(operator""_told(attn_lint_rules, std::strlen(attn_lint_rules)));
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with('#')) continue;
        if (line.starts_with(' ')) {
            std::string& lesson = rules.back().lesson;
            lesson += (lesson.empty() ? "" : " ") + std::string(trimmed(line));
            continue;
        }
        const std::string grave = line.substr(0, line.find(' '));
        const std::string id = line.substr(grave.size() + 1);
        const Severity severity = grave == "error"     ? Severity::error
                                  : grave == "warning" ? Severity::warning
                                                       : Severity::info;
        rules.push_back({id, severity, std::ranges::find(rows, id, &Row::id)->check, ""});
    }
    return rules;
}

}  // namespace

const std::vector<LintRule>& lint_rules() {
    static const std::vector<LintRule> rules = read_rules();
    return rules;
}

std::vector<LintFinding> lint(const Plan& plan, const Ledger& ledger) {
    std::vector<LintFinding> findings;
    for (const LintRule& rule : lint_rules()) {
        try {
            if (std::optional<std::string> line = rule.check(plan, ledger)) {
                findings.push_back({&rule, std::move(*line)});
            }
        } catch (const ConfigError&) {
            // An attention of a file may lack the step that a pitfall needs.
            if (plan.config.attentions.empty()) throw;
        }
    }
    return findings;
}

}  // namespace attn

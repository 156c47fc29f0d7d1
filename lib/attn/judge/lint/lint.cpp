#include "attn/judge/lint/lint.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <sstream>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/lint/lint_checks.hpp"
#include "attn/judge/mistakes/change.hpp"

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
    {"hidden-rows", hidden_rows},
    {"unmasked-padding", unmasked_padding},
    {"not-finite", not_finite},
    {"huge-numbers", huge_numbers},
    {"scale-missing", scale_missing},
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
    {"sink-share", sink_share},
    {"cap-without-effect", cap_without_effect},
    {"causal-lengths", causal_lengths},
    {"no-power", no_power},
};

/// Fills in `{EXPRESSION}` and `{EXPRESSION: NOUN}`, a number and its noun in the right form.
std::string with_numbers(std::string_view sentence, const Plan& plan) {
    return filled(sentence, [&](std::string_view remainder) -> std::optional<std::string> {
        const std::size_t colon = std::min(remainder.find(": "), remainder.size());
        const double number = plan_value(remainder.substr(0, colon))(plan);
        const bool is_whole = number == std::floor(number);
        const std::string text = is_whole ? six_digits(number) : brief(number);
        if (colon == remainder.size()) return text;
        return text + " " + std::string(remainder.substr(colon + 2)) + (number == 1 ? "" : "s");
    });
}

/// Reads `when CONDITION` and `says SENTENCE`; the first of several that applies answers.
void add_case(std::string_view when, std::string_view remainder, LintRule& rule) {
    rule.check = [before = rule.check, holds = plan_value(when),
                  remainder = std::string(remainder)](const Plan& plan,
                                                      const Ledger& ledger) -> Answer {
        if (before) {
            if (Answer earlier = before(plan, ledger)) return earlier;
        }
        return holds(plan) != 0 ? Answer(with_numbers(remainder, plan)) : std::nullopt;
    };
}

std::vector<LintRule> read_rules() {
    std::vector<LintRule> rules;
    std::string when;
    std::istringstream text(operator""_message(attn_lint_rules, std::strlen(attn_lint_rules)));
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with('#')) continue;
        const std::string_view words = trimmed(line);
        if (line.starts_with("    ")) {
            std::string& lesson = rules.back().lesson;
            lesson += (lesson.empty() ? "" : " ") + std::string(words);
        } else if (words.starts_with("when ")) {
            when = words.substr(5);
        } else if (words.starts_with("says ")) {
            add_case(when, words.substr(5), rules.back());
        } else {
            const std::string grave = line.substr(0, line.find(' '));
            const std::string id = line.substr(grave.size() + 1);
            const Severity severity = grave == "error"     ? Severity::error
                                      : grave == "warning" ? Severity::warning
                                                           : Severity::info;
            const auto* const row = std::ranges::find(rows, id, &Row::id);
            rules.push_back({id, severity, row != std::end(rows) ? row->check : nullptr, ""});
        }
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

#include "attn/judge/mistakes/mistake.hpp"

#include <algorithm>
#include <optional>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

/// Settings of walks that mistakes need, two lines for each walk.
constexpr std::string_view setting_lines[]{
    "",
    "mask causal",
    "output-projection, output-bias",
    "rope half",
    "heads 4, kv-heads 2",
    "heads 6, kv-heads 3",
    "bias",
    "batch 2",
    "past 2",
    "memory-len 4",
    "projection fused",
    "weight-layout in-out",
    "softcap 5",
    "position-bias alibi",
    "position-bias t5:8:6",
    "sink zero",
    "sink randn",
    "qk-norm head",
    "qk-norm l2",
    "mask causal,documents:2+2",
    "rope interleaved",
    "rotary-dim 2",
    "positions 2,3,4,5",
    "position-embedding learned",
    "position-embedding sinusoidal",
    "mask causal,window:2",
    "mask causal,chunk:2",
    "mask prefix:2",
    "mask documents:2+2",
    "mask padding, lengths 3,4",
    "mask causal,padding, lengths 3,4",
    "scale 0.25",
    "scale none",
    "mla 3, rotary-dim 2",
    "differential 0, heads 4",
    "prefill 2",
    "heads 3",
    "embed-dim 12",
    "weights-by sigmoid",
    "mask padding, lengths 0,4",
    "rope half, rope-scaling yarn:4:64:8",
};

std::optional<Plan> planned(const Mistake& mistake, const WalkConfig& first,
                            std::string_view second) {
    WalkConfig config = first;
    configure(config, second);
    try {
        Plan plan = resolve(config);
        if (mistake.applies(plan)) return plan;
    } catch (const ConfigError&) {
        // These two do not go together.
    }
    return std::nullopt;
}

std::optional<Plan> walk_that_shows(const Mistake& mistake) {
    for (const std::string_view first : setting_lines) {
        WalkConfig config = configured("heads 2, head-dim 4, seq-len 4");
        configure(config, first);
        for (const std::string_view second : setting_lines) {
            if (std::optional<Plan> plan = planned(mistake, config, second)) return plan;
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<RulesBeside> rules_beside(const Mistake& mistake) {
    if (!mistake.not_applicable || !mistake.apply) return {};
    const std::optional<Plan> plan = walk_that_shows(mistake);
    return plan ? rules_beside(mistake, *plan) : std::vector<RulesBeside>();
}

std::vector<RulesBeside> rules_beside(const Mistake& mistake, const Plan& plan) {
    std::vector<RulesBeside> beside;
    const StepTable right = step_table(plan);
    const StepTable wrong = mistake.apply(right, plan);
    for (std::size_t i = 0; i < right.size(); ++i) {
        if (!right[i].applies(plan)) continue;
        RulesBeside rules{told_rule({plan, right, right[i]}), told_rule({plan, wrong, wrong[i]})};
        // With the axes that all share where the wrong one names them.
        const auto indices = [](const std::string& rule) {
            return std::count(
                rule.begin(),
                rule.begin() + static_cast<std::ptrdiff_t>(std::min(rule.find('='), rule.size())),
                ',');
        };
        if (indices(rules.wrong) > indices(rules.right) && !rules.right.empty()) {
            rules.right = rule_text(*rule_of({plan, right, right[i]}));
        }
        if (!rules.right.empty() && !rules.wrong.empty() && rules.right != rules.wrong) {
            beside.push_back(rules);
        }
    }
    return beside;
}

}  // namespace attn

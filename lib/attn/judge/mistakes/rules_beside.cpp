#include "attn/judge/mistakes/mistake.hpp"

#include <algorithm>
#include <optional>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

using SettingChange = void (*)(WalkConfig&);

/// Settings of walks that mistakes need, one for each change.
constexpr SettingChange changes[]{
    [](WalkConfig&) {},
    [](WalkConfig& config) { config.mask.causal = true; },
    [](WalkConfig& config) { config.output_projection = config.output_bias = true; },
    [](WalkConfig& config) { config.rotary.pairing = Pairing::half; },
    [](WalkConfig& config) { config.heads = 4, config.kv_heads = 2; },
    [](WalkConfig& config) { config.heads = 6, config.kv_heads = 3; },
    [](WalkConfig& config) { config.bias = true; },
    [](WalkConfig& config) { config.batch = 2; },
    [](WalkConfig& config) { config.past = 2; },
    [](WalkConfig& config) { config.memory = RandomInput{}, config.key_len = 4; },
    [](WalkConfig& config) { config.projection = Projection::fused; },
    [](WalkConfig& config) { config.weight_layout = WeightLayout::in_out; },
    [](WalkConfig& config) { config.softcap = 5; },
    [](WalkConfig& config) {
        config.position_bias = {PositionBias::Kind::alibi, 8, 6, {}};
    },
    [](WalkConfig& config) {
        config.position_bias = {PositionBias::Kind::t5, 8, 6, {}};
    },
    [](WalkConfig& config) { config.sink = SinkLogit::zero; },
    [](WalkConfig& config) { config.sink = SinkLogit::normal; },
    [](WalkConfig& config) { config.qk_norm.over = NormOver::head; },
    [](WalkConfig& config) { config.rotary.pairing = Pairing::interleaved; },
    [](WalkConfig& config) { config.rotary.dim = 2; },
    [](WalkConfig& config) {
        config.positions = {2, 3, 4, 5};
    },
    [](WalkConfig& config) { config.position_embedding = PositionEmbedding::learned; },
    [](WalkConfig& config) { config.position_embedding = PositionEmbedding::sinusoidal; },
    [](WalkConfig& config) { config.mask.causal = true, config.mask.window = 2; },
    [](WalkConfig& config) { config.mask.causal = true, config.mask.chunk = 2; },
    [](WalkConfig& config) { config.mask.prefix = 2; },
    [](WalkConfig& config) {
        config.mask.documents = {2, 2};
    },
    [](WalkConfig& config) {
        config.mask.padding = true, config.lengths = {3, 4};
    },
    [](WalkConfig& config) {
        config.mask.causal = config.mask.padding = true, config.lengths = {3, 4};
    },
    [](WalkConfig& config) {
        config.scale = {ScaleChoice::By::number, 0.25};
    },
    [](WalkConfig& config) { config.scale.by = ScaleChoice::By::none; },
    [](WalkConfig& config) { config.latent.rank = 3, config.rotary.dim = 2; },
    [](WalkConfig& config) { config.differential.depth = 0, config.heads = 4; },
    [](WalkConfig& config) { config.prefill = 2; },
    [](WalkConfig& config) { config.heads = 3; },
    [](WalkConfig& config) { config.embed_dim = 12; },
    [](WalkConfig& config) { config.sigmoid = true; },
    [](WalkConfig& config) {
        config.mask.padding = true, config.lengths = {0, 4};
    },
    [](WalkConfig& config) {
        config.rotary.pairing = Pairing::half;
        RopeScaling& scaling = config.rotary.scaling.emplace();
        scaling.kind = RopeScaling::Kind::yarn;
        scaling.factor = 4, scaling.length = 64, scaling.beta_fast = 8;
    },
};

std::optional<Plan> planned(const Mistake& mistake, SettingChange first, SettingChange second) {
    WalkConfig config;
    config.heads = 2;
    config.head_dim = 4;
    config.query_len = 4;
    first(config);
    second(config);
    try {
        Plan plan = resolve(config);
        if (mistake.applies(plan)) return plan;
    } catch (const ConfigError&) {
        // These two do not go together.
    }
    return std::nullopt;
}

std::optional<Plan> walk_that_shows(const Mistake& mistake) {
    for (const SettingChange first : changes) {
        for (const SettingChange second : changes) {
            if (std::optional<Plan> plan = planned(mistake, first, second)) return plan;
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

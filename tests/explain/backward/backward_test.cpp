#include "attn/explain/backward/backward.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/judge/mistakes/gradient_mistakes.hpp"

#include <doctest/doctest.h>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/backward/graph.hpp"
#include "attn/ground/tensor/error.hpp"

using namespace attn;

namespace {

WalkConfig small() {
    WalkConfig config = configured("seq-len 4, embed-dim 4, heads 2");
    config.compute_dtype = config.dtype = DType::float64;
    return config;
}

/// The largest relative error of all gradients, by central differences.
double worst(const WalkConfig& config, const Loss& loss = {},
             const std::vector<std::string>& rules = {}) {
    const Plan plan = resolve(config);
    const StepTable table = with_gradient_checks(
        with_gradients(with_rules(step_table(plan), plan, rules), plan, loss), plan);
    const Ledger ledger = walk(plan, draw(plan), table);
    double largest = 0;
    std::size_t gradients = 0;
    for (const auto& [name, tensor] : ledger.entries()) {
        if (!name.ends_with("_error")) continue;
        ++gradients;
        for (std::size_t i = 0; i < tensor.size(); ++i) {
            INFO(name);
            CHECK(tensor.at(i) < 1e-6);
            largest = std::max(largest, tensor.at(i));
        }
    }
    CHECK(gradients > 5);
    return largest;
}

std::vector<std::string> gradients_of(const WalkConfig& config, const Loss& loss = {}) {
    const Plan plan = resolve(config);
    std::vector<std::string> names;
    for (const Step& step : with_gradients(step_table(plan), plan, loss)) {
        if (step.applies(plan) && step.name.starts_with("d_")) names.push_back(step.name);
    }
    return names;
}

std::string rule_text_of(const WalkConfig& config, const std::string& step) {
    const Plan plan = resolve(config);
    const StepTable table = with_gradients(step_table(plan), plan, {});
    return displayed_rule({plan, table, find_step(table, step)});
}

}  // namespace

TEST_SUITE("backward") {
    TEST_CASE("gradients come in reverse order, a parameter's after that of its step") {
        WalkConfig config = small();
        config.heads = 1;
        config.bias = config.output_projection = config.output_bias = true;
        config.mask.causal = true;
        CHECK(gradients_of(config) ==
              std::vector<std::string>{
                  "d_output", "d_b_output", "d_w_output", "d_context", "d_weights", "d_value",
                  "d_b_value", "d_w_value", "d_masked_scores", "d_scaled_scores", "d_scores",
                  "d_query", "d_b_query", "d_w_query", "d_key", "d_b_key", "d_w_key", "d_x"});
    }
    TEST_CASE("each gradient has a rule, as short as people write it") {
        WalkConfig config = small();
        configure(config, "heads 4, kv-heads 2, embed-dim 16");
        config.mask.causal = true;
        CHECK(rule_text_of(config, "d_masked_scores") ==
              "d_masked_scores[h,q,k] = weights[h,q,k] * (d_weights[h,q,k] - row_dot[h,q])");
        CHECK(rule_text_of(config, "d_scaled_scores") ==
              "d_scaled_scores[h,q,k] = if mask[q,k] then 0 else d_masked_scores[h,q,k]");
        CHECK(rule_text_of(config, "d_key") ==
              "d_key[h,k,f] = sum i in h * 2..h * 2 + 2: d_repeated_key[i,k,f]");
        CHECK(rule_text_of(config, "d_w_key") ==
              "d_w_key[o,c] = sum t: d_projected_key[t,o] * x[t,c]");
    }
    TEST_CASE("all forms of attention agree with central differences, by loop and vectorized") {
        for (const Variant variant : {Variant::loop, Variant::vectorized}) {
            WalkConfig config = small();
            config.variant = variant;
            worst(config);
            config.mask.causal = config.bias = config.output_projection = true;
            configure(config, "rope half, qk-norm head, softcap 3");
            worst(config);
            config = small();
            config.variant = variant;
            configure(config, "heads 4, kv-heads 2, embed-dim 8, sink randn, past 2");
            config.mask.causal = true;
            worst(config);
            config = small();
            config.variant = variant;
            configure(config, "projection fused-by-head, bias, batch 2");
            worst(config, {Loss::Kind::mean});
            config.projection = Projection::stacked;
            worst(config, {Loss::Kind::cell, "weights[1,0,2,1]"});
        }
    }
    TEST_CASE("a user's rule is differentiated too, including the dead path of the maximum score") {
        WalkConfig config = small();
        worst(config, {}, {"weights[q,k] = sigmoid(scores[q,k]) ^ 2"});
        worst(config, {},
              {"exponentials[q,k] = exp(scores[q,k] - row_max[q]) + 0.1 * scores[q,k]",
               "weights[q,k] = exponentials[q,k] / row_sum[q]"});
    }
    TEST_CASE("a tensor that the loss does not depend on has no gradient") {
        const std::vector<std::string> names =
            gradients_of(small(), {Loss::Kind::cell, "weights[0,1,1]"});
        CHECK(std::ranges::find(names, "d_value") == names.end());
        CHECK(std::ranges::find(names, "d_w_value") == names.end());
        CHECK(names.front() == "d_weights");
    }
    TEST_CASE("a fused walk and a target of another shape are refused") {
        WalkConfig config = small();
        config.variant = Variant::fused;
        CHECK_THROWS_AS(gradients_of(config), ConfigError);
        const Tensor target({"token"}, Array<double>{1, 2, 3});
        CHECK_THROWS_AS(gradients_of(small(), {Loss::Kind::mse, "", target, "t.npy"}), ShapeError);
    }
    TEST_CASE("invalid calls are refused with a message") {
        const Plan plan = resolve(small());
        const StepTable& table = step_table(plan);
        const StepTable back = with_gradients(table, plan, {});
        CHECK_THROWS_AS(with_gradients(back, plan, {}), ConfigError);
        CHECK_THROWS_AS(with_gradients({}, plan, {}), ConfigError);
        for (const Loss::Kind kind :
             {Loss::Kind::mse, Loss::Kind::upstream, static_cast<Loss::Kind>(77)}) {
            CHECK_THROWS_AS(with_gradients(table, plan, {kind}), ConfigError);
        }
        CHECK_THROWS_AS(with_gradient_mistakes(back, plan, {"grad-nobody-knows"}), ConfigError);
        CHECK_THROWS_AS(with_gradient_mistakes(table, plan, {"grad-scale-missing"}), ConfigError);
        CHECK_THROWS_AS(with_gradient_checks(table, plan), ConfigError);
        CHECK_THROWS_AS(BackwardGraph({}, plan), ConfigError);
        CHECK_THROWS_AS(BackwardGraph(table, plan)["nothing"], ConfigError);
    }
    TEST_CASE("a check names the wrong cells, and no others") {
        WalkConfig config = small();
        config.heads = 1;
        const Plan plan = resolve(config);
        const auto checked = [&](const std::vector<std::string>& rules,
                                 const std::vector<std::string>& mistakes) {
            const StepTable back = with_gradient_mistakes(
                with_gradients(with_rules(step_table(plan), plan, rules), plan, {}), plan,
                mistakes);
            return *gradient_check(walk(plan, draw(plan), with_gradient_checks(back, plan)));
        };
        CHECK(checked({}, {}).off.empty());
        CHECK(checked({}, {}).kinks == 0);
        CHECK(!gradient_check(walk(plan, draw(plan), step_table(plan))));
        const GradientCheck wrong = checked({}, {"grad-scale-twice"});
        CHECK(!wrong.off.empty());
        CHECK(wrong.off.front().name == "d_scores");
        CHECK(wrong.text().find("is off by 0.5") != std::string::npos);
    }
}

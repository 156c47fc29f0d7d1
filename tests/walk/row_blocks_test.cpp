// The driver over blocks of rows against the same steps for whole tensors, and under mistakes.
#include "attn/walk/row_blocks.hpp"
#include "attn/tensor/error.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "attn/cards/step_table.hpp"
#include "attn/mistakes/mistake.hpp"
#include "tests/support/walked.hpp"
#include "tests/walk/random_plans.hpp"

using namespace attn;
using attn::testing::differences;

namespace {

/// What the reference table's own function makes of the steps before `name`, for the whole tensor.
Tensor recomputed(const Plan& plan, const Ledger& ledger, const std::string& name) {
    Ledger before(chains_of(step_table(plan)));
    for (const auto& [step, tensor] : ledger.entries()) {
        if (step == name) break;
        before.record(step, tensor);
    }
    return find_step(step_table(plan), name).compute(plan, before);
}

WalkConfig long_config(std::mt19937& random, std::int64_t queries, std::int64_t keys) {
    WalkConfig config;
    config.seed = random();
    config.heads = 2;
    config.head_dim = 5;
    config.embed_dim = 6;
    config.query_len = queries;
    config.memory = RandomInput{};
    config.key_len = keys;
    return config;
}

}  // namespace

TEST_SUITE("walk: blocks of rows") {
    TEST_CASE("every step is, bit for bit, what its function makes of whole tensors") {
        std::mt19937 random(5);
        int number = 0;
        for (const Variant variant : {Variant::loop, Variant::vectorized}) {
            for (const std::int64_t queries : {1, 25, 70}) {
                for (const std::int64_t keys : {1, 7, 64, 300}) {
                    for (const bool causal : {false, true}) {
                        WalkConfig config = long_config(random, queries, keys);
                        config.variant = variant;
                        config.mask.causal = causal;
                        config.causal_align = keys % 2 == 0 ? CausalAlign::end : CausalAlign::start;
                        config.mask.padding = ++number % 3 == 0;
                        if (config.mask.padding) config.lengths = {keys - keys / 4};
                        config.threads = 1 + number % 2;
                        const Plan plan = resolve(config);
                        const Ledger ledger = walk(plan, draw(plan));
                        for (const Step& step : step_table(plan)) {
                            if (!step.rows || !ledger.has(step.name)) continue;
                            CAPTURE(number);
                            CAPTURE(step.name);
                            CHECK(differences(ledger[step.name],
                                              recomputed(plan, ledger, step.name)) == 0);
                        }
                    }
                }
            }
        }
    }

    TEST_CASE(
        "a step that a mistake replaces leaves every other step's function and digits alone") {
        std::mt19937 random(7);
        std::size_t seen = 0;
        for (int i = 0; i < 60; ++i) {
            WalkConfig config = random_config(random);
            config.variant = i % 2 == 0 ? Variant::loop : Variant::vectorized;
            const Plan plan = resolve(config);
            const Ledger given = draw(plan);
            const Ledger right = walk(plan, given);
            for (const Mistake& mistake : mistakes()) {
                if (!mistake.applies(plan)) continue;
                const StepTable table = mistake.apply(step_table(plan), plan);
                const Ledger wrong = walk(plan, given, table);
                bool replaced_one = false;
                for (const Step& step : table) {
                    const Step& reference = find_step(step_table(plan), step.name);
                    // A mistake takes the function on rows away from the step that it replaces.
                    if (reference.rows && !step.rows) replaced_one = true;
                    if (!step.rows || !wrong.has(step.name)) continue;
                    CAPTURE(i);
                    CAPTURE(mistake.id);
                    CAPTURE(step.name);
                    if (!replaced_one && step.name == "scores" && right.has("scores") &&
                        differences(right.latest(Chain::queries), wrong.latest(Chain::queries)) ==
                            0 &&
                        differences(right.latest(Chain::keys), wrong.latest(Chain::keys)) == 0) {
                        CHECK(differences(right["scores"], wrong["scores"]) == 0);
                    }
                    CHECK(differences(wrong[step.name], recomputed(plan, wrong, step.name)) == 0);
                    ++seen;
                }
            }
        }
        CHECK(seen > 1000);
    }

    TEST_CASE("a hidden value that is infinite makes its column nan, as 0 times infinity is") {
        std::mt19937 random(3);
        WalkConfig config = long_config(random, 70, 90);
        config.projection = Projection::none;
        config.memory.reset();
        config.key_len.reset();
        config.query_len = 90;
        config.heads = 1;
        config.embed_dim = config.head_dim = 4;
        config.mask.causal = true;
        const Plan plan = resolve(config);
        Ledger given = draw(plan);
        Array<float> value = given["value"].as<float>();
        value(89, 1) = INFINITY;
        given.record("value", Tensor(given["value"].axes(), value));
        const Ledger ledger = walk(plan, given);
        CHECK(std::isnan(ledger["context"].at(1)));
        CHECK(std::isfinite(ledger["context"].at(0)));
    }

    TEST_CASE("some rows are what the whole has there") {
        std::mt19937 random(9);
        WalkConfig config = long_config(random, 60, 200);
        config.mask.causal = true;
        const Plan plan = resolve(config);
        const Ledger whole = walk(plan, draw(plan));
        std::size_t scores = 0;
        while (step_table()[scores].name != "scores") ++scores;
        const RowSteps steps = row_steps_from(
            plan, {}, step_table(plan), scores,
            [](const Step& step) { return step.name == "weights" || step.name == "context"; });
        const Ledger some = evaluate_row_blocks(plan, whole, steps, {{0}, {1}, {3, 4, 40}});
        const std::size_t rows[]{3, 4, 40};
        for (const char* name : {"weights", "context"}) {
            const std::size_t width = whole[name].shape().back();
            for (std::size_t r = 0; r < 3; ++r) {
                for (std::size_t c = 0; c < width; ++c) {
                    CHECK(same_number(some[name].at(r * width + c),
                                    whole[name].at((60 + rows[r]) * width + c)));
                }
            }
        }
    }
}

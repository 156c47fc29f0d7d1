#include <doctest/doctest.h>

#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/support/walked.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

WalkConfig latent_config() {
    WalkConfig config = configured(
        "heads 3, head-dim 4, value-dim 5, embed-dim 7, seq-len 6, batch 2, dtype float64, "
        "output-projection, rotary-dim 2, mask causal");
    config.latent = {3, 2, false};
    return config;
}

WalkConfig differential_config() {
    WalkConfig config = configured(
        "heads 2, embed-dim 12, seq-len 5, dtype float64, output-projection, differential 3, mask "
        "causal");
    return config;
}

void refuse(const WalkConfig& right, void (*change)(WalkConfig&), const char* words) {
    WalkConfig config = right;
    change(config);
    CAPTURE(words);
    CHECK_THROWS_WITH_AS(resolve(config), doctest::Contains(words), ConfigError);
}

/// The terms of every cell of every step add up to it, and every part of a walk equals that part of
/// the whole.
void check_cells_and_parts(const WalkConfig& config) {
    const Plan plan = resolve(config);
    const Ledger given = draw(plan);
    const StepTable& table = step_table(plan);
    const Ledger ledger = walk(plan, given);
    for (const auto& [name, tensor] : ledger.entries()) {
        const Step& step = find_step(table, name);
        if (step.kind != Step::Kind::computed) continue;
        CAPTURE(name);
        CHECK(tensor.shape() == step.outline(plan).shape);
        CHECK(tensor.axes() == step.outline(plan).axes);
        const Shape shape = tensor.shape();
        for (std::size_t number = 0; number < tensor.size(); number += 3) {
            Cell cell{name, std::vector<std::size_t>(shape.size()), tensor.at(number)};
            std::size_t rest = number;
            for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
                cell.indices[axis] = rest % shape[axis];
            }
            const Derivation derivation = derive(plan, table, ledger, cell);
            CHECK_FALSE(derivation.rule.empty());
            if (std::isfinite(cell.value)) CHECK(std::abs(derivation.rounding) < 1e-12);
        }
        if (!can_walk_parts(plan, given, table)) continue;
        const std::vector<WalkPart> parts = walk_parts(plan, given, table, {{name, "", false}});
        CHECK(largest_difference(parts.front().tensor, tensor) == 0);
    }
}

}  // namespace

TEST_SUITE("walk: latent attention") {
    TEST_CASE("the absorbed form gives the weights and the output of the naive one") {
        for (const Variant variant : {Variant::loop, Variant::vectorized}) {
            for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
                for (const std::int64_t rank : {1, 2, 7}) {
                    WalkConfig config = latent_config();
                    config.variant = variant;
                    config.weight_layout = layout;
                    config.latent.rank = rank;
                    const Ledger naive = walked(config);
                    config.latent.absorbed = true;
                    const Ledger absorbed = walked(config);
                    CHECK(largest_difference(naive["weights"], absorbed["weights"]) < 1e-12);
                    CHECK(largest_difference(naive["context"], absorbed["expanded_context"]) <
                          1e-12);
                    CHECK(largest_difference(naive["output"], absorbed["output"]) < 1e-12);
                    CHECK(absorbed["key"].extent("head") == 1);
                    CHECK(absorbed["value"].extent("feature") == static_cast<std::size_t>(rank));
                }
            }
        }
    }

    TEST_CASE("the rotated part of the key is the same in all heads, and only it is rotated") {
        const Ledger ledger = walked(latent_config());
        const Tensor& key = ledger["key"];
        const Tensor& rotated = ledger["rotated_key"];
        for (std::size_t b = 0; b < 2; ++b) {
            for (std::size_t h = 0; h < 3; ++h) {
                for (std::size_t t = 0; t < 6; ++t) {
                    for (std::size_t f = 0; f < 6; ++f) {
                        const std::size_t here = flat_index({b, h, t, f}, key.shape());
                        const std::size_t first = flat_index({b, 0, t, f}, key.shape());
                        if (f >= 4) CHECK(key.at(here) == key.at(first));
                        CHECK((rotated.at(here) == key.at(here)) == (f < 4 || t == 0));
                    }
                }
            }
        }
    }

    TEST_CASE("the scale counts both parts, and yarn's magnitude with mscale_all_dim") {
        WalkConfig config = latent_config();
        CHECK(resolve(config).scale.number == std::sqrt(6.0));
        config.rotary.scaling.emplace();
        config.rotary.scaling->kind = RopeScaling::Kind::yarn;
        config.rotary.scaling->factor = 40;
        config.rotary.scaling->length = 4096;
        CHECK(resolve(config).scale.number == std::sqrt(6.0));
        config.rotary.scaling->mscale = config.rotary.scaling->mscale_all_dim = 1;
        CHECK(std::sqrt(6.0) / resolve(config).scale.number ==
              doctest::Approx(1.87385).epsilon(1e-5));
        CHECK(resolve(config).rotary_factor() == 1);
    }

    TEST_CASE("every chunk of a prefill gives the rows of the whole walk, naive and absorbed") {
        for (const bool absorbed : {false, true}) {
            WalkConfig config = latent_config();
            config.variant = Variant::loop;
            config.prefill = 4;
            config.latent.absorbed = absorbed;
            const Plan plan = resolve(config);
            const Ledger whole = walk(plan, draw(plan));
            const std::vector<Ledger> chunks = walk_chunks(plan, whole, step_table(plan));
            REQUIRE(chunks.size() == 2);
            const Tensor& last = chunks.back()["output"];
            for (std::size_t b = 0; b < 2; ++b) {
                for (std::size_t t = 0; t < 2; ++t) {
                    for (std::size_t f = 0; f < 7; ++f) {
                        CHECK(
                            last.at(flat_index({b, t, f}, last.shape())) ==
                            whole["output"].at(flat_index({b, 4 + t, f}, whole["output"].shape())));
                    }
                }
            }
        }
    }

    TEST_CASE("cells add up, and parts equal those of the whole walk") {
        check_cells_and_parts(latent_config());
        WalkConfig config = latent_config();
        config.latent.absorbed = true;
        config.memory = RandomInput{};
        config.key_len = 4;
        config.mask = {};
        check_cells_and_parts(config);
    }

    TEST_CASE("a setting that cannot be combined with a latent is refused by name") {
        const WalkConfig config = latent_config();
        refuse(
            config, [](WalkConfig& c) { c.latent.rank = 0; }, "1 feature or more");
        refuse(
            config, [](WalkConfig& c) { c.projection = Projection::fused; }, "projection");
        refuse(
            config, [](WalkConfig& c) { c.bias = true; }, "bias");
        refuse(
            config, [](WalkConfig& c) { c.kv_heads = 1; }, "kv-heads");
        refuse(
            config, [](WalkConfig& c) { c.qk_norm.over = NormOver::head; }, "qk-norm");
        refuse(
            config, [](WalkConfig& c) { c.past = 2; }, "past");
        refuse(
            config, [](WalkConfig& c) { c.rotary.dim = 3; }, "rotary-dim");
        refuse(
            config, [](WalkConfig& c) { c.differential.depth = 0; }, "differential");
        refuse(
            config,
            [](WalkConfig& c) {
                c.latent.absorbed = true;
                c.variant = Variant::fused;
            },
            "variant fused");
        refuse(
            config, [](WalkConfig& c) { c.latent.rank.reset(); }, "add mla");
    }

    TEST_CASE("the fused variant attends with the keys and values of a latent") {
        WalkConfig config = latent_config();
        const Ledger whole = walked(config);
        config.variant = Variant::fused;
        CHECK(largest_difference(whole["output"], walked(config)["output"]) < 1e-14);
    }
}

TEST_SUITE("walk: differential attention") {
    TEST_CASE("every row sums to 1 - lambda, and there are twice as many heads before it") {
        for (const Variant variant : {Variant::loop, Variant::vectorized}) {
            WalkConfig config = differential_config();
            config.variant = variant;
            const Ledger ledger = walked(config);
            const double lambda = ledger["lambda_full"].at(0);
            const Tensor& weights = ledger["differential_weights"];
            CHECK(ledger["weights"].shape() == Shape{4, 5, 5});
            CHECK(ledger["value"].shape() == Shape{2, 5, 6});
            REQUIRE(weights.shape() == Shape{2, 5, 5});
            for (std::size_t row = 0; row < 10; ++row) {
                double sum = 0;
                for (std::size_t k = 0; k < 5; ++k) sum += weights.at(row * 5 + k);
                CHECK(sum == doctest::Approx(1 - lambda).epsilon(1e-14));
            }
        }
    }

    TEST_CASE("lambda starts at 0.2 in the first layer and grows towards 0.8") {
        WalkConfig config = differential_config();
        for (const auto& [depth, start] :
             {std::pair(0, 0.2), std::pair(1, 0.3555), std::pair(2, 0.4707), std::pair(99, 0.8)}) {
            config.differential.depth = depth;
            CHECK(resolve(config).lambda_init() == doctest::Approx(start).epsilon(1e-4));
        }
    }

    TEST_CASE("the rows of every head have one length after the norm") {
        const Plan plan = resolve(differential_config());
        const Ledger ledger = walk(plan, draw(plan));
        const Tensor& scaled = ledger["scaled_context"];
        for (std::size_t row = 0; row < 10; ++row) {
            double squares = 0;
            for (std::size_t f = 0; f < 6; ++f) squares += std::pow(scaled.at(row * 6 + f), 2);
            CHECK(std::sqrt(squares / 6) == doctest::Approx(1 - plan.lambda_init()).epsilon(1e-3));
        }
    }

    TEST_CASE("heads that share keys give the result of copied keys") {
        WalkConfig config = differential_config();
        configure(config, "heads 4, kv-heads 2, embed-dim 16");
        const Ledger ledger = walked(config);
        CHECK(ledger["key"].shape() == Shape{4, 5, 2});
        CHECK(ledger["repeated_key"].shape() == Shape{8, 5, 2});
        CHECK(ledger["repeated_value"].shape() == Shape{4, 5, 4});
        check_cells_and_parts(config);
    }

    TEST_CASE("cells add up, and parts equal those of the whole walk") {
        WalkConfig config = differential_config();
        config.projection = Projection::fused;
        config.batch = 2;
        check_cells_and_parts(config);
        config.merge = false;
        config.output_projection = false;
        check_cells_and_parts(config);
    }

    TEST_CASE("a setting that cannot be combined with differential attention is refused by name") {
        const WalkConfig config = differential_config();
        refuse(
            config, [](WalkConfig& c) { c.differential.depth = -1; }, "from 0");
        refuse(
            config, [](WalkConfig& c) { c.projection = Projection::stacked; }, "projection");
        refuse(
            config, [](WalkConfig& c) { c.variant = Variant::fused; }, "variant fused");
        refuse(
            config, [](WalkConfig& c) { c.softmax_axis = SoftmaxAxis::query; }, "softmax-axis");
    }
}

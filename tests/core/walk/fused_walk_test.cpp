// The walk with --variant fused: block by block, and at the end the same context.
#include <doctest/doctest.h>
#include <algorithm>

#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/explain/notes/notes.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/judge/compare/compare.hpp"
#include "tests/core/plan/random_plans.hpp"
#include "tests/support/walked.hpp"

using attn::testing::walked;

namespace {

/// Returns the same walk, computed block by block.
attn::Plan in_blocks(attn::WalkConfig config) {
    config.variant = attn::Variant::fused;
    return attn::resolve(config);
}

attn::WalkConfig random_walk(std::uint32_t seed) {
    std::mt19937 random(seed);
    return random_config(random);
}

attn::WalkConfig sentence() {
    attn::WalkConfig config = attn::configured("seq-len 6, heads 2, head-dim 3, variant fused");
    return config;
}

}  // namespace

TEST_SUITE("walk: fused") {
    TEST_CASE("it agrees with the whole-array walk at the end, to rounding") {
        int compared = 0;
        for (std::uint32_t seed = 0; seed < 300; ++seed) {
            INFO("seed " << seed);
            attn::WalkConfig config = random_walk(seed);
            config.variant = attn::Variant::vectorized;
            const attn::Plan plan = attn::resolve(config);
            const attn::Ledger whole = walked(plan);
            const attn::Ledger blocks = walked(in_blocks(config));
            const attn::Comparison comparison =
                attn::compare(plan, attn::step_table(), whole, blocks);
            REQUIRE(blocks.has("context"));
            CHECK_FALSE(blocks.has("weights"));
            CHECK_MESSAGE(comparison.equal(), attn::comparison_text(comparison));
            ++compared;
        }
        CHECK(compared == 300);
    }
    TEST_CASE("the running numbers end at the parts of softmax") {
        for (std::uint32_t seed = 0; seed < 60; ++seed) {
            INFO("seed " << seed);
            attn::WalkConfig config = random_walk(seed);
            config.variant = attn::Variant::vectorized;
            const attn::Plan plan = attn::resolve(config);
            const attn::Ledger whole = walked(plan);
            const attn::Ledger blocks = walked(in_blocks(config));
            const attn::Tensor& largest = blocks["running_max"];
            const attn::Tensor& sum = blocks["running_sum"];
            const std::size_t count = largest.extent("block");
            CHECK(count <= 3);
            for (std::size_t row = 0; row < whole["row_max"].size(); ++row) {
                const std::size_t last = row * count + count - 1;
                const double expected = whole["row_max"].at(row);
                if (std::isinf(expected)) {
                    CHECK(largest.at(last) == expected);
                    CHECK(sum.at(last) == 0);
                    continue;
                }
                CHECK(largest.at(last) == doctest::Approx(expected).epsilon(1e-4));
                CHECK(sum.at(last) == doctest::Approx(whole["row_sum"].at(row)).epsilon(1e-3));
            }
        }
    }
    TEST_CASE("each block corrects the sums of the blocks before it") {
        const attn::Plan plan = attn::resolve(sentence());
        const attn::Ledger ledger = walked(plan);
        const attn::Tensor& largest = ledger["running_max"];
        const attn::Tensor& correction = ledger["correction"];
        CHECK(largest.shape() == attn::Shape{2, 6, 3});
        CHECK(ledger["partial_context"].shape() == attn::Shape{2, 3, 6, 3});
        for (std::size_t i = 0; i < largest.size(); ++i) {
            if (i % 3 == 0) {
                CHECK(correction.at(i) == 0);
                continue;
            }
            CHECK(largest.at(i) >= largest.at(i - 1));
            CHECK(correction.at(i) == doctest::Approx(std::exp(largest.at(i - 1) - largest.at(i))));
        }
    }
    TEST_CASE("scores 0, 0 and ln 2 in three blocks of one key") {
        attn::WalkConfig config =
            attn::configured("projection none, head-dim 1, scale none, variant fused, seq-len 3");
        attn::Plan plan = attn::resolve(config);
        attn::Ledger given;
        const auto column = [](float a, float b, float c) {
            attn::Array<float> array = attn::empty_array<float>({3, 1});
            array.data()[0] = a;
            array.data()[1] = b;
            array.data()[2] = c;
            return array;
        };
        given.record("query", {{"query", "feature"}, column(1, 1, 1)});
        given.record("key", {{"key", "feature"}, column(0, 0, std::log(2.0F))});
        given.record("value", {{"key", "feature"}, column(4, 8, 2)});
        const attn::Ledger ledger = attn::walk(plan, given);
        CHECK(ledger["correction"].at(2) == doctest::Approx(0.5));
        CHECK(ledger["running_sum"].at(1) == doctest::Approx(2));
        CHECK(ledger["running_sum"].at(2) == doctest::Approx(2));
        CHECK(ledger["context"].at(0) == doctest::Approx((4 + 8 + 2 * 2) / 4.0));
    }
    TEST_CASE("a walk too long to trace has the context alone") {
        attn::WalkConfig config = attn::configured("seq-len 65, variant fused");
        const attn::Plan plan = attn::resolve(config);
        const attn::Ledger ledger = walked(plan);
        CHECK_FALSE(ledger.has("running_max"));
        CHECK(ledger.has("context"));
        const attn::Cell cell = attn::parse_cell(plan, attn::step_table(), ledger, "context[0,0]");
        const auto remarks = attn::derive(plan, attn::step_table(), ledger, cell).remarks;
        CHECK(std::any_of(remarks.begin(), remarks.end(), [](const std::string& remark) {
            return remark.find("vectorized") != std::string::npos;
        }));
    }
    TEST_CASE("its memory has no cell for each pair of query and key") {
        attn::WalkConfig config;
        config.query_len = 100'000;
        config.variant = attn::Variant::fused;
        CHECK(attn::memory_needs(attn::resolve(config)).bytes < 1e8);
    }
    TEST_CASE("every cell of its steps is derived, and every step has a note") {
        attn::WalkConfig config = sentence();
        config.mask.causal = true;
        const attn::Plan plan = attn::resolve(config);
        const attn::Ledger ledger = walked(plan);
        for (const std::string step :
             {"running_max", "correction", "running_sum", "partial_context", "context"}) {
            INFO(step);
            CHECK_FALSE(
                attn::step_note(
                    {plan, attn::step_table(), attn::find_step(attn::step_table(), step)}, ledger)
                    .empty());
            const attn::Shape shape = ledger[step].shape();
            for (std::size_t flat = 0; flat < ledger[step].size(); ++flat) {
                const attn::Cell cell{step, attn::indices_of(flat, shape), ledger[step].at(flat)};
                const attn::Derivation derivation =
                    attn::derive(plan, attn::step_table(), ledger, cell);
                CHECK_FALSE(derivation.rule.empty());
                for (const attn::Cell& source : derivation.sources) {
                    CHECK(source.value == ledger[source.step].at(attn::flat_index(
                                              source.indices, ledger[source.step].shape())));
                }
            }
        }
    }
    TEST_CASE("softmax over another axis and a stop at empty rows are refused") {
        attn::WalkConfig config = sentence();
        config.softmax_axis = attn::SoftmaxAxis::query;
        CHECK_THROWS_AS(attn::resolve(config), attn::ConfigError);
        config = sentence();
        config.empty_row = attn::EmptyRow::error;
        CHECK_THROWS_AS(attn::resolve(config), attn::ConfigError);
    }
}

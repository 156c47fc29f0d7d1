#include "attn/core/fused/fused_attention.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "attn/ground/tensor/error.hpp"
#include "tests/core/fused/fused_reference.hpp"

using namespace attn;
using namespace attn::test;

namespace {

template <class Real>
FusedTrace trace(const Problem<Real>& problem, const FusedOptions& options, std::size_t query_block,
                 std::size_t key_block) {
    return fused_trace(problem.query.data(), problem.key.data(), problem.value.data(),
                       problem.shape, options, query_block, key_block);
}

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_SUITE("fused trace") {
    TEST_CASE(
        "scores ln 1, ln 2 | ln 8: the second block scales the sums of the first by a quarter") {
        const Problem<double> problem{
            {1, 1, 1, 3, 1, 1}, {1.0}, {0.0, std::log(2.0), std::log(8.0)}, {11.0, 22.0, 33.0}};
        const FusedTrace steps = trace(problem, {}, 1, 2);
        REQUIRE(steps.blocks.size() == 2);
        const FusedBlock& first = steps.blocks[0];
        CHECK(first.maximum_before[0] == -infinity);
        CHECK(first.maximum[0] == std::log(2.0));
        CHECK(first.correction[0] == 0.0);
        CHECK(first.exponentials[0] == doctest::Approx(0.5));
        CHECK(first.sum[0] == doctest::Approx(1.5));
        CHECK(first.context[0] == doctest::Approx(0.5 * 11 + 22));
        const FusedBlock& second = steps.blocks[1];
        CHECK(second.first_key == 2);
        CHECK(second.keys == 1);
        CHECK(second.maximum_before[0] == std::log(2.0));
        CHECK(second.correction[0] == doctest::Approx(0.25));
        CHECK(second.sum[0] == doctest::Approx(0.25 * 1.5 + 1));
        CHECK(second.context[0] == doctest::Approx(0.25 * 27.5 + 33));
        CHECK(steps.context[0] == doctest::Approx((11 + 2 * 22 + 8 * 33) / 11.0));
    }

    TEST_CASE("a causal block that no query sees is skipped and changes nothing") {
        const auto problem = random_problem<double>({1, 1, 4, 6, 2, 2}, 1);
        FusedOptions options;
        options.mask.causal = true;
        const FusedTrace steps = trace(problem, options, 2, 3);
        REQUIRE(steps.blocks.size() == 4);
        CHECK_FALSE(steps.blocks[0].skipped);
        CHECK(steps.blocks[0].scores[1] == -infinity);
        CHECK(steps.blocks[0].exponentials[1] == 0.0);
        CHECK(steps.blocks[1].skipped);
        CHECK(steps.blocks[1].scores.empty());
        CHECK(steps.blocks[1].correction[0] == 1.0);
        CHECK(steps.blocks[1].context == steps.blocks[0].context);
        CHECK_FALSE(steps.blocks[3].skipped);
        CHECK(steps.blocks[3].sum[0] == steps.blocks[2].sum[0]);
    }

    TEST_CASE("ends where the fused kernel ends, for any blocks") {
        const auto problem = random_problem<double>({1, 1, 13, 21, 5, 4}, 2);
        bool hidden[21] = {};
        for (const std::size_t k : {3, 4, 5, 17, 18, 19, 20}) hidden[k] = true;
        for (const EmptyRow empty_row : {EmptyRow::nan, EmptyRow::zero}) {
            FusedOptions options;
            options.scale = 0.4;
            options.empty_row = empty_row;
            options.mask.causal = true;
            options.mask.causal_offset = -2;
            options.mask.window = true;
            options.mask.window_offset = -7;
            options.mask.hidden = hidden;
            options.mask.key_stride = 1;
            const std::vector<double> expected = fused(problem, options);
            for (const std::size_t queries : {1, 2, 5, 40}) {
                for (const std::size_t keys : {1, 2, 3, 40}) {
                    const FusedTrace steps = trace(problem, options, queries, keys);
                    CHECK(difference(steps.context, expected).largest < 1e-14);
                    CHECK(steps.context.size() == expected.size());
                }
            }
        }
    }

    TEST_CASE("in float32 it rounds as float32 does") {
        const auto problem = random_problem<float>({1, 1, 9, 30, 8, 3}, 3);
        const FusedTrace steps = trace(problem, {}, 4, 7);
        CHECK(difference(steps.context, reference(problem, {})).largest < 3e-6);
        for (const double sum : steps.blocks.back().sum) {
            CHECK(sum == static_cast<double>(static_cast<float>(sum)));
        }
    }

    TEST_CASE("refuses several heads and empty blocks") {
        const auto heads = random_problem<float>({1, 2, 3, 3, 2, 2}, 4);
        CHECK_THROWS_AS(trace(heads, {}, 2, 2), ShapeError);
        const auto head = random_problem<float>({1, 1, 3, 3, 2, 2}, 4);
        CHECK_THROWS_AS(trace(head, {}, 2, 0), ConfigError);
    }
}

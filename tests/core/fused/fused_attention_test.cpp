#include "attn/core/fused/fused_attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "attn/ground/tensor/error.hpp"
#include "tests/core/fused/fused_reference.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// Scores of randn differ from float64 by the rounding of a dot product, about eps sqrt(d) relative,
// and so do the weights and their weighted sum of values.
constexpr double float_tolerance = 2e-6;
constexpr double double_tolerance = 5e-15;

FusedOptions scaled(std::size_t head_dim) {
    FusedOptions options;
    options.scale = 1 / std::sqrt(static_cast<double>(head_dim));
    return options;
}

}  // namespace

TEST_SUITE("fused attention") {
    TEST_CASE("scores ln 1, ln 2 and ln 5 weigh the values 1/8, 2/8 and 5/8") {
        const Problem<double> problem{
            {1, 1, 1, 3, 1, 1}, {1.0}, {0.0, std::log(2.0), std::log(5.0)}, {8.0, 80.0, 800.0}};
        const std::vector<double> context = fused(problem, {});
        CHECK(context[0] == doctest::Approx(1 + 20 + 500).epsilon(1e-15));
    }

    TEST_CASE("one key gives its value back, whatever its score") {
        for (const float score : {0.0F, 3.0F, -1e4F, 1e30F}) {
            const Problem<float> problem{{1, 1, 1, 1, 1, 2}, {1.0F}, {score}, {0.3F, -7.0F}};
            CHECK(fused(problem, {}) == std::vector<float>{0.3F, -7.0F});
        }
    }

    TEST_CASE("equal keys give the mean of the values") {
        Problem<float> problem{{1, 1, 2, 256, 3, 1}, {1, 2, 3, -4, 5, 6}, {}, {}};
        problem.key.assign(256 * 3, 0.5F);
        for (int k = 0; k < 256; ++k) problem.value.push_back(static_cast<float>(k));
        CHECK(fused(problem, {}) == std::vector<float>{127.5F, 127.5F});
    }

    TEST_CASE("a key with by far the largest score takes all the weight, early or late") {
        for (const std::size_t place : {0, 191, 192, 399}) {
            Problem<float> problem = random_problem<float>({1, 1, 5, 400, 4, 3}, 7);
            for (std::size_t d = 0; d < 4; ++d) problem.key[place * 4 + d] = 1e4F;
            for (float& number : problem.query) number = std::fabs(number) + 0.1F;
            const std::vector<float> context = fused(problem, {});
            for (std::size_t i = 0; i < context.size(); ++i) {
                CHECK(context[i] == problem.value[place * 3 + i % 3]);
            }
        }
    }

    TEST_CASE("agrees with float64 over awkward lengths") {
        for (const std::size_t query_len : {1, 7, 63, 65, 129}) {
            for (const std::size_t key_len : {1, 7, 63, 65, 129, 193, 401}) {
                const auto problem = random_problem<float>({1, 2, query_len, key_len, 16, 5}, 1);
                CHECK_FUSED(problem, scaled(16), float_tolerance);
            }
        }
    }

    TEST_CASE("agrees with float64 over awkward features") {
        for (const std::size_t head_dim : {1, 3, 64, 128}) {
            for (const std::size_t value_dim : {1, 3, 15, 64, 128}) {
                const AttentionShape shape{2, 1, 50, 200, head_dim, value_dim};
                CHECK_FUSED(random_problem<float>(shape, 2), scaled(head_dim), float_tolerance);
            }
        }
    }

    TEST_CASE("in float64 it agrees to the last digits") {
        for (const std::size_t length : {1, 7, 65, 401}) {
            const auto problem = random_problem<double>({1, 2, length, length, 24, 9}, 3);
            CHECK_FUSED(problem, scaled(24), double_tolerance);
        }
    }

    TEST_CASE("a shift of all scores has no visible effect") {
        // A feature that is 1 in each query and the same in each key adds a constant to each score.
        auto problem = random_problem<double>({1, 1, 9, 300, 3, 4}, 4);
        for (std::size_t q = 0; q < 9; ++q) problem.query[q * 3] = 1;
        for (std::size_t k = 0; k < 300; ++k) problem.key[k * 3] = 0;
        const std::vector<double> before = fused(problem, {});
        for (std::size_t k = 0; k < 300; ++k) problem.key[k * 3] = -750;
        CHECK(difference(fused(problem, {}), before).largest < 1e-11);
    }

    TEST_CASE("the number of threads does not change a bit") {
        for (const bool causal : {false, true}) {
            const auto problem = random_problem<float>({1, 3, 520, 520, 64, 64}, 5);
            FusedOptions options = scaled(64);
            options.mask.causal = causal;
            const std::vector<float> alone = fused(problem, options);
            for (const std::size_t threads : {2, 3, 0}) {
                options.threads = threads;
                CHECK(fused(problem, options) == alone);
            }
        }
    }

    TEST_CASE("nan in a query or a visible key shows in its own rows and nowhere else") {
        auto problem = random_problem<float>({1, 1, 40, 30, 8, 2}, 6);
        const float nan = std::numeric_limits<float>::quiet_NaN();
        problem.query[17 * 8 + 3] = nan;
        for (const InstructionSet instruction_set : available_instruction_sets()) {
            FusedOptions options;
            options.instruction_set = instruction_set;
            options.empty_row = EmptyRow::zero;
            const std::vector<float> context = fused(problem, options);
            for (std::size_t i = 0; i < context.size(); ++i) {
                CHECK(std::isnan(context[i]) == (i / 2 == 17));
            }
            auto poisoned = problem;
            poisoned.key[29 * 8] = nan;
            for (const float number : fused(poisoned, options)) CHECK(std::isnan(number));
        }
    }

    TEST_CASE("an instruction set that the processor lacks is refused, with those it has") {
        const auto problem = random_problem<float>({1, 1, 2, 2, 2, 2}, 1);
        const std::vector<InstructionSet> available = available_instruction_sets();
        for (const InstructionSet instruction_set :
             {InstructionSet::sse2, InstructionSet::avx2, InstructionSet::avx512,
              InstructionSet::neon64}) {
            FusedOptions options;
            options.instruction_set = instruction_set;
            if (std::find(available.begin(), available.end(), instruction_set) != available.end()) {
                CHECK_NOTHROW(fused(problem, options));
                continue;
            }
            try {
                fused(problem, options);
                FAIL_CHECK("not refused");
            } catch (const ConfigError& error) {
                const std::string message = error.what();
                CHECK(message.find(instruction_set_name(instruction_set)) != std::string::npos);
                CHECK(message.find(instruction_set_name(available.back())) != std::string::npos);
            }
        }
    }

    TEST_CASE("no queries, no keys and no features are valid sizes") {
        CHECK(fused(random_problem<float>({1, 1, 0, 3, 2, 2}, 1), {}).empty());
        CHECK(fused(random_problem<float>({1, 1, 3, 3, 2, 0}, 1), {}).empty());
        CHECK_FUSED(random_problem<float>({1, 2, 3, 0, 2, 2}, 1), FusedOptions{}, 0);
        CHECK_FUSED(random_problem<float>({1, 1, 3, 5, 0, 2}, 1), FusedOptions{}, float_tolerance);
    }
}

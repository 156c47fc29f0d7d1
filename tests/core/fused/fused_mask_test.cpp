#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "attn/core/fused/fused_attention.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/core/fused/fused_reference.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr double tolerance = 3e-6;

/// Cells that are true with a probability, in an array, which std::vector<bool> is not.
struct Cells {
    Cells(std::size_t count, double probability, unsigned seed)
        : size(count), data(std::make_unique<bool[]>(count)) {
        std::mt19937 generator(seed);
        std::bernoulli_distribution hidden(probability);
        for (std::size_t i = 0; i < count; ++i) data[i] = hidden(generator);
    }
    std::size_t size;
    std::unique_ptr<bool[]> data;
};

}  // namespace

TEST_SUITE("fused mask") {
    TEST_CASE("causal attention agrees with float64 at every offset and both orders of length") {
        for (const std::size_t query_len : {1, 63, 150}) {
            for (const std::size_t key_len : {1, 65, 260}) {
                const auto problem = random_problem<float>({1, 2, query_len, key_len, 8, 9}, 1);
                for (const std::ptrdiff_t offset : {-400, -20, -1, 0, 1, 47, 110, 400}) {
                    CAPTURE(query_len);
                    CAPTURE(key_len);
                    CAPTURE(offset);
                    FusedOptions options;
                    options.mask.causal = true;
                    options.mask.causal_offset = offset;
                    CHECK_FUSED(problem, options, tolerance);
                    options.empty_row = EmptyRow::zero;
                    CHECK_FUSED(problem, options, tolerance);
                }
            }
        }
    }

    TEST_CASE("changing a later token changes no earlier row by a bit") {
        auto problem = random_problem<float>({1, 1, 200, 200, 16, 16}, 2);
        FusedOptions options;
        options.mask.causal = true;
        const std::vector<float> before = fused(problem, options);
        for (std::size_t d = 0; d < 16; ++d) problem.key[150 * 16 + d] = 1000.0F;
        for (std::size_t d = 0; d < 16; ++d) problem.value[150 * 16 + d] = -1000.0F;
        const std::vector<float> after = fused(problem, options);
        CHECK(std::equal(before.begin(), before.begin() + 150 * 16, after.begin()));
        CHECK_FALSE(std::equal(before.begin() + 150 * 16, before.end(), after.begin() + 150 * 16));
    }

    TEST_CASE("a sliding window agrees with float64, with and without later keys") {
        for (const std::size_t query_len : {1, 63, 150}) {
            for (const std::size_t key_len : {1, 65, 460}) {
                const auto problem = random_problem<float>({1, 2, query_len, key_len, 8, 9}, 3);
                for (const std::ptrdiff_t offset : {-400, -20, -1, 0, 1, 47, 300, 600}) {
                    CAPTURE(query_len);
                    CAPTURE(key_len);
                    CAPTURE(offset);
                    FusedOptions options;
                    options.mask.window = true;
                    options.mask.window_offset = offset;
                    CHECK_FUSED(problem, options, tolerance);
                    options.mask.causal = true;
                    options.mask.causal_offset = offset + 3;
                    CHECK_FUSED(problem, options, tolerance);
                    options.mask.causal_offset = offset - 1;
                    options.empty_row = EmptyRow::zero;
                    CHECK_FUSED(problem, options, 0);
                }
            }
        }
    }

    TEST_CASE("keys before the window of every query are not read") {
        auto problem = random_problem<float>({1, 1, 200, 230, 8, 5}, 3);
        for (const std::size_t k : {0, 13}) {
            problem.value[k * 5] = std::numeric_limits<float>::quiet_NaN();
        }
        FusedOptions options;
        options.mask.window = true;
        options.mask.window_offset = 14;
        CHECK_FUSED(problem, options, tolerance);
    }

    TEST_CASE("a general mask agrees with float64 however it is broadcast") {
        const AttentionShape shape{2, 3, 70, 410, 8, 5};
        const auto problem = random_problem<float>(shape, 4);
        const Cells cells(2 * 3 * 70 * 410, 0.4, 5);
        struct Strides {
            std::size_t batch, head, query, key;
        };
        for (const Strides& strides :
             {Strides{3 * 70 * 410, 70 * 410, 410, 1}, Strides{0, 0, 410, 1}, Strides{410, 0, 0, 1},
              Strides{70, 0, 1, 0}, Strides{0, 70 * 410, 1, 70}}) {
            FusedOptions options;
            options.mask.hidden = cells.data.get();
            options.mask.batch_stride = strides.batch;
            options.mask.head_stride = strides.head;
            options.mask.query_stride = strides.query;
            options.mask.key_stride = strides.key;
            CHECK_FUSED(problem, options, tolerance);
            options.mask.causal = true;
            options.mask.causal_offset = 200;
            options.empty_row = EmptyRow::zero;
            CHECK_FUSED(problem, options, tolerance);
        }
    }

    TEST_CASE("a block of keys that a general mask hides completely is not read") {
        auto problem = random_problem<float>({1, 1, 10, 600, 4, 4}, 6);
        Cells cells(600, 0.0, 1);
        // The kernel's blocks have at most some 200 keys: the middle covers at least one.
        std::fill(cells.data.get() + 100, cells.data.get() + 500, true);
        for (std::size_t i = 192 * 4; i < 384 * 4; ++i) {
            problem.key[i] = problem.value[i] = std::numeric_limits<float>::quiet_NaN();
        }
        FusedOptions options;
        options.mask.hidden = cells.data.get();
        options.mask.key_stride = 1;
        CHECK_FUSED(problem, options, tolerance);
    }

    TEST_CASE("hiding a key is deleting it") {
        const auto problem = random_problem<double>({1, 1, 12, 9, 4, 3}, 7);
        Cells cells(9, 0.0, 1);
        cells.data[4] = true;
        FusedOptions options;
        options.mask.hidden = cells.data.get();
        options.mask.key_stride = 1;
        Problem<double> without = problem;
        without.shape.key_len = 8;
        without.key.erase(without.key.begin() + 4 * 4, without.key.begin() + 5 * 4);
        without.value.erase(without.value.begin() + 4 * 3, without.value.begin() + 5 * 3);
        CHECK(difference(fused(problem, options), fused(without, {})).largest < 1e-15);
    }

    TEST_CASE(
        "a query that sees no key gives nan or zero, as configured, and its neighbours are "
        "unaffected") {
        const auto problem = random_problem<float>({1, 1, 60, 250, 4, 3}, 8);
        Cells cells(60 * 250, 0.0, 1);
        std::fill(cells.data.get() + 31 * 250, cells.data.get() + 32 * 250, true);
        FusedOptions options;
        options.mask.hidden = cells.data.get();
        options.mask.query_stride = 250;
        options.mask.key_stride = 1;
        CHECK_FUSED(problem, options, tolerance);
        CHECK(std::isnan(fused(problem, options)[31 * 3]));
        options.empty_row = EmptyRow::zero;
        CHECK_FUSED(problem, options, tolerance);
        CHECK(fused(problem, options)[31 * 3] == 0.0F);
    }

    TEST_CASE("an error at fully masked rows is not available: the kernel does not look for them") {
        const auto problem = random_problem<float>({2, 1, 3, 5, 2, 2}, 9);
        FusedOptions options;
        options.empty_row = EmptyRow::error;
        CHECK_THROWS_WITH_AS(fused(problem, options),
                             "fused attention fills rows whose keys are all hidden, but cannot "
                             "report them: choose nan or zero for empty rows",
                             ConfigError);
    }
}

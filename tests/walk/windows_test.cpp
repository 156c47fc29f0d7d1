// Evaluation over windows of query rows against evaluation of whole tensors, step by step.
#include "attn/walk/windows.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "attn/cards/step_table.hpp"
#include "attn/tensor/error.hpp"
#include "tests/walk/random_plans.hpp"

using namespace attn;

namespace {

/// The same steps under another type of function, which windows do not know: whole tensors.
const StepTable& whole_table() {
    static const StepTable table = [] {
        StepTable steps = step_table();
        for (Step& step : steps) {
            if (step.name != "weights") continue;
            step.compute = [compute = step.compute](const Plan& plan, const Ledger& ledger) {
                return compute(plan, ledger);
            };
        }
        return steps;
    }();
    return table;
}

bool same_bits(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Every step of both ledgers is the same to the bit, but for the context, to `tolerance`.
void check_same(const Ledger& windows, const Ledger& whole, double tolerance, int number) {
    REQUIRE(windows.entries().size() == whole.entries().size());
    for (std::size_t e = 0; e < whole.entries().size(); ++e) {
        const auto& [name, tensor] = whole.entries()[e];
        REQUIRE(windows.entries()[e].name == name);
        const Tensor& other = windows.entries()[e].tensor;
        REQUIRE(other.shape() == tensor.shape());
        REQUIRE(other.axes() == tensor.axes());
        const bool summed = name == "context" || name == "merged" || name == "output";
        for (std::size_t c = 0; c < tensor.size(); ++c) {
            const double off = std::abs(tensor.at(c) - other.at(c));
            REQUIRE_MESSAGE((same_bits(tensor.at(c), other.at(c)) || (summed && off <= tolerance)),
                            "configuration " << number << ", " << name << " cell " << c << ": "
                                             << tensor.at(c) << " and " << other.at(c));
        }
    }
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

TEST_SUITE("windows") {
    TEST_CASE("small walks give the same bits as whole tensors") {
        std::mt19937 random(20261121);
        for (int i = 0; i < 400; ++i) {
            WalkConfig config = random_config(random);
            config.empty_row = i % 2 == 0 ? EmptyRow::nan : EmptyRow::zero;
            if (i % 3 == 0) config.compute_dtype = DType::float64;
            const Plan plan = resolve(config);
            const Ledger given = draw(plan);
            REQUIRE(runs_in_windows(plan, given, step_table()));
            REQUIRE_FALSE(runs_in_windows(plan, given, whole_table()));
            check_same(walk(plan, given), walk(plan, given, whole_table()), 0, i);
        }
    }

    TEST_CASE("so do long ones, up to the order of the sums that mix the values") {
        std::mt19937 random(5);
        int number = 0;
        for (const std::int64_t queries : {1, 63, 65, 300}) {
            for (const std::int64_t keys : {1, 7, 64, 129, 1200}) {
                for (const bool causal : {false, true}) {
                    WalkConfig config = long_config(random, queries, keys);
                    config.mask.causal = causal;
                    config.causal_align = keys % 2 == 0 ? CausalAlign::end : CausalAlign::start;
                    config.mask.padding = number % 3 == 0;
                    if (config.mask.padding) config.lengths = {keys - keys / 4};
                    config.threads = 1 + number % 2;
                    const Plan plan = resolve(config);
                    const Ledger given = draw(plan);
                    const Ledger whole = walk(plan, given, whole_table());
                    // The weights of a row sum to 1, so no partial sum is larger than the largest
                    // value; each of the additions rounds it once.
                    double largest = 0;
                    const Tensor& value = whole["value"];
                    for (std::size_t c = 0; c < value.size(); ++c) {
                        largest = std::max(largest, std::abs(value.at(c)));
                    }
                    const double tolerance = 2 * static_cast<double>(keys) * 1.2e-7 * largest;
                    check_same(walk(plan, given), whole, tolerance, number++);
                }
            }
        }
    }

    TEST_CASE("a mask file and rows that hide every key are honoured") {
        std::mt19937 random(11);
        WalkConfig config = long_config(random, 70, 90);
        Array<bool> mask = empty_array<bool>({2, 70, 90});
        for (std::size_t i = 0; i < mask.size(); ++i) mask.data()[i] = random() % 3 == 0;
        for (std::size_t k = 0; k < 90; ++k) mask(1, 66, k) = true;
        config.mask.given = Tensor({"head", "query", "key"}, mask);
        for (const EmptyRow empty : {EmptyRow::nan, EmptyRow::zero, EmptyRow::error}) {
            config.empty_row = empty;
            const Plan plan = resolve(config);
            const Ledger given = draw(plan);
            if (empty == EmptyRow::error) {
                CHECK_THROWS_WITH_AS(walk(plan, given), doctest::Contains("row 136 of the scores"),
                                     ConfigError);
                continue;
            }
            check_same(walk(plan, given), walk(plan, given, whole_table()), 1e-4, 0);
        }
    }

    TEST_CASE("a hidden value that is infinite makes its column nan, as 0 times infinity is") {
        std::mt19937 random(12);
        WalkConfig config = long_config(random, 3, 80);
        config.projection = Projection::none;
        config.embed_dim = 10;
        config.memory.reset();
        config.key_len.reset();
        config.query_len = 80;
        config.mask.causal = true;
        const Plan plan = resolve(config);
        Ledger given = draw(plan);
        Array<float> value = given["value"].as<float>();
        value(0, 79, 2) = std::numeric_limits<float>::infinity();
        given.record("value", Tensor(given["value"].axes(), value));
        const Ledger windows = walk(plan, given);
        check_same(windows, walk(plan, given, whole_table()), 1e-4, 0);
        CHECK(std::isnan(windows["context"].at(2)));
        CHECK(std::isfinite(windows["context"].at(3)));
    }

    TEST_CASE("some rows are what the whole has there") {
        std::mt19937 random(13);
        WalkConfig config = long_config(random, 40, 100);
        config.batch = 2;
        config.mask.causal = true;
        const Plan plan = resolve(config);
        const Ledger whole = walk(plan, draw(plan));
        const QueryRows rows{{1}, {1, 0}, {5, 6, 7, 39, 0}};
        const Ledger part = evaluate_windows(plan, whole, rows, {"scores", "weights", "context"});
        for (const char* name : {"scores", "weights", "context"}) {
            const Tensor& tensor = part[name];
            const std::size_t width = tensor.shape().back();
            REQUIRE(tensor.shape() == Shape{1, 2, 5, width});
            for (std::size_t h = 0; h < 2; ++h) {
                for (std::size_t q = 0; q < 5; ++q) {
                    for (std::size_t c = 0; c < width; ++c) {
                        const std::size_t row = (2 + rows.heads[h]) * 40 + rows.queries[q];
                        const double expected = whole[name].at(row * width + c);
                        const double got = tensor.at((h * 5 + q) * width + c);
                        REQUIRE(std::abs(got - expected) <= 2e-5 * (1 + std::abs(expected)));
                    }
                }
            }
        }
    }
}

// Steps computed by their rules: cells known on paper, with any variant.

#include "attn/core/settings/settings.hpp"
#include "attn/core/steps/rotary.hpp"
#include "tests/core/steps/twins.hpp"
#include "tests/support/walked.hpp"

using namespace attn;
using namespace steps_test;
using attn::testing::walked;

namespace {

constexpr double quarter_turn = 1.5707963267948966;

WalkConfig in_float64() {
    WalkConfig config = configured("dtype float64");
    return config;
}

/// A step of a walk, computed from these numbers of the steps before it.
Matrix made(const WalkConfig& config, const char* step,
            const std::vector<std::pair<const char*, std::vector<double>>>& read) {
    const Plan plan = resolve(config);
    const StepTable& table = step_table(plan);
    Ledger ledger(chains_of(table));
    for (const auto& [name, numbers] : read) {
        const Outline outline = find_step(table, name).outline(plan);
        Matrix cells = empty_array<double>(outline.shape);
        REQUIRE(cells.size() == numbers.size());
        std::copy(numbers.begin(), numbers.end(), cells.data());
        ledger.record(name, {outline.axes, std::move(cells)});
    }
    return find_step(table, step).compute(plan, ledger).as<double>();
}

WalkConfig rotating(std::int64_t tokens, std::int64_t features, Pairing pairing) {
    WalkConfig config = in_float64();
    config.query_len = tokens;
    config.embed_dim = features;
    config.rotary.pairing = pairing;
    return config;
}

double dot(const Tensor& a, std::size_t row, const Tensor& b, std::size_t column) {
    const std::size_t features = a.shape().back();
    double sum = 0;
    for (std::size_t f = 0; f < features; ++f) {
        sum += a.at(row * features + f) * b.at(column * features + f);
    }
    return sum;
}

}  // namespace

TEST_SUITE("steps: rules") {
    TEST_CASE("in float32 an inverse frequency is rounded three times, as in PyTorch") {
        // theta 500000, 128 features: the exponent, its power, and the quotient, each in float32.
        WalkConfig config = rotating(1, 128, Pairing::half);
        config.dtype = DType::float32;
        config.rotary.theta = 500000;
        const Ledger ledger = walked(config);
        const Array<float>& frequencies = ledger["inverse_frequencies"].as<float>();
        const std::pair<std::size_t, float> known[]{{1, 8.146172166e-01F},
                                                    {7, 2.380538136e-01F},
                                                    {29, 2.616099082e-03F},
                                                    {63, 2.455140702e-06F}};
        for (const auto& [pair, frequency] : known) CHECK(frequencies(pair) == frequency);
    }

    TEST_CASE("a quarter turn maps (a, b) to (-b, a), in either pairing; other features stay") {
        for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
            WalkConfig config = rotating(1, 5, pairing);
            config.rotary.dim = 4;
            const bool half = pairing == Pairing::half;
            check_cells(
                made(config, "rotated_query",
                     {{"query", {1, 2, 3, 4, 5}}, {"cos", {0, 1}}, {"sin", {1, 0}}}),
                half ? std::vector<double>{-3, 2, 1, 4, 5} : std::vector<double>{-2, 1, 3, 4, 5});
        }
        check_cells(made(rotating(1, 4, Pairing::half), "cos", {{"angles", {0, quarter_turn}}}),
                    {1, std::cos(quarter_turn)});
    }

    TEST_CASE("the product of two rotated rows depends on the difference of their positions") {
        for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
            WalkConfig config = rotating(5, 8, pairing);
            const Ledger now = walked(config);
            config.positions = {7, 8, 9, 10, 11};
            const Ledger later = walked(config);
            for (std::size_t i = 0; i < 5; ++i) {
                const double before = dot(now["query"], i, now["key"], i);
                CHECK(now["scores"].at(i * 5 + i) == doctest::Approx(before).epsilon(1e-13));
            }
            CHECK(attn::testing::largest_difference(now["scores"], later["scores"]) < 1e-13);
        }
    }

    TEST_CASE(
        "position 1 is the sine and cosine of 1 and of 1/100; an odd width ends with a sine") {
        WalkConfig config = in_float64();
        configure(config, "seq-len 2, embed-dim 5, position-embedding sinusoidal");
        const Ledger ledger = walked(config);
        const double second = std::pow(10000, -2. / 5), third = std::pow(10000, -4. / 5);
        check_cells(ledger["position_embedding"].as<double>(),
                    {0, 1, 0, 1, 0, std::sin(1), std::cos(1), std::sin(second), std::cos(second),
                     std::sin(third)});
    }

    TEST_CASE("an id selects its row of the table, and each position adds its own") {
        WalkConfig config = in_float64();
        Tokens tokens;
        tokens.sequences = {{1, 0, 1}};
        tokens.vocab_size = 2;
        config.input = tokens;
        config.embed_dim = 2;
        const Plan plan = resolve(config);
        Ledger given = draw(plan);
        given.record("embedding", {{"vocab", "feature"}, Matrix{{1, 2}, {3, 4}}});
        check_cells(walk(plan, given)["x"].as<double>(), {3, 4, 1, 2, 3, 4});
    }

    TEST_CASE("new rows come after the earlier ones, in each head, and copies are adjacent") {
        WalkConfig config = in_float64();
        configure(config, "seq-len 2, past 1, embed-dim 8, heads 4, kv-heads 2");
        check_cells(made(config, "present_key",
                         {{"past_key", {0, 1, 2, 3}}, {"key", {10, 11, 12, 13, 14, 15, 16, 17}}}),
                    {0, 1, 10, 11, 12, 13, 2, 3, 14, 15, 16, 17});
        config.past.reset();
        config.query_len = 1;
        check_cells(made(config, "repeated_key", {{"key", {0, 1, 2, 3}}}),
                    {0, 1, 0, 1, 2, 3, 2, 3});
    }

    TEST_CASE("dot products of ln 3 and ln 2 add 3 - 2 to lambda; neighbours are subtracted") {
        WalkConfig config = in_float64();
        configure(config, "seq-len 1, embed-dim 8, heads 2, differential 0");
        check_cells(made(config, "lambda_full",
                         {{"lambda_q1", {std::log(3), 5}},
                          {"lambda_k1", {1, 0}},
                          {"lambda_q2", {1, 1}},
                          {"lambda_k2", {std::log(2) / 2, std::log(2) / 2}}}),
                    {1.2});
        check_cells(made(config, "differential_weights",
                         {{"weights", {0.5, 1, 0.25, 0}}, {"lambda_full", {0.5}}}),
                    {0, 0.25});
    }

    TEST_CASE("every row sums to 1, including the weight of its head's sink") {
        WalkConfig config = in_float64();
        configure(config, "batch 2, heads 2, sink randn");
        const Ledger ledger = walked(config);
        const Tensor& weights = ledger["weights"];
        const std::size_t keys = weights.shape().back();
        for (std::size_t row = 0; row < weights.size() / keys; ++row) {
            double sum = ledger["sink_weight"].at(row);
            for (std::size_t k = 0; k < keys; ++k) sum += weights.at(row * keys + k);
            CHECK(sum == doctest::Approx(1).epsilon(1e-14));
        }
        const Plan plan = resolve(config);
        const Ledger whole = walk(plan, draw(plan), step_table(plan), Details::skipped);
        CHECK(same_numbers(whole["sink_weight"], ledger["sink_weight"]));
    }
}

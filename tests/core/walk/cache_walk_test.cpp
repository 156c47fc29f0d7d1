// The cache: keys and values of earlier tokens, chunks of tokens, and sinks.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "tests/core/plan/random_plans.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/walked.hpp"

using namespace attn;

namespace {

WalkConfig cached(std::int64_t tokens) {
    WalkConfig config =
        configured("heads 4, kv-heads 2, head-dim 4, value-dim 3, embed-dim 5, batch 2");
    config.query_len = tokens;
    config.mask.causal = true;
    configure(config, "rope half, sink randn, output-projection");
    return config;
}

Tensor filled(Axes axes, const Shape& shape, float value) {
    Array<float> cells = empty_array<float>(shape);
    cells.fill(value);
    return {std::move(axes), std::move(cells)};
}

std::string refusal_of(const WalkConfig& config) {
    return refusal<Error>([&] { resolve(config); });
}

}  // namespace

TEST_SUITE("walk: cache") {
    TEST_CASE("with loops, any chunks give the rows of the whole walk, bit for bit") {
        // Sums over the keys are one chain: otherwise an odd last key is added after the others,
        // and in a longer row that key comes earlier.
        for (const Projection projection : {Projection::split, Projection::fused}) {
            for (const std::int64_t size : {1, 2, 3, 5, 7, 9}) {
                WalkConfig config = cached(7);
                config.projection = projection;
                config.variant = Variant::loop;
                config.prefill = size;
                config.single_chain = true;
                const Plan plan = resolve(config);
                const Ledger whole = walk(plan, draw(plan));
                const std::vector<Ledger> ledgers = walk_chunks(plan, whole, step_table());
                const std::vector<PrefillChunk> chunks = prefill_chunks(plan);
                REQUIRE(ledgers.size() == chunks.size());
                for (std::size_t c = 0; c < chunks.size(); ++c) {
                    INFO("chunks of " << size << ", chunk " << c);
                    const std::size_t end = chunks[c].first + chunks[c].count;
                    const std::string rows =
                        std::to_string(chunks[c].first) + ":" + std::to_string(end);
                    const std::string keys = ":" + std::to_string(end);
                    for (const auto& [step, part] :
                         {std::pair<std::string, std::string>{"context", ":,:," + rows},
                          {"sink_weight", ":,:," + rows},
                          {"weights", ":,:," + rows + "," + keys},
                          {"masked_scores", ":,:," + rows + "," + keys},
                          {"rotated_key", ":,:," + rows},
                          {"output", ":," + rows}}) {
                        CHECK_MESSAGE(
                            testing::differences(slice(whole[step], part), ledgers[c][step]) == 0,
                            step);
                    }
                    if (chunks[c].first == 0) continue;
                    CHECK(ledgers[c]["present_key"].extent("key") == end);
                    CHECK(testing::differences(slice(whole["rotated_key"], ":,:," + keys),
                                               ledgers[c]["present_key"]) == 0);
                }
            }
        }
    }

    TEST_CASE(
        "scores and weights keep their bits with two partial sums, and so do contexts of even "
        "chunks") {
        WalkConfig config = cached(7);
        config.variant = Variant::loop;
        for (const std::int64_t size : {1, 2, 3, 4}) {
            config.prefill = size;
            const Plan plan = resolve(config);
            const Ledger whole = walk(plan, draw(plan));
            const std::vector<Ledger> ledgers = walk_chunks(plan, whole, step_table());
            for (std::size_t c = 0; c < ledgers.size(); ++c) {
                const PrefillChunk chunk = prefill_chunks(plan)[c];
                const std::size_t end = chunk.first + chunk.count;
                const std::string rows =
                    ":,:," + std::to_string(chunk.first) + ":" + std::to_string(end);
                const std::string cells = rows + ",:" + std::to_string(end);
                for (const char* step : {"scores", "scaled_scores", "masked_scores", "weights"}) {
                    CHECK(testing::differences(slice(whole[step], cells), ledgers[c][step]) == 0);
                }
                if (end % 2 == 1 && end < 7) continue;
                CHECK(testing::differences(slice(whole["context"], rows), ledgers[c]["context"]) ==
                      0);
            }
        }
    }

    TEST_CASE("a user's bias is cut as the scores are") {
        for (const Shape& shape :
             {Shape{7, 7}, Shape{4, 7, 7}, Shape{2, 1, 7, 7}, Shape{1, 7}, Shape{7, 1}, Shape{7}}) {
            Array<float> numbers = empty_array<float>(shape);
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                numbers.data()[i] = static_cast<float>(i * i % 11) / 4;
            }
            Axes axes;
            for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(std::to_string(i));
            for (const Variant variant : {Variant::loop, Variant::vectorized, Variant::fused}) {
                WalkConfig config = cached(7);
                config.variant = variant;
                config.prefill = 3;
                config.position_bias =
                    PositionBias{PositionBias::Kind::file, 32, 128, Tensor(axes, numbers)};
                const Plan plan = resolve(config);
                const Ledger whole = walk(plan, draw(plan));
                const std::vector<Ledger> ledgers = walk_chunks(plan, whole, step_table());
                for (std::size_t c = 0; c < ledgers.size(); ++c) {
                    const PrefillChunk chunk = prefill_chunks(plan)[c];
                    const Tensor rows =
                        slice(whole["output"], ":," + std::to_string(chunk.first) + ":" +
                                                   std::to_string(chunk.first + chunk.count));
                    for (std::size_t i = 0; i < rows.size(); ++i) {
                        CHECK(ledgers[c]["output"].at(i) ==
                              doctest::Approx(rows.at(i)).epsilon(1e-5));
                    }
                }
            }
        }
    }

    TEST_CASE("vectorized and fused give the same rows to rounding") {
        for (const Variant variant : {Variant::vectorized, Variant::fused}) {
            WalkConfig config = cached(7);
            config.variant = variant;
            config.prefill = 3;
            const Plan plan = resolve(config);
            const Ledger whole = walk(plan, draw(plan));
            const std::vector<Ledger> ledgers = walk_chunks(plan, whole, step_table());
            const Tensor last = slice(whole["output"], ":,6:7");
            for (std::size_t i = 0; i < last.size(); ++i) {
                CHECK(ledgers[2]["output"].at(i) == doctest::Approx(last.at(i)).epsilon(1e-5));
            }
        }
    }

    TEST_CASE("a past puts keys first, and queries come after it") {
        WalkConfig config = cached(3);
        config.past = 4;
        const Plan plan = resolve(config);
        CHECK(plan.key_len == 7);
        CHECK(plan.config.positions == std::vector<std::int64_t>{4, 5, 6});
        const Ledger ledger = walk(plan, draw(plan));
        CHECK(ledger["past_key"].shape() == Shape{2, 2, 4, 4});
        CHECK(ledger["key"].shape() == Shape{2, 2, 3, 4});
        CHECK(ledger["present_key"].shape() == Shape{2, 2, 7, 4});
        CHECK(ledger["repeated_value"].shape() == Shape{2, 4, 7, 3});
        CHECK(ledger["weights"].shape() == Shape{2, 4, 3, 7});
        // Row 0 is position 4: it sees the keys 0 to 4.
        CHECK(ledger["weights"].at(4) > 0);
        CHECK(ledger["weights"].at(5) == 0);
        const Derivation derivation =
            derive(plan, step_table(), ledger,
                   parse_cell(plan, step_table(), ledger, "present_key[0,1,5,2]"));
        CHECK(derivation.sources[0].step == "rotated_key");
        CHECK(derivation.sources[0].indices == std::vector<std::size_t>{0, 1, 1, 2});
        CHECK(derivation.sources[0].value == derivation.cell.value);
    }

    TEST_CASE("given past keys and values determine their number") {
        WalkConfig config = cached(2);
        config.batch.reset();
        config.parameters.record("past_key", filled({"head", "key", "feature"}, {2, 3, 4}, 1));
        config.parameters.record("past_value", filled({"head", "key", "feature"}, {2, 3, 3}, 2));
        const Plan plan = resolve(config);
        CHECK(plan.past_len == 3);
        CHECK(walk(plan, draw(plan))["present_value"].at(0) == 2);
    }

    TEST_CASE("requests that a cache does not support are refused in one line") {
        WalkConfig config = cached(3);
        config.past = 2;
        config.memory = RandomInput{};
        CHECK_MESSAGE(refusal_of(config).starts_with("past belongs to self-attention"),
                      refusal_of(config));
        config = cached(3);
        config.prefill = 2;
        config.mask.causal = false;
        CHECK_MESSAGE(refusal_of(config).ends_with("add mask causal"), refusal_of(config));
        config = cached(3);
        config.softmax_axis = SoftmaxAxis::query;
        CHECK_MESSAGE(refusal_of(config).starts_with("a sink is part of a softmax"),
                      refusal_of(config));
    }
}

TEST_SUITE("walk: sink") {
    TEST_CASE("a sink of -inf has no effect, bit for bit, in every variant") {
        for (const Variant variant : {Variant::loop, Variant::vectorized, Variant::fused}) {
            WalkConfig config = cached(5);
            config.variant = variant;
            config.sink.reset();
            const Plan plan = resolve(config);
            const Ledger without = walk(plan, draw(plan));
            config.sink = SinkLogit::given;
            config.parameters.record(
                "sink", filled({"head"}, {4}, -std::numeric_limits<float>::infinity()));
            const Plan sunk = resolve(config);
            const Ledger with = walk(sunk, draw(sunk));
            for (const auto& [name, tensor] : without.entries()) {
                CHECK_MESSAGE(testing::differences(tensor, with[name]) == 0, name);
            }
        }
    }

    TEST_CASE("a sink is one more key with a value of zero") {
        // The same walk with a fifth key whose score is the sink's: query @ key^T = sink * sqrt(D).
        WalkConfig config = configured("projection none, seq-len 4, head-dim 2, sink randn");
        for (const Variant variant : {Variant::loop, Variant::vectorized, Variant::fused}) {
            config.variant = variant;
            const Plan plan = resolve(config);
            const Ledger given = draw(plan);
            const Ledger with = walk(plan, given);
            const double sink = given["sink"].at(0);
            for (std::size_t q = 0; q < 4; ++q) {
                double sum = std::exp(sink);
                double context = 0;
                for (std::size_t k = 0; k < 4; ++k) {
                    double score = 0;
                    for (std::size_t f = 0; f < 2; ++f) {
                        score += given["query"].at(2 * q + f) * given["key"].at(2 * k + f);
                    }
                    const double exponential = std::exp(score / std::sqrt(2.0));
                    sum += exponential;
                    context += exponential * given["value"].at(2 * k);
                }
                CHECK(with["context"].at(2 * q) == doctest::Approx(context / sum).epsilon(1e-5));
            }
        }
    }
}

#include <doctest/doctest.h>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/support/walked.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

WalkConfig turning(Pairing pairing) {
    WalkConfig config = configured("heads 2, head-dim 6, seq-len 5, dtype float64, mask causal");
    config.rotary.pairing = pairing;
    return config;
}

}  // namespace

TEST_SUITE("walk: rotary positions") {
    TEST_CASE("moving all tokens by the same distance leaves the scores unchanged") {
        for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
            WalkConfig config = turning(pairing);
            const Ledger first = walked(config);
            config.positions = {7, 8, 9, 10, 11};
            const Ledger later = walked(config);
            CHECK(largest_difference(first["rotated_query"], later["rotated_query"]) > 0.1);
            CHECK(largest_difference(first["scores"], later["scores"]) < 1e-14);
        }
    }

    TEST_CASE("a token's score with itself is the score without rotation") {
        WalkConfig config = turning(Pairing::half);
        const Ledger turned = walked(config);
        config.rotary.pairing.reset();
        const Ledger plain = walked(config);
        for (std::size_t h = 0; h < 2; ++h) {
            for (std::size_t t = 0; t < 5; ++t) {
                const std::size_t cell = flat_index({h, t, t}, {2, 5, 5});
                CHECK(std::abs(turned["scores"].at(cell) - plain["scores"].at(cell)) < 1e-14);
            }
        }
        CHECK(largest_difference(turned["scores"], plain["scores"]) > 0.01);
    }

    TEST_CASE("if all tokens are at position 0 nothing changes, bit for bit") {
        for (const Variant variant : {Variant::loop, Variant::vectorized}) {
            WalkConfig config = turning(Pairing::interleaved);
            config.variant = variant;
            config.positions = {0, 0, 0, 0, 0};
            const Ledger still = walked(config);
            config.rotary.pairing.reset();
            const Ledger plain = walked(config);
            CHECK(largest_difference(still["rotated_query"], plain["query"]) == 0);
            CHECK(largest_difference(still["context"], plain["context"]) == 0);
        }
    }

    TEST_CASE("the variants agree, with a memory at its own positions too") {
        for (const bool has_memory : {false, true}) {
            WalkConfig config = turning(Pairing::half);
            config.rotary.dim = 4;
            if (has_memory) {
                config.memory = RandomInput{};
                config.key_len = 3;
                config.memory_positions = {4, 0, 9};
                config.mask.causal = false;
            }
            config.variant = Variant::loop;
            const Ledger loop = walked(config);
            for (const Variant variant : {Variant::vectorized, Variant::fused}) {
                config.variant = variant;
                CHECK(largest_difference(loop["context"], walked(config)["context"]) < 1e-14);
            }
            CHECK(loop.has("memory_cos") == has_memory);
            const Tensor& key = loop["key"];
            const Tensor& rotated = loop["rotated_key"];
            const std::size_t second = key.shape().back();  // its position: 1, or 0 in memory
            CHECK((rotated.at(second) == key.at(second)) == has_memory);
            CHECK(rotated.at(second + 4) == key.at(second + 4));  // beyond rotary_dim
        }
    }

    TEST_CASE("an odd width, a missing position and an invalid base are refused") {
        const auto refused = [](auto change) {
            WalkConfig config = turning(Pairing::half);
            change(config);
            CHECK_THROWS_AS(resolve(config), ConfigError);
        };
        refused([](WalkConfig& config) { config.head_dim = 5; });
        refused([](WalkConfig& config) { config.rotary.dim = 3; });
        refused([](WalkConfig& config) { config.rotary.dim = 8; });
        refused([](WalkConfig& config) { config.rotary.dim = 0; });
        refused([](WalkConfig& config) { config.positions = {1, 2}; });
        refused([](WalkConfig& config) { config.memory_positions = {1}; });
        refused([](WalkConfig& config) { config.rotary.theta = 0; });
        refused([](WalkConfig& config) { config.rotary.theta = std::nan(""); });
    }
}

TEST_SUITE("walk: position embedding") {
    TEST_CASE("x is the sum of tokens and positions, in every sequence") {
        for (const PositionEmbedding kind :
             {PositionEmbedding::learned, PositionEmbedding::sinusoidal}) {
            WalkConfig config;
            Tokens tokens;
            tokens.sequences = {{1, 2, 1}, {2, 2, 0}};
            config.input = tokens;
            config.embed_dim = 6;
            config.dtype = DType::float64;
            config.position_embedding = kind;
            config.positions = {4, 0, 2};
            const Plan plan = resolve(config);
            const Ledger ledger = walk(plan, draw(plan));
            for (std::size_t i = 0; i < ledger["x"].size(); ++i) {
                CHECK(ledger["x"].at(i) ==
                      ledger["token_embedding"].at(i) + ledger["position_embedding"].at(i % 18));
            }
            CHECK(ledger.has("position_table") == (kind == PositionEmbedding::learned));
            if (!ledger.has("position_table")) continue;
            CHECK(ledger["position_table"].shape() == Shape{5, 6});
            CHECK(ledger["position_embedding"].at(3) == ledger["position_table"].at(4 * 6 + 3));
        }
    }

    TEST_CASE("the tokens are those of the walk without positions") {
        WalkConfig config = configured("seq-len 4, embed-dim 4");
        const Ledger plain = walked(config);
        config.position_embedding = PositionEmbedding::sinusoidal;
        const Ledger placed = walked(config);
        CHECK(largest_difference(plain["x"], placed["token_embedding"]) == 0);
        CHECK(largest_difference(plain["w_query"], placed["w_query"]) == 0);
        CHECK(largest_difference(plain["x"], placed["x"]) > 0.1);
    }

    TEST_CASE("a position without a row, and positions without an x, are refused") {
        WalkConfig config = configured("seq-len 2, position-embedding learned, positions 0,7");
        CHECK(*resolve(config).config.position_rows == 8);
        config.parameters.record("position_table",
                                 Tensor({"position", "feature"}, Array<double>{{1, 2}, {3, 4}}));
        CHECK_THROWS_AS(resolve(config), ConfigError);
        config.positions = {1, 0};
        CHECK(*resolve(config).config.embed_dim == 2);
        config.projection = Projection::none;
        CHECK_THROWS_AS(resolve(config), ConfigError);
    }
}

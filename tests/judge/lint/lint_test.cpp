#include "attn/judge/lint/lint.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"

#include <doctest/doctest.h>

using namespace attn;

namespace {

/// The line of one rule for a walk; empty if it does not apply.
std::string line_of(const std::string& id, const WalkConfig& config) {
    const Plan plan = resolve(config);
    const Ledger ledger = walk(plan, draw(plan));
    for (const LintFinding& finding : lint(plan, ledger)) {
        if (finding.rule->id == id) return finding.line;
    }
    return "";
}

bool mentions(const std::string& line, const std::string& words) {
    return line.find(words) != std::string::npos;
}

Tokens tokens(std::vector<std::vector<std::int64_t>> sequences) {
    Tokens result;
    result.sequences = std::move(sequences);
    result.vocab_size = 12;
    result.batch_axis = result.sequences.size() > 1;
    return result;
}

/// Two heads, different sizes, an output projection: nothing to report.
WalkConfig sound_config() {
    WalkConfig config = configured("heads 2, head-dim 3, seq-len 5, output-projection");
    return config;
}

WalkConfig memory_config(std::int64_t key_len) {
    WalkConfig config = sound_config();
    config.memory = RandomInput{};
    config.key_len = key_len;
    return config;
}

/// A walk whose query and key are given, head by head; the rest does not matter.
WalkConfig given_config(const Array<double>& query, const Array<double>& key) {
    WalkConfig config = configured("projection none, dtype float64");
    config.heads = static_cast<std::int64_t>(query.shape(0));
    config.head_dim = static_cast<std::int64_t>(query.shape(2));
    config.parameters.record("query", Tensor({"head", "query", "feature"}, query));
    config.parameters.record("key", Tensor({"head", "key", "feature"}, key));
    config.parameters.record("value", Tensor({"head", "key", "feature"}, key));
    return config;
}

}  // namespace

TEST_SUITE("explain: lint") {
    TEST_CASE("a sound walk has no findings") {
        const Plan plan = resolve(sound_config());
        CHECK(lint(plan, walk(plan, draw(plan))).empty());
    }

    TEST_CASE("16 bits: scores beyond float16, exponentials of that type, sums that stop growing") {
        const auto scores_of = [](double query, double key, DType type) {
            WalkConfig config = given_config(Array<double>{{{query, 0}, {0, 1}}, {{1, 0}, {0, 1}}},
                                             Array<double>{{{key, 0}, {0, 1}}, {{1, 0}, {0, 1}}});
            config.dtype = type;
            return config;
        };
        CHECK(line_of("float16-scores", scores_of(250, 250, DType::float32)).empty());
        CHECK(mentions(line_of("float16-scores", scores_of(300, 300, DType::float32)),
                       "1 score before the scale, the largest of them 9e+04"));
        CHECK(mentions(line_of("float16-scores", scores_of(300, 300, DType::float16)), "inf"));
        CHECK(line_of("exp-overflow", scores_of(5, 4, DType::float32)).empty());
        CHECK(mentions(line_of("exp-overflow", scores_of(5, 4, DType::float16)), "from 11.09 on"));
        WalkConfig config = sound_config();
        config.query_len = 600;
        config.init = {Init::zeros, Init::zeros, Init::zeros};
        CHECK(line_of("narrow-sums", config).empty());
        config.dtype = DType::bfloat16;
        CHECK(mentions(line_of("narrow-sums", config),
                       "the 600 weights of a row come to 0.5 instead of 0.9979"));
    }

    TEST_CASE("sizes that coincide are named, those of memory and value too") {
        CHECK(line_of("coincident-sizes", memory_config(7)).empty());
        CHECK(mentions(line_of("coincident-sizes", memory_config(5)), "query_len = key_len = 5"));
        CHECK(mentions(line_of("coincident-sizes", memory_config(3)), "head_dim = key_len = 3"));
        CHECK(mentions(line_of("coincident-sizes", memory_config(2)), "heads = key_len = 2"));
        CHECK(mentions(line_of("coincident-sizes", memory_config(6)), "embed_dim = key_len = 6"));
        WalkConfig config = sound_config();
        config.value_dim = 4;
        CHECK(line_of("coincident-sizes", config).empty());
        config.value_dim = 5;
        CHECK(mentions(line_of("coincident-sizes", config), "query_len = value_dim = 5"));
        config = memory_config(4);
        config.value_dim = 4;
        CHECK(mentions(line_of("coincident-sizes", config), "value_dim = key_len = 4"));
    }

    TEST_CASE("one length for queries and keys of the same tokens is no coincidence") {
        CHECK(line_of("coincident-sizes", sound_config()).empty());
    }

    TEST_CASE("repeated tokens are found in x, in memory, and in both") {
        WalkConfig config = sound_config();
        config.query_len.reset();
        config.input = tokens({{1, 2, 3}});
        CHECK(line_of("no-position", config).empty());
        config.memory = tokens({{4, 5, 6, 5}});
        const std::string memory = line_of("no-position", config);
        CHECK(memory.rfind("memory positions 1 and 3 hold the same token", 0) == 0);
        CHECK(mentions(memory, "their rows of memory are equal"));
        config.input = tokens({{1, 2, 1}});
        const std::string both = line_of("no-position", config);
        CHECK(both.rfind("positions 0 and 2 hold the same token", 0) == 0);
        CHECK(mentions(both, "; memory positions 1 and 3"));
    }

    TEST_CASE("padding that repeats, and words in two sequences, are no repetition") {
        WalkConfig config = sound_config();
        config.query_len.reset();
        config.input = tokens({{1, 2, 3}});
        Tokens padded = tokens({{4, 0, 0}});
        padded.pad_id = 0;
        config.memory = padded;
        CHECK(line_of("no-position", config).empty());
        config.memory.reset();
        config.input = tokens({{1, 2, 3}, {3, 2, 1}});
        CHECK(line_of("no-position", config).empty());
    }

    TEST_CASE("gaps are found in the vocabulary of x and in that of memory") {
        WalkConfig config = sound_config();
        config.query_len.reset();
        config.input = tokens({{0, 1, 2}});
        config.memory = tokens({{0, 1, 3, 2}});
        CHECK(line_of("vocabulary-gaps", config).empty());
        config.memory = tokens({{0, 7, 2, 1}});
        CHECK(line_of("vocabulary-gaps", config) ==
              "4 distinct ids of memory reach up to 7: 4 rows of the embedding are never used");
        config.input = tokens({{0, 1, 5}});
        CHECK(mentions(line_of("vocabulary-gaps", config),
                       "3 distinct ids reach up to 5: 3 rows of the embedding are never used; 4 "
                       "distinct ids of memory"));
    }

    TEST_CASE("scores of one pattern are found if most matrices have them") {
        // Rows that are multiples of one another make scores of rank 1, whatever the other side is.
        const Array<double> key{{{1, 2, 0}, {-2, 1, 0}, {3, -1, 0}},
                                {{1, 2, 0}, {-2, 1, 0}, {3, -1, 0}}};
        const Array<double> many{{{1, 0, 0}, {0, 1, 0}, {1, 1, 0}},
                                 {{0, 1, 0}, {1, -1, 0}, {1, 0, 0}}};
        const Array<double> second{{{1, 0, 0}, {0, 1, 0}, {1, 1, 0}},
                                   {{1, 2, 0}, {2, 4, 0}, {-3, -6, 0}}};
        const Array<double> both{{{1, -1, 0}, {2, -2, 0}, {4, -4, 0}},
                                 {{1, 2, 0}, {2, 4, 0}, {-3, -6, 0}}};
        CHECK(line_of("rank-one-scores", given_config(many, key)).empty());
        CHECK(line_of("rank-one-scores", given_config(second, key)).empty());
        CHECK(mentions(line_of("rank-one-scores", given_config(both, key)),
                       "in 2 of 2 matrices 100% or more of the scores' energy"));
    }

    TEST_CASE("a pattern whose columns cancel is still a pattern") {
        // Every row of scores adds up to 0: a search that starts from equal parts would find
        // nothing.
        const Array<double> query{{{1, 0, 0}, {2, 0, 0}, {4, 0, 0}},
                                  {{1, 0, 0}, {2, 0, 0}, {4, 0, 0}}};
        const Array<double> key{{{1, 0, 0}, {1, 0, 0}, {-2, 0, 0}},
                                {{2, 0, 0}, {-1, 0, 0}, {-1, 0, 0}}};
        CHECK(mentions(line_of("rank-one-scores", given_config(query, key)), "in 2 of 2 matrices"));
    }

    TEST_CASE("two features make scores of low rank, which reveals nothing about the queries") {
        const Array<double> query{{{1, 0}, {2, 0}, {4, 0}}, {{1, 0}, {2, 0}, {4, 0}}};
        CHECK(line_of("rank-one-scores", given_config(query, query)).empty());
    }

    TEST_CASE("rows of padding are no pattern") {
        // Two of five tokens are words; the zero rows of the others are left out.
        for (std::uint64_t seed = 1; seed < 8; ++seed) {
            WalkConfig config = sound_config();
            config.query_len.reset();
            Tokens padded = tokens({{1, 2, 0, 0, 0}});
            padded.pad_id = 0;
            config.input = padded;
            config.seed = seed;
            CHECK(line_of("rank-one-scores", config).empty());
            config.mask.padding = true;
            CHECK(line_of("rank-one-scores", config).empty());
        }
    }

    TEST_CASE("positive parameters are named, each of them") {
        const auto line = [](std::array<Init, 3> init) {
            WalkConfig config = sound_config();
            config.init = init;
            return line_of("init-positive", config);
        };
        const Init normal = Init::normal;
        const Init uniform = Init::uniform;
        CHECK(line({normal, normal, normal}).empty());
        CHECK(line({uniform, normal, normal}).rfind("w_query has no negative number: scores", 0) ==
              0);
        CHECK(line({normal, uniform, normal}).rfind("w_key has no negative number: scores", 0) ==
              0);
        CHECK(line({normal, normal, uniform}).rfind("w_value has no negative number: each", 0) ==
              0);
        CHECK(line({uniform, uniform, uniform}).rfind("w_query, w_key, w_value have no", 0) == 0);
    }

    TEST_CASE("zero padding in x or in a memory makes hidden scores zero") {
        WalkConfig config = sound_config();
        config.mask.padding = true;
        Tokens padded = tokens({{4, 5, 0, 0}});
        padded.pad_id = 0;
        config.memory = padded;
        CHECK(mentions(line_of("blind-padding", config), "all 20 hidden scores"));
        config.bias = true;
        CHECK(line_of("blind-padding", config).empty());
    }

    TEST_CASE("one head, one token, or both have little power, and the reason is given") {
        WalkConfig config = sound_config();
        CHECK(line_of("no-power", config).empty());
        config.heads = 1;
        CHECK(line_of("no-power", config) ==
              "with 1 head nothing is split or merged: mistakes there go unnoticed");
        config.query_len = 1;
        const std::string both = line_of("no-power", config);
        CHECK(mentions(both, "with 1 query and 1 key there is little to see"));
        CHECK(mentions(both, "; with 1 head"));
        config.heads = 2;
        CHECK_FALSE(mentions(line_of("no-power", config), "1 head"));
    }

    TEST_CASE("positions: beyond training, two equal ones, a scaling that changes nothing") {
        WalkConfig config = sound_config();
        config.head_dim = 8;
        config.rotary.pairing = Pairing::half;
        CHECK(mentions(line_of("rotary-width", config), "head_dim 8"));
        config.head_dim = 16;
        CHECK(line_of("rotary-width", config).empty());
        CHECK(line_of("beyond-training", config).empty());
        config.positions = {0, 1, 2, 3, 9000};
        CHECK(mentions(line_of("beyond-training", config), "position 9000 with base 10000"));
        config.rotary.theta = 500000;
        CHECK(line_of("beyond-training", config).empty());
        CHECK(line_of("equal-positions", config).empty());
        config.positions = {0, 1, 2, 1, 4};
        CHECK(
            mentions(line_of("equal-positions", config), "tokens 1 and 3 are both at position 1"));
        config.rotary.scaling.emplace();
        config.rotary.scaling->factor = 8;
        CHECK(line_of("unseen-scaling", config).empty());
        config.rotary.scaling->kind = RopeScaling::Kind::llama3;
        config.rotary.scaling->length = 1e9;
        CHECK(mentions(line_of("unseen-scaling", config), "none of the 8 frequencies"));
    }

    TEST_CASE("repeated words are distinguished if positions are given") {
        WalkConfig config = sound_config();
        config.input = tokens({{1, 2, 1, 3, 4}});
        CHECK_FALSE(line_of("no-position", config).empty());
        config.position_embedding = PositionEmbedding::sinusoidal;
        CHECK(line_of("no-position", config).empty());
        config.position_embedding.reset();
        config.head_dim = 4;
        config.rotary.pairing = Pairing::half;
        CHECK(line_of("no-position", config).empty());
    }

    TEST_CASE("a window without causal, and a window that holds everything") {
        WalkConfig config = sound_config();
        config.mask.window = 2;
        CHECK(mentions(line_of("window-not-causal", config), "a window of 2 keys"));
        CHECK(line_of("window-holds-all", config).empty());
        config.mask.causal = true;
        CHECK(line_of("window-not-causal", config).empty());
        config.mask.window = 5;
        CHECK(mentions(line_of("window-holds-all", config), "hides nothing"));
        config.mask.window = 4;
        CHECK(line_of("window-holds-all", config).empty());
    }
    TEST_CASE("T5 scales nothing and has no bias in cross-attention") {
        WalkConfig config = sound_config();
        config.position_bias = PositionBias{PositionBias::Kind::t5, 8, 6, {}};
        CHECK(mentions(line_of("t5-scale", config), "0.577"));
        CHECK(line_of("t5-cross", config).empty());
        config.scale.by = ScaleChoice::By::none;
        CHECK(line_of("t5-scale", config).empty());
        config = memory_config(4);
        config.position_bias = PositionBias{PositionBias::Kind::t5, 8, 6, {}};
        CHECK(mentions(line_of("t5-cross", config), "two sources"));
        config.position_bias->kind = PositionBias::Kind::alibi;
        CHECK(line_of("t5-cross", config).empty());
    }
    TEST_CASE("a cap far above the scores changes nothing") {
        WalkConfig config = sound_config();
        config.softcap = 1000;
        CHECK(mentions(line_of("cap-without-effect", config), "the cap 1000"));
        config.softcap = 0.5;
        CHECK(line_of("cap-without-effect", config).empty());
    }
}

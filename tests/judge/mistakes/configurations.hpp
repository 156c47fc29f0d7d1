#pragma once
#include <random>
#include <sstream>
#include <string>

#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/walk.hpp"

namespace attn::testing {

/// A small walk of latent attention for each odd seed, of differential attention for each even one.
inline WalkConfig seeded_variant(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::initializer_list<std::int64_t> choices) {
        return choices.begin()[random() % choices.size()];
    };
    WalkConfig config;
    config.seed = seed;
    config.dtype = pick({0, 1}) ? DType::float32 : DType::float64;
    config.weight_layout = pick({0, 1}) ? WeightLayout::out_in : WeightLayout::in_out;
    config.init = std::array{Init::normal, Init::normal, Init::normal};
    config.heads = pick({1, 2, 3});
    config.head_dim = pick({2, 4, 6});
    config.value_dim = pick({2, 3, 5});
    config.embed_dim = pick({5, 8});
    config.query_len = pick({3, 4, 6});
    config.batch = pick({1, 2, 3});
    config.mask.causal = pick({0, 1}) != 0;
    config.output_projection = pick({0, 1}) != 0;
    if (seed % 2 == 0) {
        config.differential.depth = pick({0, 1, 5});
        if (config.heads > 1 && pick({0, 1})) config.kv_heads = config.heads;
        return config;
    }
    config.latent = {pick({2, 5}), {}, pick({0, 1}) != 0};
    if (pick({0, 1})) config.latent.query_rank = pick({2, 3});
    config.rotary.dim = pick({2, 4});
    if (pick({0, 1})) {
        config.rotary.scaling.emplace();
        config.rotary.scaling->kind = RopeScaling::Kind::yarn;
        config.rotary.scaling->factor = 40;
        config.rotary.scaling->length = 32;
        config.rotary.scaling->mscale_all_dim = 1;
    }
    return config;
}

/// A small walk configuration, a different one for each seed: every projection, mask, layout and
/// precision occurs, and the sizes are awkward on purpose.
inline WalkConfig seeded_config(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::initializer_list<std::int64_t> choices) {
        return choices.begin()[random() % choices.size()];
    };
    const auto chance = [&random](unsigned percent) { return random() % 100 < percent; };

    WalkConfig config;
    config.seed = seed;
    config.dtype = chance(50) ? DType::float32 : DType::float64;
    config.heads = pick({1, 2, 2, 3, 4});
    config.head_dim = pick({2, 3, 5});
    config.query_len = pick({2, 4, 5, 7});
    if (chance(75)) config.batch = pick({2, 2, 3, 4});
    config.weight_layout = chance(70) ? WeightLayout::out_in : WeightLayout::in_out;
    static constexpr std::array projections{Projection::split, Projection::split, Projection::fused,
                                            Projection::fused_by_head, Projection::stacked};
    config.projection = projections[random() % projections.size()];
    config.init = std::array{Init::normal, Init::normal, Init::normal};
    config.bias = chance(70);
    config.output_projection = chance(60);
    config.output_bias = config.output_projection && chance(70);
    config.mask.causal = chance(50);
    config.mask.padding = chance(50);

    // A second source, a cache of earlier keys, tokens that repeat.
    std::int64_t keys = *config.query_len;
    if (config.projection == Projection::split && chance(30)) {
        config.memory = RandomInput{};
        keys = chance(40) ? keys : keys + 3;
        config.key_len = keys;
        if (chance(50)) config.causal_align = CausalAlign::end;
    } else if (chance(40)) {
        Tokens tokens;
        for (std::int64_t b = 0; b < config.batch.value_or(1); ++b) {
            std::vector<std::int64_t>& ids = tokens.sequences.emplace_back();
            for (std::int64_t t = 0; t < keys; ++t) ids.push_back(pick({1, 2, 4, 6, 7, 9}));
        }
        tokens.vocab_size = 40;
        tokens.batch_axis = config.batch.has_value();
        config.input = tokens;
    }
    for (std::int64_t b = 0; b < config.batch.value_or(1); ++b) {
        config.lengths.push_back(std::max<std::int64_t>(keys - (b + 1) % 3, 1));
    }
    if (chance(10)) config.lengths.back() = 0;

    // Changes that current models make to the scores, and keys they hide.
    if (chance(15)) config.mask.window = pick({1, 2, 3});
    if (chance(10)) config.mask.chunk = pick({2, 3});
    if (chance(10)) config.mask.prefix = 2;
    if (!config.memory && chance(10)) config.mask.documents = {1, keys - 1};
    if (chance(20)) config.softcap = 0.5;
    if (chance(30)) {
        const auto kind = chance(50) ? PositionBias::Kind::alibi : PositionBias::Kind::t5;
        config.position_bias = PositionBias{kind, 8, 6, {}};
    }

    // Rotary positions, norms of query and key, a scale of the model's own.
    if (chance(50)) {
        Rotary& rotary = config.rotary;
        config.head_dim = pick({4, 6});
        rotary.pairing = chance(50) ? Pairing::half : Pairing::interleaved;
        if (chance(40)) rotary.dim = 4;
        if (chance(30)) rotary.theta = 500000;
        if (chance(60)) {
            for (std::int64_t t = 0; t < *config.query_len; ++t) config.positions.push_back(3 + t);
        }
        if (chance(50)) {
            using Kind = RopeScaling::Kind;
            static constexpr std::array kinds{Kind::linear, Kind::dynamic, Kind::llama3, Kind::yarn,
                                              Kind::yarn};
            rotary.scaling.emplace();
            rotary.scaling->kind = kinds[random() % kinds.size()];
            rotary.scaling->factor = 4;
            rotary.scaling->length = 5;
            rotary.scaling->beta_fast = 2;
        }
    }
    if (chance(40)) {
        config.qk_norm.over = chance(20)   ? NormOver::l2
                              : chance(50) ? NormOver::head
                                           : NormOver::all;
        if (chance(60) && config.qk_norm.over == NormOver::head) {
            Array<double> gain = empty_array<double>({static_cast<std::size_t>(*config.head_dim)});
            for (std::size_t i = 0; i < gain.size(); ++i) gain(i) = 1 + 0.3 * double(i + 1);
            config.parameters.record("g_query", Tensor({"feature"}, gain));
            config.parameters.record("g_key", Tensor({"feature"}, gain));
        }
    }
    if (chance(15)) config.scale = {ScaleChoice::By::number, 0.3};
    if (chance(15)) config.scale.by = ScaleChoice::By::none;

    // Heads that share keys, widths of their own, sinks and a cache.
    const bool shares = config.projection == Projection::split ||
                        config.projection == Projection::fused ||
                        config.projection == Projection::stacked;
    if (shares && config.heads > 1 && chance(30)) {
        config.heads = 6;
        config.kv_heads = pick({1, 2, 3});
    }
    if (config.heads > 1 && chance(20)) config.embed_dim = config.heads * (*config.head_dim + 1);
    if (chance(25)) config.sink = chance(70) ? SinkLogit::normal : SinkLogit::zero;
    const bool continues = !config.memory && !config.mask.padding && config.positions.empty() &&
                           config.mask.documents.empty();
    if (continues && chance(50)) {
        config.lengths.clear();
        config.past = pick({1, 3});
    }

    // Positions added to the tokens, padding before them, chunks, a table of T5 with
    // cross-attention, numbers of a model's own.
    if (chance(30)) {
        config.position_embedding =
            chance(50) ? PositionEmbedding::learned : PositionEmbedding::sinusoidal;
        config.position_rows = 20;
        auto* const tokens = std::get_if<Tokens>(&config.input);
        const bool plain = !config.past && !config.memory && config.mask.documents.empty();
        if (tokens != nullptr && plain && keys > 3 && chance(80)) {
            tokens->pad_id = 0;
            for (auto& ids : tokens->sequences) ids[0] = ids[1] = 0;
            config.mask.padding = true;
            config.lengths.clear();
            config.positions.clear();
            for (std::int64_t t = 0; t < keys; ++t) {
                config.positions.push_back(std::max<std::int64_t>(t - 2, 0));
            }
        } else if (plain && config.positions.empty()) {
            for (std::int64_t t = 0; t < *config.query_len; ++t) config.positions.push_back(2 + t);
        }
    }
    const bool dynamic =
        config.rotary.scaling && config.rotary.scaling->kind == RopeScaling::Kind::dynamic;
    const bool chunks = config.mask.is_causal() && !config.memory && !config.past && !dynamic;
    if (chunks && chance(50)) config.prefill = 2;
    if (config.memory && !config.position_bias) {
        const auto heads = static_cast<std::size_t>(config.heads);
        Array<double> table = empty_array<double>({8, heads});
        for (std::size_t i = 0; i < table.size(); ++i) table.data()[i] = double(i * i % 7) / 4;
        config.parameters.record("relative_attention_bias", {{"bucket", "head"}, table});
    }
    if (config.rotary.pairing && config.kv_heads && !config.parameters.has("g_query")) {
        config.rotary.pairing = Pairing::half;
        config.rotary.dim.reset();
        config.head_dim = 4;
        config.kv_heads = 3;
    }
    if (config.rotary.pairing && config.past) {
        config.past = 3;
        if (!config.kv_heads && chance(60)) config.rotary.pairing = Pairing::interleaved;
    }
    if (chance(20)) config.qk_norm.eps = 0.05;
    if (chance(15)) config.scale = {ScaleChoice::By::number, 1.0 / double(*config.head_dim)};
    return config;
}

/// Walks with shared key heads, sinks and a cache, each of awkward sizes.
inline std::vector<WalkConfig> shared_configs() {
    WalkConfig grouped = configured(
        "heads 6, kv-heads 3, head-dim 3, value-dim 2, embed-dim 7, seq-len 4, batch 2, bias, "
        "output-projection, sink randn, past 2, mask causal");
    WalkConfig fused = grouped;
    fused.projection = Projection::fused;
    fused.sink = SinkLogit::zero;
    fused.past.reset();
    WalkConfig alone = configured("seq-len 5, past 3, sink randn");
    WalkConfig latent = configured(
        "heads 3, head-dim 4, value-dim 3, embed-dim 7, seq-len 4, batch 2, output-projection, "
        "positions 3,4,5,6, rotary-dim 4, mask causal");
    latent.rotary.scaling.emplace();
    latent.rotary.scaling->kind = RopeScaling::Kind::yarn;
    latent.rotary.scaling->factor = 40;
    latent.rotary.scaling->length = 32;
    latent.rotary.scaling->mscale_all_dim = 1;
    latent.latent = {5, 2, false};
    WalkConfig absorbed = latent;
    absorbed.weight_layout = WeightLayout::in_out;
    absorbed.latent = {2, {}, true};
    absorbed.value_dim = 4;
    WalkConfig differential = configured(
        "heads 3, head-dim 4, embed-dim 5, seq-len 4, batch 2, output-projection, differential 1");
    WalkConfig shared_differential = differential;
    shared_differential.heads = 4;
    shared_differential.kv_heads = 2;
    shared_differential.projection = Projection::fused;
    shared_differential.rotary.pairing = Pairing::half;
    WalkConfig sigmoid = configured("seq-len 5");
    sigmoid.sigmoid = sigmoid.mask.causal = true;
    return {grouped, fused, alone, latent, absorbed, differential, shared_differential, sigmoid};
}

/// Walks with added positions, chunks, a cache whose keys are rotated, and T5's tables.
inline std::vector<WalkConfig> position_configs() {
    WalkConfig words;
    words.input = Tokens{{{0, 0, 5, 2, 7}, {0, 0, 8, 1, 1}}, {}, 9, 0, true};
    words.heads = 2;
    words.embed_dim = 8;
    words.mask.padding = true;
    words.position_embedding = PositionEmbedding::learned;
    words.position_rows = 9;
    words.positions = {0, 0, 0, 1, 2};
    WalkConfig waves = words;
    waves.position_embedding = PositionEmbedding::sinusoidal;
    WalkConfig offset = words;
    offset.positions = {2, 3, 4, 5, 6};
    WalkConfig chunks = configured(
        "heads 6, kv-heads 3, head-dim 4, seq-len 7, prefill 3, rope half, scale 0.25, mask "
        "causal,window:4");
    WalkConfig turned =
        configured("heads 2, head-dim 4, seq-len 3, past 2, rope interleaved, mask causal");
    turned.position_bias = PositionBias{PositionBias::Kind::t5, 8, 6, {}};
    WalkConfig across = configured("heads 2, head-dim 3, seq-len 3");
    across.memory = RandomInput{};
    across.key_len = 5;
    across.parameters.record(
        "relative_attention_bias",
        Tensor({"bucket", "head"}, Array<double>{{1, 2}, {3, 1}, {-1, 0}, {2, -2}}));
    return {words, waves, offset, chunks, turned, across};
}

/// True if a mistake is in a part of current models that textbooks lack.
inline bool is_of_today(const std::string& id) {
    std::istringstream families(
        "gqa- rope- yarn- qk-norm- norm- window- chunk- prefix- documents- softcap- alibi- t5- "
        "position sinusoid- sink- softmax1- cache- streaming- causal-off causal-top "
        "head-dim-derived scale-pre- scale-multiplier scale-twice scale-t5 scale-default-zero "
        "bias-missing bias-qkv-");
    for (std::string family; families >> family;) {
        if (id.starts_with(family)) return true;
    }
    return false;
}

/// A tensor as other code's ledger might have it: the same numbers in another type.
inline Ledger as_type(const Ledger& ledger, DType dtype) {
    Ledger result;
    for (const auto& [name, tensor] : ledger.entries()) result.record(name, cast(tensor, dtype));
    return result;
}

/// True if two ledgers have the same shapes and numbers, within `tolerance`.
inline bool same_numbers(const Tensor& a, const Tensor& b, double tolerance) {
    if (a.shape() != b.shape()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = a.at(i);
        const double y = b.at(i);
        if (std::isnan(x) && std::isnan(y)) continue;
        if (x == y) continue;
        if (!(std::abs(x - y) <= tolerance)) return false;
    }
    return true;
}

}  // namespace attn::testing

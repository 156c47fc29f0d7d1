#pragma once
#include <random>

#include "attn/core/walk/walk.hpp"

/// Small random configurations of every kind, for properties that hold for all of them.
inline attn::WalkConfig random_config(std::mt19937& random) {
    using namespace attn;
    const auto pick = [&random](int low, int high) {
        return static_cast<std::int64_t>(low + static_cast<int>(random() % (high - low + 1)));
    };
    WalkConfig config;
    config.seed = random();
    config.heads = pick(1, 3);
    config.head_dim = pick(1, 7);
    config.value_dim = pick(1, 7);
    config.embed_dim = pick(1, 7);
    config.query_len = pick(1, 7);
    if (pick(0, 1) == 1) config.batch = pick(1, 3);
    constexpr std::array projections{
        Projection::split,    Projection::fused, Projection::fused_by_head, Projection::stacked,
        Projection::per_head, Projection::mha,   Projection::none};
    config.projection = projections[random() % projections.size()];
    if (config.projection == Projection::mha) {
        config.embed_dim = config.heads * *config.head_dim;
        config.value_dim = config.head_dim;
    }
    const bool takes_memory = config.projection != Projection::none;
    if (takes_memory && pick(0, 2) == 0) {
        config.memory = RandomInput{};
        config.key_len = pick(1, 7);
    }
    config.bias = config.projection != Projection::none && pick(0, 1) == 1;
    config.mask.causal = pick(0, 1) == 1;
    config.mask.padding = pick(0, 2) == 0;
    if (config.mask.padding) {
        const std::int64_t keys = config.key_len.value_or(*config.query_len);
        for (std::int64_t b = 0; b < config.batch.value_or(1); ++b) {
            config.lengths.push_back(pick(1, static_cast<int>(keys)));
        }
    }
    constexpr std::array scales{ScaleChoice::By::head_dim, ScaleChoice::By::embed_dim,
                                ScaleChoice::By::none};
    config.scale.by = scales[random() % scales.size()];
    const bool groups = config.projection == Projection::split ||
                        config.projection == Projection::fused ||
                        config.projection == Projection::stacked;
    if (groups && pick(0, 2) == 0) config.kv_heads = 1;
    if (*config.head_dim >= 2 && pick(0, 2) == 0) {
        config.rotary.pairing = pick(0, 1) == 0 ? Pairing::half : Pairing::interleaved;
        config.rotary.dim = 2 * pick(1, static_cast<int>(*config.head_dim / 2));
        for (std::int64_t t = 0; t < *config.query_len; ++t) config.positions.push_back(pick(0, 9));
    }
    if (pick(0, 3) == 0) config.softcap = 0.5 * static_cast<double>(pick(1, 4));
    if (pick(0, 2) == 0) {
        constexpr std::array kinds{PositionBias::Kind::alibi, PositionBias::Kind::t5};
        config.position_bias = PositionBias{kinds[random() % 2], 8, 6, {}};
    }
    if (pick(0, 4) == 0) config.mask.window = pick(1, 4);
    if (pick(0, 4) == 0) config.mask.chunk = pick(1, 4);
    if (pick(0, 4) == 0) config.mask.prefix = pick(0, 4);
    if (!config.memory && *config.query_len > 1 && pick(0, 4) == 0) {
        config.mask.documents = {1, *config.query_len - 1};
    }
    if (config.projection != Projection::none && pick(0, 3) == 0) {
        config.position_embedding =
            pick(0, 1) == 0 ? PositionEmbedding::learned : PositionEmbedding::sinusoidal;
    }
    if (pick(0, 2) == 0) {
        constexpr std::array norms{NormOver::head, NormOver::all, NormOver::l2};
        config.qk_norm.over = norms[random() % norms.size()];
        if (pick(0, 1) == 0) config.qk_norm.place = QkNorm::Place::after;
    }
    if (config.projection != Projection::none && pick(0, 3) == 0) {
        config.x_norm = pick(0, 1) == 1 ? NormKind::rms : NormKind::layer;
    }
    if (pick(0, 3) == 0) config.sink = pick(0, 1) == 0 ? SinkLogit::zero : SinkLogit::normal;
    const bool has_documents = !config.mask.documents.empty();
    if (!config.memory && !has_documents && pick(0, 3) == 0) config.past = pick(1, 4);
    const bool bare = config.projection == Projection::split && !config.bias && !config.kv_heads;
    if (bare && !config.qk_norm.over && !config.past && pick(0, 1) == 0) {
        config.latent.rank = pick(1, 5);
        if (pick(0, 1) == 0) config.latent.query_rank = pick(1, 4);
        config.rotary.dim = 2 * pick(1, 2);
    }
    return config;
}

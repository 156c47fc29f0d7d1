#include <array>

#include "attn/notebooks/builder.hpp"

// The walks of notebook 002. Each cell draws on where the one above it stopped.

namespace attn {
namespace {

/// What the attention cells have in common: 4 samples of 8 tokens, 16 features for each head, keys
/// drawn before queries, each token seeing itself and the past.
WalkConfig cell(std::int64_t heads, std::int64_t embed_dim) {
    WalkConfig config;
    config.batch = 4;
    config.query_len = 8;
    config.heads = heads;
    config.head_dim = 16;
    config.embed_dim = embed_dim;
    config.draw_order = "kqv";
    config.mask.causal = true;
    config.seed = 1337;
    config.variant = Variant::loop;
    return config;
}

/// Averages of the past: scores that know nothing, and x itself as value.
WalkConfig averages(std::int64_t embed_dim) {
    WalkConfig config = cell(1, embed_dim);
    config.projection = Projection::matrix;
    config.head_dim = embed_dim;
    config.init = std::array{Init::zeros, Init::zeros, Init::identity};
    config.draw_order = "qkv";
    return config;
}

/// The page divides by the root of the whole width instead of that of a head.
ScaleChoice scale_of(const ReplayOptions& replay) {
    if (replay.corrected) return {};
    return {ScaleChoice::By::embed_dim};
}

/// One head after `cells` others with draws of the same sizes.
NotebookWalk one_head(const ReplayOptions& replay, std::string name, std::size_t cells,
                      std::vector<std::string> mistakes = {}) {
    WalkConfig config = cell(1, 32);
    config.scale = scale_of(replay);
    for (std::size_t i = 0; i < cells; ++i) {
        config.burn_before.push_back({Distribution::normal, 4 * 8 * 32});
        config.burn_before.push_back({Distribution::uniform, 3 * 16 * 32});
    }
    return walk_of(replay, std::move(name), config, std::move(mistakes));
}

/// The weights of cell 41 in an older state: scaled rightly, softmax over the wrong axis.
NotebookWalk older(const ReplayOptions& replay) {
    WalkConfig config = cell(1, 32);
    if (!replay.corrected) config.softmax_axis = SoftmaxAxis::query;
    return walk_of(replay, "older", config);
}

NotebookWalk two_heads(const ReplayOptions& replay) {
    WalkConfig config = cell(2, 32);
    config.scale = scale_of(replay);
    config.output_projection = true;
    config.burn_before = one_head(replay, "", 2).config.burn_before;
    return walk_of(replay, "two-heads", config);
}

/// One fused projection; three mistakes in a cell that died.
NotebookWalk five_heads(const ReplayOptions& replay) {
    WalkConfig config = cell(5, 80);
    config.scale = scale_of(replay);
    config.draw_order = "qkv";
    config.projection = Projection::fused_by_head;
    config.output_projection = true;
    config.burn_before = two_heads(replay).config.burn_before;
    config.burn_before.push_back({Distribution::normal, 4 * 8 * 32});
    config.burn_before.push_back({Distribution::uniform, 4 * 32 * 32});
    return walk_of(replay, "five-heads", config, {"k-dot-k", "einsum-diagonal"});
}

}  // namespace

std::vector<NotebookWalk> causal_heads_walks(const ReplayOptions& replay) {
    return {one_head(replay, "one-head", 0),
            walk_of(replay, "averages", averages(2)),
            walk_of(replay, "wide-averages", averages(32)),
            one_head(replay, "by-einsum", 1, {"einsum-diagonal"}),
            two_heads(replay),
            five_heads(replay),
            older(replay)};
}

}  // namespace attn

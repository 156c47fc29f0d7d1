#include <algorithm>
#include <cmath>
#include <string>

#include "attn/core/plan/resolve.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

void require_for_latent(bool fine, const std::string& message) {
    if (!fine) throw ConfigError("$mla "_message + message);
}

}  // namespace

void resolve_latent(Plan& plan) {
    WalkConfig& config = plan.config;
    const Latent& latent = config.latent;
    if (!plan.has_latent()) {
        if (!latent.query_rank && !latent.absorbed) return;
        throw ConfigError(
            "$mla-query-rank and $mla-absorbed are parts of $mla: add $mla 8"_message);
    }
    require_for_latent(*latent.rank >= 1 && latent.query_rank.value_or(1) >= 1,
                       "needs latents of 1 feature or more");
    require_for_latent(config.projection == Projection::split,
                       "computes keys and values from a latent: leave $projection out"_message);
    require_for_latent(!config.bias, "has projections without a bias: leave $bias out"_message);
    require_for_latent(config.kv_heads == config.heads,
                       "computes a key and a value for every head: leave $kv-heads out"_message);
    require_for_latent(!plan.differs(),
                       "and $differential cannot be combined: leave one out"_message);
    require_for_latent(!plan.norms(),
                       "normalises the latents, not query and key: leave $qk-norm out"_message);
    require_for_latent(
        !config.past,
        "keeps latents in its cache, but $past gives keys and values: leave it out, or "
        "use $prefill with $mask causal"_message);
    require_for_latent(!plan.fused() || !plan.absorbs(),
                       "has no absorbed form under $variant fused: use $variant vectorized, or "
                       "leave $mla-absorbed out"_message);
    Rotary& rotary = config.rotary;
    rotary.pairing = rotary.pairing.value_or(Pairing::interleaved);
    const auto half = static_cast<std::int64_t>(plan.head_dim / 4 * 2);
    rotary.dim = rotary.dim.value_or(half > 0 ? half : 2);
    require_for_latent(
        *rotary.dim >= 2 && *rotary.dim % 2 == 0,
        "needs a $rotary-dim of 2, 4 or more: features rotate in pairs, not "_message +
            std::to_string(*rotary.dim));
    plan.head_dim += static_cast<std::size_t>(*rotary.dim);
}

double Plan::score_factor() const {
    const std::optional<RopeScaling>& scaling = config.rotary.scaling;
    return has_latent() && scaling ? scaling->score_factor() : 1;
}

void check_differential(const Plan& plan) {
    if (!plan.differs()) return;
    const WalkConfig& config = plan.config;
    const auto require = [](bool fine, const std::string& message) {
        if (!fine) throw ConfigError("$differential "_message + message);
    };
    require(*config.differential.depth >= 0, "counts layers from 0: pass 0 or more");
    const bool splits = config.projection == Projection::split ||
                        config.projection == Projection::fused ||
                        (config.projection == Projection::none && !plan.has_x());
    require(splits,
            "has twice as many heads of query and key as of value: use $projection split or "
            "fused"_message);
    require(!plan.fused(),
            "subtracts one softmax from another, which cannot be done block by block: "
            "leave $variant fused out"_message);
    require(config.softmax_axis == SoftmaxAxis::key,
            "needs softmax over the keys: leave $softmax-axis out"_message);
}

double Plan::lambda_init() const {
    return 0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(*config.differential.depth));
}

std::vector<PrefillChunk> prefill_chunks(const Plan& plan) {
    const auto size = static_cast<std::size_t>(
        plan.config.prefill.value_or(static_cast<std::int64_t>(plan.query_len)));
    std::vector<PrefillChunk> chunks;
    for (std::size_t first = 0; first < plan.query_len; first += size) {
        chunks.push_back({first, std::min(size, plan.query_len - first)});
    }
    return chunks;
}

void refuse_prefill(const Plan& plan) {
    const WalkConfig& config = plan.config;
    const std::string scaling(config.rotary.scaling ? word(config.rotary.scaling->kind)
                                                    : std::string_view());
    refuse_unless(!config.prefill || *config.prefill > 0, "$prefill must be at least 1"_message);
    refuse_unless(config.mask.is_causal(),
                  "$prefill passes the tokens in chunks, and no query may see the keys of a later "
                  "chunk: add $mask causal"_message);
    refuse_unless(
        !plan.has_memory && plan.past_len == 0,
        "$prefill fills the cache from x alone: leave out $past and the flags of a memory"_message);
    refuse_unless(!plan.drops(),
                  "$prefill is for generation, when dropout is off: leave $dropout out"_message);
    refuse_unless(!config.mask.given, "$prefill cannot cut a mask file: leave it out"_message);
    refuse_unless(!config.rotary.scaling || !config.rotary.scaling->follows_length() ||
                      !config.rotary.scaling->exceeds(plan.rotary_tokens()),
                  "$prefill with $rope-scaling "_message + scaling +
                      " would rotate the keys of each chunk with another base or list, which "
                      "depends on the longest position so far: pass another scaling");
    refuse_unless(config.softmax_axis == SoftmaxAxis::key,
                  "$prefill needs softmax over the keys: leave $softmax-axis out"_message);
}

}  // namespace attn

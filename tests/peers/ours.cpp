// attn-explain itself: `peer_ours fused`, or `peer_ours vectorized`, which keeps scores and
// weights.
#include <string_view>

#include "attn/fused/fused_attention.hpp"
#include "attn/steps/context.hpp"
#include "attn/steps/mask.hpp"
#include "attn/steps/scaling.hpp"
#include "attn/steps/scores.hpp"
#include "attn/steps/softmax.hpp"
#include "tests/peers/peer.hpp"

namespace {

void fused(const peer::Problem& p, float* context) {
    attn::FusedOptions options;
    options.scale = 1 / std::sqrt(static_cast<double>(p.dim));
    options.mask.causal = p.causal;
    options.threads = static_cast<std::size_t>(p.threads);
    attn::fused_attention(p.query.data(), p.key.data(), p.value.data(), context,
                          {1, p.groups, p.length, p.length, p.dim, p.dim}, options);
}

attn::Array<float> array_of(const peer::Problem& p, const std::vector<float>& values) {
    attn::Array<float> array = attn::empty_array<float>({p.groups, p.length, p.dim});
    std::copy(values.begin(), values.end(), array.data());
    return array;
}

/// The twins one after another, every tensor kept to the end.
void vectorized(const peer::Problem& p, float* context) {
    attn::Arithmetic arithmetic;
    arithmetic.threads = p.threads;
    const attn::Array<float> scores =
        attn::vectorized::scores(array_of(p, p.query), array_of(p, p.key), arithmetic);
    attn::Array<float> scaled = attn::vectorized::scale(
        scores, {attn::ScaleFactor::Operation::divide, std::sqrt(static_cast<double>(p.dim))});
    if (p.causal) {
        scaled = attn::vectorized::apply_mask(
            scaled, attn::causal_mask(p.length, p.length, attn::CausalAlign::start));
    }
    const attn::Array<float> weights = attn::vectorized::softmax(scaled, 2);
    const attn::Array<float> result =
        attn::vectorized::context(weights, array_of(p, p.value), arithmetic);
    std::copy(result.data(), result.data() + result.size(), context);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view variant = argc > 1 ? argv[1] : "fused";
    return peer::serve(variant == "vectorized" ? vectorized : fused);
}

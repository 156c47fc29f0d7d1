// attn-explain itself: `peer_ours fused`, or `peer_ours vectorized`, which keeps scores and
// weights.
#include <string_view>

#include "attn/bench/machine.hpp"
#include "attn/fused/fused_attention.hpp"
#include "attn/steps/stepped_attention.hpp"
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

/// The walk's own way over windows of rows, with the scores and the weights kept whole, in memory
/// that is used again.
void vectorized(const peer::Problem& p, float* context) {
    static attn::Array<float> scores, weights;
    const attn::Shape square{p.groups, p.length, p.length};
    if (attn::shape_of(scores) != square) {
        scores = attn::empty_array<float>(square);
        weights = attn::empty_array<float>(square);
    }
    attn::SteppedOptions options;
    options.scale = {attn::ScaleFactor::Operation::divide, std::sqrt(static_cast<double>(p.dim))};
    options.mask.causal = p.causal;
    options.threads = static_cast<std::size_t>(p.threads);
    attn::KeptSteps<float> kept;
    kept.scores = scores.data();
    kept.weights = weights.data();
    kept.context = context;
    attn::stepped_attention(p.query.data(), p.key.data(), p.value.data(),
                            {1, p.groups, p.length, p.length, p.dim, p.dim}, options, kept);
}

/// The measured peak of multiply-adds on one thread, GFLOP/s.
double peak() {
    double largest = 0;
    for (const attn::InstructionSet instruction_set : attn::available_instruction_sets()) {
        largest = std::max(largest, attn::measure_peak(instruction_set, 1));
    }
    return largest;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "fused";
    if (what == "peak") {
        std::cout << peak() << std::endl;
        return 0;
    }
    return peer::serve(what == "vectorized" ? vectorized : fused);
}

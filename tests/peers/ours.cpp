// attn-explain itself: `peer_ours fused`, or `peer_ours vectorized`, which keeps scores and
// weights.
#include <string_view>

#include "attn/core/fused/fused_attention.hpp"
#include "attn/learn/bench/attend.hpp"
#include "attn/learn/bench/bench.hpp"
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

/// Every step's tensor, one after the other, as a walk makes them.
void vectorized(const peer::Problem& p, float* context) {
    static attn::BenchInput input;
    static attn::Array<float> result;
    attn::BenchSeries series;
    series.threads = static_cast<std::size_t>(p.threads);
    const attn::BenchShape shape{p.groups, p.length, p.dim};
    if (input.query.size() == 0 || !(input.shape() == shape) || input.causal != p.causal) {
        input = attn::draw_bench_input(shape, p.causal);
    }
    std::copy(p.query.begin(), p.query.end(), input.query.data());
    std::copy(p.key.begin(), p.key.end(), input.key.data());
    std::copy(p.value.begin(), p.value.end(), input.value.data());
    attn::attend(series, input, result);
    std::copy(result.begin(), result.end(), context);
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

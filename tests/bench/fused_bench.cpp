// How much of the machine the fused kernel reaches: useful operations in a second (a causal half
// counts half) as a fraction of the peak of fused multiply-adds, measured in the same minute.
//
//     fused_bench [ARCHITECTURE] [ROUNDS]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "attn/fused/fused_attention.hpp"
#include "attn/tensor/error.hpp"

namespace {

using attn::FusedArchitecture;

double seconds() {
    using Clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// Twelve sums, so that the next one never waits for the last, and nothing but registers.
constexpr int sums = 12;
constexpr int steps = 200'000;

#if defined(__x86_64__)
// The empty assembly keeps the compiler from computing the constant sums ahead.
#define FMA_LOOP(name, isa, vector, lanes, set, fma)                     \
    __attribute__((target(isa))) double name() {                         \
        vector sum[sums];                                                \
        for (int i = 0; i < sums; ++i) sum[i] = set(0.0F);               \
        vector factor = set(0.5F);                                       \
        for (int step = 0; step < steps; ++step) {                       \
            asm volatile("" : "+v"(factor));                             \
            _Pragma("GCC unroll 12") for (int i = 0; i < sums; ++i) {    \
                sum[i] = fma(sum[i], factor, factor);                    \
            }                                                            \
        }                                                                \
        for (int i = 0; i < sums; ++i) asm volatile("" : : "v"(sum[i])); \
        return 2.0 * lanes * sums * steps;                               \
    }
#define SSE_FMA(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
FMA_LOOP(peak_sse2, "sse2", __m128, 4, _mm_set1_ps, SSE_FMA)
FMA_LOOP(peak_avx2, "avx2,fma", __m256, 8, _mm256_set1_ps, _mm256_fmadd_ps)
FMA_LOOP(peak_avx512, "avx512f", __m512, 16, _mm512_set1_ps, _mm512_fmadd_ps)
#endif

/// GFLOP/s of a loop of multiply-adds on registers alone.
double peak_once(FusedArchitecture architecture) {
    const double start = seconds();
    double operations = 0;
#if defined(__x86_64__)
    if (architecture == FusedArchitecture::avx512) operations = peak_avx512();
    if (architecture == FusedArchitecture::avx2) operations = peak_avx2();
    if (architecture == FusedArchitecture::sse2) operations = peak_sse2();
#endif
    return operations / (seconds() - start) * 1e-9;
}

struct Case {
    std::size_t groups, length, head_dim;
};

std::vector<float> normal(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> distribution;
    std::vector<float> values(count);
    for (float& value : values) value = distribution(generator);
    return values;
}

void measure(const Case& c, FusedArchitecture architecture, int rounds) {
    const std::size_t count = c.groups * c.length * c.head_dim;
    const std::vector<float> query = normal(count, 1), key = normal(count, 2),
                             value = normal(count, 3);
    std::vector<float> context(count);
    const attn::FusedShape shape{1, c.groups, c.length, c.length, c.head_dim, c.head_dim};
    for (const bool causal : {false, true}) {
        double best[2] = {1e9, 1e9};
        double peak = 0;
        for (int round = 0; round < rounds; ++round) {
            for (const std::size_t threads : {1, 2}) {
                peak = std::max(peak, peak_once(architecture));
                attn::FusedOptions options;
                options.scale = 0.125;
                options.mask.causal = causal;
                options.threads = threads;
                options.architecture = architecture;
                const double start = seconds();
                attn::fused_attention(query.data(), key.data(), value.data(), context.data(), shape,
                                      options);
                best[threads - 1] = std::min(best[threads - 1], seconds() - start);
            }
        }
        const double length = static_cast<double>(c.length);
        const double cells = causal ? length * (length + 1) / 2 : length * length;
        const double operations = 4.0 * static_cast<double>(c.groups * c.head_dim) * cells;
        const double rate = operations / best[0] * 1e-9;
        fmt::print(
            "{:8} ({},{},{}){:7}  {:9.3f} ms  {:6.1f} GFLOP/s  {:.3f} of peak {:.0f}  2 threads "
            "x{:.2f}\n",
            architecture_name(architecture), c.groups, c.length, c.head_dim,
            causal ? " causal" : "", best[0] * 1e3, rate, rate / peak, peak, best[0] / best[1]);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view wanted = argc > 1 ? argv[1] : "";
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
    for (const FusedArchitecture architecture : attn::available_architectures()) {
        if (!wanted.empty() && wanted != architecture_name(architecture)) continue;
        for (const Case& c :
             {Case{12, 1024, 64}, Case{8, 4096, 64}, Case{1, 16384, 64}, Case{32, 128, 64}}) {
            measure(c, architecture, rounds);
        }
    }
}

#include "attn/bench/peak.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include "attn/bench/peak_loops.hpp"

namespace attn {
namespace {

bench::PeakLoop* loop_for(FusedArchitecture architecture) {
    const std::vector<FusedArchitecture> available = available_architectures();
    if (architecture == FusedArchitecture::automatic && !available.empty()) {
        architecture = available.back();
    }
    if (std::find(available.begin(), available.end(), architecture) == available.end()) {
        return nullptr;
    }
#if defined(__x86_64__)
    if (architecture == FusedArchitecture::avx512) return bench::peak_loop_avx512;
    if (architecture == FusedArchitecture::avx2) return bench::peak_loop_avx2;
    return bench::peak_loop_sse2;
#elif defined(__aarch64__)
    return bench::peak_loop_neon64;
#else
    return nullptr;
#endif
}

/// Operations a second of one thread, the best of a few runs: the first may find the processor not
/// yet at its speed.
double rate_of(bench::PeakLoop* loop) {
    using Clock = std::chrono::steady_clock;
    constexpr std::size_t steps = 500'000;  // some 1 to 3 ms
    constexpr int runs = 5;
    std::array<float, bench::loop_floats> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    double best = 0;
    for (int run = 0; run < runs; ++run) {
        const Clock::time_point start = Clock::now();
        const double operations = loop(numbers.data(), numbers.data(), 0.5F, steps);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        best = std::max(best, operations / seconds);
    }
    return best;
}

}  // namespace

double measure_peak(FusedArchitecture architecture, std::size_t threads) {
    bench::PeakLoop* const loop = loop_for(architecture);
    if (loop == nullptr) return 0;

    // Measure on all threads at once: a processor may slow down when all its cores are busy.
    std::vector<double> rates(std::max<std::size_t>(threads, 1));
    std::latch all_started(static_cast<std::ptrdiff_t>(rates.size()));
    std::vector<std::jthread> helpers;
    try {
        for (std::size_t i = 1; i < rates.size(); ++i) {
            helpers.emplace_back([&, i] {
                all_started.arrive_and_wait();
                rates[i] = rate_of(loop);
            });
        }
    } catch (const std::system_error&) {
        // The system has no more threads to give, and nobody may wait for those that never start.
        all_started.count_down(static_cast<std::ptrdiff_t>(rates.size() - 1 - helpers.size()));
    }
    all_started.arrive_and_wait();
    rates[0] = rate_of(loop);
    helpers.clear();

    double sum = 0;
    for (const double rate : rates) sum += rate;
    return sum * 1e-9;
}

}  // namespace attn

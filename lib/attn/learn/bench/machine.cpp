#include "attn/learn/bench/bench.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/simd/matmul.hpp"
#include "attn/ground/simd/parallel.hpp"

namespace attn {
namespace {

/// Returns the processor's name as Linux reports it.
std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown processor";
}

double physical_memory() {
    const auto pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
    const auto page = static_cast<double>(sysconf(_SC_PAGE_SIZE));
    return pages > 0 && page > 0 ? pages * page : 0;
}

/// Returns the operations per second of one thread, the best of a few runs of at least a
/// millisecond, because the processor may not be at full speed at first.
double rate_of(const simd::Kernels& kernels) {
    using Clock = std::chrono::steady_clock;
    constexpr double long_enough = 1e-3;
    constexpr int runs = 5;
    std::array<float, simd::peak_floats> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    double best = 0;
    std::size_t steps = 1000;
    for (int run = 0; run < runs;) {
        const Clock::time_point start = Clock::now();
        const double operations = kernels.peak(numbers.data(), 0.5F, steps);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        if (seconds < long_enough) {
            steps *= 2;
            continue;
        }
        best = std::max(best, operations / seconds);
        ++run;
    }
    return best;
}

}  // namespace

Machine this_machine() {
    Machine machine;
    machine.processor = processor_name();
    machine.cores = std::max(1U, std::thread::hardware_concurrency());
    for (const InstructionSet instruction_set : available_instruction_sets()) {
        machine.instruction_sets.emplace_back(instruction_set_name(instruction_set));
    }
    machine.blas_core = blas_core_type();
    machine.memory_bytes = physical_memory();
    return machine;
}

double measure_peak(InstructionSet instruction_set, std::size_t threads) {
    const simd::Kernels& kernels = simd::kernels_for(instruction_set);
    // Measure on all threads at once: a processor may slow down when all its cores are busy.
    std::vector<double> rates(std::max<std::size_t>(threads, 1));
    share_tasks(rates.size(), rates.size(),
                [&](std::size_t task, std::size_t) { rates[task] = rate_of(kernels); });
    return 1e-9 * std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace attn

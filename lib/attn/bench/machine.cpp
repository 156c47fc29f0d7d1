#include "attn/bench/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "attn/simd/architecture.hpp"
#include "attn/tensor/matmul.hpp"

namespace attn {
namespace {

/// The name as Linux tells it.
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

}  // namespace

Machine this_machine() {
    Machine machine;
    machine.processor = processor_name();
    machine.cores = std::max(1U, std::thread::hardware_concurrency());
    for (const FusedArchitecture architecture : available_architectures()) {
        machine.instruction_sets.emplace_back(architecture_name(architecture));
    }
    machine.blas_core = blas_core_type();
    machine.memory_bytes = physical_memory();
    return machine;
}

}  // namespace attn

#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace attn {

/// What a measurement depends on besides the program.
struct Machine {
    std::string processor;  ///< its name, or `unknown processor`
    std::size_t cores = 1;  ///< that this process may see
    std::vector<std::string>
        instruction_sets;     ///< of those the fused kernel knows, narrowest first
    std::string blas_core;    ///< whose kernels OpenBLAS has chosen
    double memory_bytes = 0;  ///< the memory of the machine; 0 if unknown
};

Machine this_machine();

}  // namespace attn

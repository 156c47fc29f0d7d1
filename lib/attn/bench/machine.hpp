#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "attn/simd/kernels.hpp"

namespace attn {

/// Conditions of a measurement besides the program.
struct Machine {
    std::string processor;                      ///< its name, or `unknown processor`
    std::size_t cores = 1;                      ///< that this process may see
    std::vector<std::string> instruction_sets;  ///< of those with kernels, narrowest first
    std::string blas_core;                      ///< whose kernels OpenBLAS has chosen
    double memory_bytes = 0;                    ///< the memory of the machine; 0 if unknown
};

Machine this_machine();

/// GFLOP/s of multiply-adds on registers alone, of all threads at the same time: what no product of
/// matrices can exceed. One short measurement; the largest of several is the peak.
///
/// Errors  ConfigError for an instruction set that this processor does not have.
double measure_peak(InstructionSet instruction_set, std::size_t threads);

}  // namespace attn

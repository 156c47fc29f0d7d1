#pragma once
#include <cstddef>

#include "attn/simd/architecture.hpp"

namespace attn {

/// GFLOP/s of multiply-adds on registers alone, of all threads at the same time: what no product of
/// matrices can exceed. One short measurement; the largest of several is the peak.
///
/// Range   0 for an architecture that this processor does not have.
double measure_peak(FusedArchitecture architecture, std::size_t threads);

}  // namespace attn

#pragma once

/// Compiles what INSTANTIATE(twin, type) names for both implementations and both types of numbers.
/// A step's source file ends with it: its templates have no body in the header, which stays short
/// to read.
#define ATTN_FOR_EACH_TWIN(INSTANTIATE) \
    INSTANTIATE(loop, float)            \
    INSTANTIATE(loop, double)           \
    INSTANTIATE(vectorized, float)      \
    INSTANTIATE(vectorized, double)

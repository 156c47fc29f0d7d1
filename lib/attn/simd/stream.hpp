#pragma once
#include <cstddef>

namespace attn {

/// Copies a row to memory that is not read again soon, past the cache: a store that goes through it
/// reads the line first, and drives out what is still needed.
void stream_row(const float* row, float* result, std::size_t count);
void stream_row(const double* row, double* result, std::size_t count);

/// Makes what was streamed visible to other threads.
void finish_streams();

}  // namespace attn

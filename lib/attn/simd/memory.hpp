#pragma once
#include <cstddef>

namespace attn {

/// Asks the system to back large memory that was not yet touched with large pages: taking a page
/// costs more than filling it, and small ones are 512 times as many. Small memory stays as it is.
void prefer_large_pages(void* memory, std::size_t bytes);

/// Copies a row to memory that is not read again soon, past the cache: a store that goes through it
/// reads the line first, and drives out what is still needed.
void stream_row(const float* row, float* result, std::size_t count);
void stream_row(const double* row, double* result, std::size_t count);

/// Makes what was streamed visible to other threads.
void finish_streams();

}  // namespace attn

#pragma once
#include <cstddef>

namespace attn {

/// Asks the system to back large memory that was not yet touched with large pages: taking a page
/// costs more than filling it, and small ones are 512 times as many. Small memory stays as it is.
void prefer_large_pages(void* memory, std::size_t bytes);

}  // namespace attn

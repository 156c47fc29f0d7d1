#include "attn/tensor/array.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace attn {

void prefer_large_pages(void* memory, std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
    constexpr std::uintptr_t large_page = std::uintptr_t{1} << 21;
    if (bytes < 2 * large_page) return;
    // Only whole pages inside the memory: what lies around it is not ours. A refusal costs speed
    // alone.
    const auto start = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t first = (start + large_page - 1) & ~(large_page - 1);
    const std::uintptr_t end = (start + bytes) & ~(large_page - 1);
    if (first < end) {
        madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
    }
#else
    static_cast<void>(memory);
    static_cast<void>(bytes);
#endif
}

}  // namespace attn

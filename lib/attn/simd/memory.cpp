#include "attn/simd/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace attn {
namespace {

#if defined(__SSE2__)

void stream_vector(const float* from, float* to) { _mm_stream_ps(to, _mm_loadu_ps(from)); }
void stream_vector(const double* from, double* to) { _mm_stream_pd(to, _mm_loadu_pd(from)); }

template <class Real>
void stream(const Real* row, Real* result, std::size_t count) {
    constexpr std::size_t vector_bytes = 16;
    constexpr std::size_t lanes = vector_bytes / sizeof(Real);
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(result) % vector_bytes;
    const std::size_t head =
        std::min(count, beyond == 0 ? 0 : (vector_bytes - beyond) / sizeof(Real));
    std::copy_n(row, head, result);
    std::size_t i = head;
    for (; i + lanes <= count; i += lanes) stream_vector(row + i, result + i);
    std::copy_n(row + i, count - i, result + i);
}

#else

template <class Real>
void stream(const Real* row, Real* result, std::size_t count) {
    std::copy_n(row, count, result);
}

#endif

}  // namespace

void stream_row(const float* row, float* result, std::size_t count) { stream(row, result, count); }
void stream_row(const double* row, double* result, std::size_t count) {
    stream(row, result, count);
}

void finish_streams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

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

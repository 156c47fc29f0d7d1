#include "attn/simd/matmul.hpp"

#include <cblas.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "attn/simd/blas.hpp"
#include "attn/simd/kernels.hpp"
#include "attn/simd/parallel.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

/// A second factor of so many numbers stays in the second cache once it is packed. Its products
/// need no BLAS, which would take its memory for them first. The first factor plays no part in the
/// choice: whether its rows come at once or in shares changes no digit.
constexpr std::size_t most_packed_numbers = std::size_t{1} << 16;

bool is_small(std::size_t k, std::size_t n) { return k == 0 || n <= most_packed_numbers / k; }

/// The product with a packed factor, some rows at a time, so that what one panel has met is still
/// near for the next.
template <class T>
void multiply_packed(const T* a, std::size_t a_stride, const Panels<T>& b, T* result,
                     std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n) {
    constexpr std::size_t most_rows = 96;
    for (std::size_t row = 0; row < m; row += most_rows) {
        panel_operations<T>().multiply(a + row * a_stride, a_stride, std::min(most_rows, m - row),
                                       b, k, n, result + row * result_stride, result_stride);
    }
}

}  // namespace

void prepare_products(std::size_t k, std::size_t n, std::size_t threads) {
    if (is_small(k, n)) return;
    static std::atomic<std::size_t> prepared{0};
    if (threads <= prepared) return;
    // OpenBLAS takes 128 MB for each thread at its first product, and where there are none it asks
    // again and again, for ever. What can be had now can be had then; a thread of ours takes its
    // stack and its heap before.
    constexpr std::size_t for_blas = std::size_t{129} << 20;
    constexpr std::size_t for_a_thread = std::size_t{136} << 20;
    const std::size_t further = prepared == 0 ? threads - 1 : threads - prepared;
    const std::size_t bytes = (threads - prepared) * for_blas + further * for_a_thread;
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw ConfigError("not enough memory to multiply matrices of this size: OpenBLAS takes " +
                          std::to_string(bytes >> 20) +
                          " MB at its first product: allow more memory (ulimit -v), or choose "
                          "fewer threads or a smaller model");
    }
    munmap(memory, bytes);
    // Threads of our own share the work: those of BLAS would wait for more in a loop that takes a
    // core from the steps that follow.
    openblas_set_num_threads(1);
    prepared = threads;
}

std::string blas_core_type() { return openblas_get_corename(); }

template <class T>
void multiply_rows(const T* a, std::size_t a_stride, const T* b, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second) {
    if (m == 0 || n == 0) return;
    const bool transposed = second == Second::transposed;
    if (is_small(k, n)) {
        thread_local Scratch scratch;
        T* const packed = scratch.reserve<T>(panel_operations<T>().size(k, n));
        panel_operations<T>().pack(b, k, n, transposed, packed);
        return multiply_packed<T>(a, a_stride, {packed, k, n}, result, result_stride, m, k, n);
    }
    prepare_products(k, n, 1);
    blas_multiply(a, a_stride, b, transposed, result, result_stride, m, k, n);
}

template void multiply_rows(const float*, std::size_t, const float*, float*, std::size_t,
                            std::size_t, std::size_t, std::size_t, Second);
template void multiply_rows(const double*, std::size_t, const double*, double*, std::size_t,
                            std::size_t, std::size_t, std::size_t, Second);

}  // namespace attn

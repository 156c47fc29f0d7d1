#include <sys/mman.h>

#include <atomic>
#include <string>
#include <xtensor-blas/xblas.hpp>

#include "attn/ground/simd/matmul.hpp"
#include "attn/ground/tensor/error.hpp"

// xtensor-blas has its own declarations of BLAS, which conflict with OpenBLAS's header.
extern "C" void openblas_set_num_threads(int);
extern "C" char* openblas_get_corename();

namespace attn {

void prepare_blas(std::size_t threads) {
    static std::atomic<std::size_t> prepared{0};
    if (threads <= prepared) return;
    // OpenBLAS allocates 128 MB per thread at its first product, and retries forever if that fails.
    // Check now that the memory is available, together with the stack and heap that our threads
    // need first.
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
    // The work is shared by our own threads: idle BLAS threads would spin on a core that later
    // steps need.
    openblas_set_num_threads(1);
    prepared = threads;
}

std::string blas_core_type() { return openblas_get_corename(); }

const char* better_blas_core([[maybe_unused]] std::string_view chosen) {
#if defined(__x86_64__)
    constexpr std::string_view wide = "Haswell Zen Excavator SkylakeX Cooperlake SapphireRapids";
    if (wide.find(chosen) != wide.npos) return nullptr;
    // The compiler's runtime also checks that the system saves the wide registers.
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
    return nullptr;
}

template <class T>
void blas_multiply(const T* a, std::size_t a_stride, const T* b, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second) {
    const bool transposed = second == Second::transposed;
    const auto index = [](std::size_t size) { return static_cast<xt::blas_index_t>(size); };
    cxxblas::gemm<xt::blas_index_t>(
        cxxblas::StorageOrder::RowMajor, cxxblas::Transpose::NoTrans,
        transposed ? cxxblas::Transpose::Trans : cxxblas::Transpose::NoTrans, index(m), index(n),
        index(k), T(1), a, index(a_stride), b, index(transposed ? k : n), T(0), result,
        index(result_stride));
}

template void blas_multiply(const float*, std::size_t, const float*, float*, std::size_t,
                            std::size_t, std::size_t, std::size_t, Second);
template void blas_multiply(const double*, std::size_t, const double*, double*, std::size_t,
                            std::size_t, std::size_t, std::size_t, Second);

}  // namespace attn

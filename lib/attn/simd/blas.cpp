// Apart from products.cpp, because OpenBLAS's own header and the one inside xtensor-blas declare
// the same functions differently.
#include "attn/simd/blas.hpp"

#include <xtensor-blas/xblas.hpp>

namespace attn {

template <class T>
void blas_multiply(const T* a, std::size_t a_stride, const T* b, bool transposed, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n) {
    const auto index = [](std::size_t size) { return static_cast<xt::blas_index_t>(size); };
    cxxblas::gemm<xt::blas_index_t>(
        cxxblas::StorageOrder::RowMajor, cxxblas::Transpose::NoTrans,
        transposed ? cxxblas::Transpose::Trans : cxxblas::Transpose::NoTrans, index(m), index(n),
        index(k), T(1), a, index(a_stride), b, index(transposed ? k : n), T(0), result,
        index(result_stride));
}

template void blas_multiply(const float*, std::size_t, const float*, bool, float*, std::size_t,
                            std::size_t, std::size_t, std::size_t);
template void blas_multiply(const double*, std::size_t, const double*, bool, double*, std::size_t,
                            std::size_t, std::size_t, std::size_t);

}  // namespace attn

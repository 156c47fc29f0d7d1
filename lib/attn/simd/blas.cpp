// Apart from matmul.cpp, because OpenBLAS's own header and the one inside xtensor-blas declare the
// same functions differently.
#include <cblas.h>

#include "attn/tensor/matmul.hpp"

namespace attn {
namespace {

template <class T, class Gemm>
void multiply_by(Gemm gemm, const T* a, std::size_t a_stride, const T* b, T* result,
                 std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                 Second second) {
    const bool transposed = second == Second::transposed;
    gemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, static_cast<int>(m),
         static_cast<int>(n), static_cast<int>(k), 1, a, static_cast<int>(a_stride), b,
         static_cast<int>(transposed ? k : n), 0, result, static_cast<int>(result_stride));
}

}  // namespace

void keep_blas_to_one_thread() {
    if (openblas_get_num_threads() != 1) openblas_set_num_threads(1);
}

std::string blas_core_type() { return openblas_get_corename(); }

void multiply_rows(const float* a, std::size_t a_stride, const float* b, float* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second) {
    multiply_by(cblas_sgemm, a, a_stride, b, result, result_stride, m, k, n, second);
}

void multiply_rows(const double* a, std::size_t a_stride, const double* b, double* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second) {
    multiply_by(cblas_dgemm, a, a_stride, b, result, result_stride, m, k, n, second);
}

}  // namespace attn

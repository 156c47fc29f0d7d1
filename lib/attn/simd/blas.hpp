#pragma once
#include <cstddef>

namespace attn {

/// One product by BLAS on plain row-major memory whose rows may stand apart: result (m, n) is a
/// (m, k) times b (k, n), or b (n, k) when it is stored transposed.
template <class T>
void blas_multiply(const T* a, std::size_t a_stride, const T* b, bool transposed, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n);

}  // namespace attn

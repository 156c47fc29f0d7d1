#pragma once
#include <string>

#include "attn/tensor/tensor.hpp"

namespace attn {

/// Whether the second factor of a product is stored transposed.
enum class Second { as_stored, transposed };

/// The batched matrix product over the last two axes, shared among threads (simd/parallel.hpp)
/// where the work is large; with a large second factor by BLAS.
///
/// Shapes  a (..., m, k); b (..., k, n), or (..., n, k) when it is stored transposed; result
///         (..., m, n). The leading axes are the same, or b has none and serves every matrix of a.
/// Errors  ShapeError when the inner lengths or the leading axes differ.
template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b, Second second);

/// One matrix product on plain row-major memory: a (m, k), b (k, n) or (n, k), result (m, n).
template <class T>
void multiply(const T* a, const T* b, T* result, std::size_t m, std::size_t k, std::size_t n,
              Second second);

/// The same for rows that stand apart: those of a `a_stride` numbers, those of the result
/// `result_stride`.
template <class T>
void multiply_rows(const T* a, std::size_t a_stride, const T* b, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second);

/// To be called before products with a second factor (k, n) on so many threads of our own. A small
/// factor needs nothing; a large one goes to OpenBLAS, which takes memory for each thread at its
/// first product.
///
/// Errors  ConfigError when there is not so much memory: OpenBLAS would ask for it for ever.
void prepare_products(std::size_t k, std::size_t n, std::size_t threads);

/// The processor whose kernels BLAS has chosen, as it calls it: `Haswell`, `SkylakeX`.
std::string blas_core_type();

}  // namespace attn

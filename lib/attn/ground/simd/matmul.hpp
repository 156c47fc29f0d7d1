#pragma once
#include <string>
#include <string_view>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// Whether the second factor of a product is stored transposed.
enum class Second { as_stored, transposed };

/// Computes the batched matrix product over the last two axes, by OpenBLAS unless it is small.
/// Large products use at most `threads` threads, one per core if that is 0.
///
/// Shapes  a (..., m, k); b (..., k, n), or (..., n, k) if it is stored transposed; result (..., m,
///         n). The leading axes are equal, or b has none and is used for every matrix of a.
/// Errors  ShapeError if the inner lengths or the leading axes differ.
template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b, Second second, std::size_t threads = 1);

/// Computes one matrix product on plain row-major memory: a (m, k), b (k, n) or (n, k), result (m,
/// n). Rows of a are `a_stride` numbers apart, rows of the result `result_stride`.
template <class T>
void multiply_rows(const T* a, std::size_t a_stride, const T* b, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second);

/// Computes the same product with OpenBLAS, for any size.
template <class T>
void blas_multiply(const T* a, std::size_t a_stride, const T* b, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second);

/// Must be called before products by OpenBLAS on that many threads of our own: it allocates memory
/// for each thread at its first product.
///
/// Errors  ConfigError if there is not enough memory: OpenBLAS would retry forever.
void prepare_blas(std::size_t threads);

/// Returns OpenBLAS's name for the processor of its kernels: `Haswell`, `SkylakeX`.
std::string blas_core_type();

/// Returns the processor whose kernels OpenBLAS should use instead of its choice, if this processor
/// has AVX2 or AVX-512 and the chosen kernels use neither; else null.
///
/// Why  OpenBLAS chooses kernels by model number. For a processor newer than OpenBLAS it uses those
///      of the Prescott (2004).
const char* better_blas_core(std::string_view chosen);

}  // namespace attn

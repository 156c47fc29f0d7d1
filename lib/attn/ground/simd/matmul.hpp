#pragma once
#include <string>
#include <string_view>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// Whether the second factor of a product is stored transposed.
enum class Second { as_stored, transposed };

/// The batched matrix product over the last two axes, each product by OpenBLAS unless it is small.
/// Large products are shared among at most `threads` threads, one for each core if that is 0.
///
/// Shapes  a (..., m, k); b (..., k, n), or (..., n, k) when it is stored transposed; result
///         (..., m, n). The leading axes are the same, or b has none and serves every matrix of a.
/// Errors  ShapeError when the inner lengths or the leading axes differ.
template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b, Second second, std::size_t threads = 1);

/// One matrix product on plain row-major memory: a (m, k), b (k, n) or (n, k), result (m, n). The
/// rows of a are `a_stride` numbers apart, those of the result `result_stride`.
template <class T>
void multiply_rows(const T* a, std::size_t a_stride, const T* b, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second);

/// The same by OpenBLAS, whatever the sizes.
template <class T>
void blas_multiply(const T* a, std::size_t a_stride, const T* b, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second);

/// To be called before products by OpenBLAS on so many threads of our own: it takes memory for each
/// at its first product.
///
/// Errors  ConfigError when there is not so much memory: OpenBLAS would ask for it for ever.
void prepare_blas(std::size_t threads);

/// The processor whose kernels BLAS has chosen, as it calls it: `Haswell`, `SkylakeX`.
std::string blas_core_type();

/// Returns the processor whose kernels BLAS should use instead of those that it has chosen, if this
/// processor has AVX2 or AVX-512 and they use neither; else null.
///
/// Why  OpenBLAS goes by model numbers. For a processor that is newer than it, it takes the kernels
///      of a Prescott, of 2004.
const char* better_blas_core(std::string_view chosen);

}  // namespace attn

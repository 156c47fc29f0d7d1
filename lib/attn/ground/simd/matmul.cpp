#include "attn/ground/simd/matmul.hpp"

#include <algorithm>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/simd/parallel.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {
namespace {

/// True for products with so few multiply-adds that OpenBLAS's allocation would take longer.
bool is_small(std::size_t m, std::size_t k, std::size_t n) {
    constexpr double most_multiply_adds = 1 << 18;
    return static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n) <=
           most_multiply_adds;
}

}  // namespace

template <class T>
void multiply_rows(const T* a, std::size_t a_stride, const T* b, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second) {
    if (!is_small(m, k, n)) {
        prepare_blas(1);
        return blas_multiply(a, a_stride, b, result, result_stride, m, k, n, second);
    }
    Array<T> transposed_copy;
    if (second == Second::transposed) {
        transposed_copy = empty_array<T>({k, n});
        for (std::size_t c = 0; c < n; ++c) {
            for (std::size_t i = 0; i < k; ++i) transposed_copy(i, c) = b[c * k + i];
        }
        b = transposed_copy.data();
    }
    // A row of the result is a sum of rows of b.
    const RowOperations<T>& rows = simd::kernels_for().of<T>().rows;
    for (std::size_t r = 0; r < m; ++r) {
        std::fill_n(result + r * result_stride, n, T(0));
        for (std::size_t i = 0; i < k; ++i) {
            rows.add_exact_multiple(b + i * n, a[r * a_stride + i], result + r * result_stride, n);
        }
    }
}

template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b, Second second, std::size_t threads) {
    const Shape& a_shape = a.shape();
    const Shape& b_shape = b.shape();
    const bool shared = b_shape.size() == 2;
    const bool transposed = second == Second::transposed;
    const bool fits = a_shape.size() >= 2 && b_shape.size() >= 2 &&
                      (shared || std::equal(a_shape.begin(), a_shape.end() - 2, b_shape.begin(),
                                            b_shape.end() - 2)) &&
                      a_shape.back() == b_shape[b_shape.size() - (transposed ? 1 : 2)];
    if (!fits) {
        throw ShapeError("cannot multiply " + shape_text(a_shape) + " by " + shape_text(b_shape) +
                         (transposed ? " transposed" : "") +
                         ": the inner lengths and the leading axes must agree");
    }
    const auto [count, m, k] = groups_of(a_shape);
    Shape shape = a_shape;
    const std::size_t n = shape.back() = b_shape[b_shape.size() - (transposed ? 2 : 1)];
    Array<T> result = empty_array<T>(shape);
    if (result.size() == 0) return result;

    const double work = static_cast<double>(result.size()) * static_cast<double>(k);
    const std::size_t workers = worthwhile_threads(threads, work, count);
    if (!is_small(m, k, n)) prepare_blas(workers);
    share_tasks(count, workers, [&, m = m, k = k](std::size_t i, std::size_t) {
        multiply_rows(a.data() + i * m * k, k, b.data() + (shared ? 0 : i * k * n),
                      result.data() + i * m * n, n, m, k, n, second);
    });
    return result;
}

#define ATTN_INSTANTIATE(T)                                                                    \
    template void multiply_rows(const T*, std::size_t, const T*, T*, std::size_t, std::size_t, \
                                std::size_t, std::size_t, Second);                             \
    template Array<T> matmul(const Array<T>&, const Array<T>&, Second, std::size_t);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn

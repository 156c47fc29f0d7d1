#include "attn/simd/matmul.hpp"

#include <algorithm>

#include "attn/simd/parallel.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

/// BLAS works on some rows at a time, and sums the rest of them in another order. Shares of whole
/// strips leave that rest where it is without threads, so that their number changes no digit:
/// OpenBLAS takes 4, 8, 12, 16 or 24 rows, whatever the processor.
constexpr std::size_t strip_rows = 48;

}  // namespace

template <class T>
void multiply(const T* a, const T* b, T* result, std::size_t m, std::size_t k, std::size_t n,
              Second second) {
    multiply_rows(a, k, b, result, n, m, k, n, second);
}

template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b, Second second) {
    const Shape a_shape = shape_of(a);
    const Shape b_shape = shape_of(b);
    const bool fits = a_shape.size() >= 2 && b_shape.size() >= 2 &&
                      (b_shape.size() == 2 || std::equal(a_shape.begin(), a_shape.end() - 2,
                                                         b_shape.begin(), b_shape.end() - 2));
    const std::size_t inner =
        fits ? b_shape[b_shape.size() - (second == Second::transposed ? 1 : 2)] : 0;
    if (!fits || a_shape.back() != inner) {
        throw ShapeError("cannot multiply " + shape_text(a_shape) + " by " + shape_text(b_shape) +
                         (second == Second::transposed ? " transposed" : "") +
                         ": the inner lengths and the leading axes must agree");
    }
    const std::size_t n = b_shape[b_shape.size() - (second == Second::transposed ? 2 : 1)];
    Shape result_shape = a_shape;
    result_shape.back() = n;
    Array<T> result = empty_array<T>(result_shape);
    if (result.size() == 0) return result;

    // A shared second factor turns the whole batch into one tall product.
    const bool shared = b_shape.size() == 2;
    const std::size_t rows = shared ? result.size() / n : a_shape[a_shape.size() - 2];
    const std::size_t products = result.size() / n / rows;
    const double work =
        static_cast<double>(products * rows) * static_cast<double>(n) * static_cast<double>(inner);
    const std::size_t strips = (rows + strip_rows - 1) / strip_rows;
    const std::size_t workers = worthwhile_threads(0, work, products * strips);
    // Each worker takes an equal share of the strips of every product.
    const EvenParts shares{rows, strip_rows, std::min(workers, strips)};
    prepare_products(inner, n, workers);
    share_tasks(products * shares.count, workers, [&](std::size_t task, std::size_t) {
        const std::size_t product = task / shares.count;
        const std::size_t first = shares.begin(task % shares.count);
        const std::size_t end = shares.begin(task % shares.count + 1);
        const std::size_t row = product * rows + first;
        multiply(a.data() + row * inner, b.data() + (shared ? 0 : product * inner * n),
                 result.data() + row * n, end - first, inner, n, second);
    });
    return result;
}

template void multiply(const float*, const float*, float*, std::size_t, std::size_t, std::size_t,
                       Second);
template void multiply(const double*, const double*, double*, std::size_t, std::size_t, std::size_t,
                       Second);
template Array<float> matmul(const Array<float>&, const Array<float>&, Second);
template Array<double> matmul(const Array<double>&, const Array<double>&, Second);

}  // namespace attn

#include "attn/tensor/matmul.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "attn/tensor/error.hpp"

using namespace attn;

namespace {

Array<float> drawn(const Shape& shape, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    Array<float> result = empty_array<float>(shape);
    for (float& number : result) number = normal(generator);
    return result;
}

/// The farthest that some cells of the product are from sums in double precision.
double farthest(const Array<float>& product, const Array<float>& a, const Array<float>& b,
                Second second) {
    const Shape shape = shape_of(a);
    const std::size_t rows = shape[shape.size() - 2];
    const std::size_t inner = shape.back();
    const std::size_t columns = shape_of(product).back();
    const bool shared = b.dimension() == 2;
    double apart = 0;
    // Few enough to be quick, in every product and near every border between threads.
    for (std::size_t row = 0; row < product.size() / columns; row += 7) {
        const float* matrix = b.data() + (shared ? 0 : row / rows * inner * columns);
        for (std::size_t c = 0; c < columns; c += 31) {
            double sum = 0;
            for (std::size_t i = 0; i < inner; ++i) {
                const float factor =
                    second == Second::transposed ? matrix[c * inner + i] : matrix[i * columns + c];
                sum += double{a.data()[row * inner + i]} * factor;
            }
            apart = std::max(apart, std::abs(sum - product.data()[row * columns + c]));
        }
    }
    return apart;
}

}  // namespace

TEST_SUITE("matmul") {
    TEST_CASE("a large product is right, and the same on any number of threads") {
        // Large enough to be shared out, and never in equal parts.
        const Array<float> a = drawn({3, 211, 301}, 1);
        for (const Second second : {Second::as_stored, Second::transposed}) {
            const bool transposed = second == Second::transposed;
            for (const bool shared : {true, false}) {
                Shape shape = transposed ? Shape{293, 301} : Shape{301, 293};
                if (!shared) shape.insert(shape.begin(), 3);
                const Array<float> b = drawn(shape, 2);
                for (const int threads : {0, 1, 2, 5}) {
                    CAPTURE(transposed);
                    CAPTURE(shared);
                    CAPTURE(threads);
                    const Array<float> product = matmul(a, b, second, threads);
                    CHECK(shape_of(product) == Shape{3, 211, 293});
                    CHECK(farthest(product, a, b, second) < 1e-3);
                    CHECK(product == matmul(a, b, second, 1));
                }
            }
        }
    }

    TEST_CASE("more threads than rows, and no numbers at all") {
        const Array<float> a = drawn({1, 6000}, 3);
        const Array<float> b = drawn({6000, 6000}, 4);
        CHECK(farthest(matmul(a, b, Second::as_stored, 8), a, b, Second::as_stored) < 1e-2);
        CHECK(matmul(drawn({0, 4}, 5), drawn({4, 3}, 6), Second::as_stored, 2).size() == 0);
        const Array<float> nothing = matmul(drawn({2, 0}, 7), drawn({0, 3}, 8), Second::as_stored);
        CHECK(shape_of(nothing) == Shape{2, 3});
        for (const float number : nothing) CHECK(number == 0.0F);
    }

    TEST_CASE("lengths that do not fit are refused") {
        CHECK_THROWS_AS(matmul(drawn({2, 3}, 1), drawn({2, 3}, 2), Second::as_stored), ShapeError);
        CHECK_THROWS_AS(matmul(drawn({2, 5, 3}, 1), drawn({3, 3, 3}, 2), Second::as_stored),
                        ShapeError);
    }
}

#include "attn/ground/simd/matmul.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/support/program.hpp"

using namespace attn;

namespace {

Array<float> drawn(const Shape& shape, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    Array<float> result = empty_array<float>(shape);
    for (float& number : result) number = normal(generator);
    return result;
}

/// The largest distance between some cells of the product and sums in double precision.
double farthest(const Array<float>& product, const Array<float>& a, const Array<float>& b,
                Second second) {
    const Shape shape = shape_of(a);
    const std::size_t rows = shape[shape.size() - 2];
    const std::size_t inner = shape.back();
    const std::size_t columns = shape_of(product).back();
    const bool shared = b.dimension() == 2;
    double distance = 0;
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
            distance = std::max(distance, std::abs(sum - product.data()[row * columns + c]));
        }
    }
    return distance;
}

}  // namespace

TEST_SUITE("matmul") {
    TEST_CASE("a large product is right, and the same with any number of threads") {
        // Large enough to be split between threads, and never into equal parts.
        const Array<float> a = drawn({3, 211, 301}, 1);
        for (const Second second : {Second::as_stored, Second::transposed}) {
            const bool transposed = second == Second::transposed;
            for (const bool shared : {true, false}) {
                Shape shape = transposed ? Shape{293, 301} : Shape{301, 293};
                if (!shared) shape.insert(shape.begin(), 3);
                const Array<float> b = drawn(shape, 2);
                const Array<float> alone = matmul(a, b, second, 1);
                CHECK(shape_of(alone) == Shape{3, 211, 293});
                CHECK(farthest(alone, a, b, second) < 1e-3);
                for (const std::size_t threads : {0, 2, 5}) {
                    CAPTURE(transposed);
                    CAPTURE(shared);
                    CAPTURE(threads);
                    CHECK(matmul(a, b, second, threads) == alone);
                }
            }
        }
    }

    TEST_CASE("more threads than products, and empty matrices, work") {
        const Array<float> a = drawn({1, 6000}, 3);
        const Array<float> b = drawn({6000, 6000}, 4);
        CHECK(farthest(matmul(a, b, Second::as_stored, 8), a, b, Second::as_stored) < 1e-2);
        CHECK(matmul(drawn({0, 4}, 5), drawn({4, 3}, 6), Second::as_stored).size() == 0);
        const Array<float> nothing = matmul(drawn({2, 0}, 7), drawn({0, 3}, 8), Second::as_stored);
        CHECK(shape_of(nothing) == Shape{2, 3});
        for (const float number : nothing) CHECK(number == 0.0F);
    }

    TEST_CASE("the rows of a small product do not depend on the rows computed with them") {
        for (const std::size_t inner : {1, 7, 71, 200}) {
            for (const std::size_t columns : {1, 5, 24, 65, 163}) {
                CAPTURE(inner);
                CAPTURE(columns);
                const Array<float> a = drawn({8, inner}, 9);
                for (const Second second : {Second::as_stored, Second::transposed}) {
                    const bool transposed = second == Second::transposed;
                    const Array<float> b =
                        drawn(transposed ? Shape{columns, inner} : Shape{inner, columns}, 10);
                    const Array<float> product = matmul(a, b, second);
                    CHECK(farthest(product, a, b, second) < 1e-4);
                    std::vector<float> row(columns);
                    for (const std::size_t r : {0, 3, 7}) {
                        multiply_rows(a.data() + r * inner, inner, b.data(), row.data(), columns, 1,
                                      inner, columns, second);
                        CHECK(std::equal(row.begin(), row.end(), product.data() + r * columns));
                    }
                }
            }
        }
    }

    TEST_CASE("loops and BLAS agree on both sides of the size that selects them") {
        for (const std::size_t columns : {1023, 1024, 1025, 1042}) {
            CAPTURE(columns);
            const Array<float> a = drawn({2, 4, 64}, 11);
            const Array<float> b = drawn({64, columns}, 12);
            CHECK(farthest(matmul(a, b, Second::as_stored), a, b, Second::as_stored) < 1e-4);
            const Array<float> transposed_copy = drawn({columns, 64}, 13);
            CHECK(farthest(matmul(a, transposed_copy, Second::transposed), a, transposed_copy,
                           Second::transposed) < 1e-4);
        }
    }

    TEST_CASE("if memory is short, small inputs run and large ones are refused at once") {
        if (build::is_sanitized) return;  // it reserves terabytes of address space
        const std::string small = "attn-explain --dtype float64";
        const program::Result limited = program::shell("ulimit -v 100000; timeout 60 " + small);
        CHECK(limited.exit_code == 0);
        CHECK(limited.out == program::shell(small).out);
        const program::Result refused = program::shell(
            "ulimit -v 120000; timeout 60 attn-explain --random randn --embed-dim 512 --heads 8");
        CHECK(refused.exit_code == 2);
        CHECK(refused.out.empty());
        CHECK(refused.err ==
              "attn-explain: error: not enough memory to multiply matrices of this size: OpenBLAS "
              "takes 129 MB at its first product: allow more memory (ulimit -v), or choose fewer "
              "threads or a smaller model\n");
    }

#if defined(__x86_64__)
    TEST_CASE("BLAS uses kernels for the processor, even if it does not recognise it") {
        for (const char* good : {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"}) {
            CHECK(better_blas_core(good) == nullptr);
        }
        const std::size_t sets = available_instruction_sets().size();  // sse2, avx2, avx512
        for (const char* fallback :
             {"Prescott", "Nehalem", "Sandybridge", "Barcelona", "Unknown"}) {
            const char* const better = better_blas_core(fallback);
            CHECK((better != nullptr) == (sets > 1));
            if (sets == 2) CHECK(better == std::string("Haswell"));
        }
        const std::string chosen =
            program::shell(
                "unset OPENBLAS_CORETYPE; attn-explain bench --json --variant vectorized "
                "--shape 1,2,2 --rounds 1")
                .out;
        CHECK((sets == 1 || chosen.find("Prescott") == chosen.npos));
        // The user's setting counts, and no child process inherits the program's own.
        const auto reported = program::shell(
            "OPENBLAS_CORETYPE=Nehalem attn-explain bench --variant vectorized --shape 1,2,2 "
            "--rounds 1");
        CHECK(reported.out.find("OpenBLAS for Nehalem") != std::string::npos);
    }
#endif
    TEST_CASE("lengths that do not fit are refused") {
        CHECK_THROWS_AS(matmul(drawn({2, 3}, 1), drawn({2, 3}, 2), Second::as_stored), ShapeError);
        CHECK_THROWS_AS(matmul(drawn({2, 5, 3}, 1), drawn({3, 3, 3}, 2), Second::as_stored),
                        ShapeError);
    }
}

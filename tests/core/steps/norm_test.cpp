#include "attn/core/steps/norm.hpp"

#include "tests/core/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: normed_x") {
    TEST_CASE("rms divides a row by the square root of its mean square, 3 and 4 by sqrt(12.5)") {
        const double root = std::sqrt(12.5);
        check_cells(norm(Matrix{{3, 4}}, Matrix{1, 10}, Matrix(), NormKind::rms, 0.0),
                    {3 / root, 40 / root});
        // eps is added under the square root: 12.5 + 3.5 is 16.
        check_cells(norm(Matrix{{3, 4}}, Matrix{1, 1}, Matrix{5, 6}, NormKind::rms, 3.5),
                    {5.75, 7});
    }
    TEST_CASE("layer subtracts the mean first: 1, 2, 3 become -r, 0, r with r = sqrt(3/2)") {
        const double r = std::sqrt(1.5);
        check_cells(norm(Matrix{{1, 2, 3}, {5, 5, 5}}, Matrix{1, 1, 1}, Matrix{0, 0, 7},
                         NormKind::layer, 1e-300),
                    {-r, 0, 7 + r, 0, 0, 7});
    }
    TEST_CASE("a row depends on no other row, and on no factor of its own") {
        const Matrix gain{1, 2, 3};
        const Matrix all = norm(Matrix{{1, -2, 4}, {2, -4, 8}}, gain, Matrix(), NormKind::rms, 0.0);
        for (std::size_t f = 0; f < 3; ++f) CHECK(all(0, f) == doctest::Approx(all(1, f)));
        CHECK_THROWS_AS(norm(Matrix{{1, 2}}, gain, Matrix(), NormKind::rms, 0.0), ShapeError);
    }
}

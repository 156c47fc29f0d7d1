#include "attn/core/steps/qk_norm.hpp"

#include "tests/core/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: qk norm") {
    TEST_CASE("a row of 3 and 4 has root mean square sqrt(12.5) and length 5") {
        const Matrix x{{3, 4}};
        const double root = std::sqrt(12.5);
        check_cells(normalise(x, Matrix{1, 1}, NormOver::head, 0., std::size_t{1}),
                    {3 / root, 4 / root});
        check_cells(normalise(x, Matrix{2, -1}, NormOver::head, 0., std::size_t{1}),
                    {6 / root, -4 / root});
        check_cells(normalise(x, Matrix(), NormOver::l2, 0., std::size_t{1}), {0.6, 0.8});
    }

    TEST_CASE("eps keeps a zero row at zero: under the square root, or as the minimum length") {
        const Matrix x{{0, 0}, {3, 4}};
        check_cells(normalise(x, Matrix{1, 1}, NormOver::head, 12.5, std::size_t{1}),
                    {0, 0, 0.6, 0.8});
        check_cells(normalise(x, Matrix(), NormOver::l2, 10., std::size_t{1}), {0, 0, 0.3, 0.4});
    }

    TEST_CASE("over all heads, the features of a token in every head form one row") {
        // two heads, two tokens, one feature: token 0 holds 3 and 4, token 1 holds 6 and 8
        Matrix x{3, 6, 4, 8};
        x.reshape({2, 2, 1});
        const double root = std::sqrt(12.5);
        check_cells(normalise(x, Matrix{1, 2}, NormOver::all, 0., std::size_t{2}),
                    {3 / root, 3 / root, 8 / root, 8 / root});
        check_cells(normalise(x, Matrix{1}, NormOver::head, 0., std::size_t{2}), {1, 1, 1, 1});
    }
}

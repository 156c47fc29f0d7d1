#include "attn/core/steps/softmax.hpp"

#include "tests/core/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: weights") {
    TEST_CASE("scores ln 1, ln 2, ln 5 give weights 1/8, 2/8, 5/8") {
        FOR_BOTH_TWINS(softmax) {
            const Matrix scores{{std::log(1.0), std::log(2.0), std::log(5.0)}};
            check_cells(softmax(scores, 1, EmptyRow::nan), {0.125, 0.25, 0.625});
        }
    }
    TEST_CASE("equal scores give equal weights, and one key takes all") {
        FOR_BOTH_TWINS(softmax) {
            check_cells(softmax(Matrix{{7, 7, 7, 7}}, 1, EmptyRow::nan), {.25, .25, .25, .25});
            check_cells(softmax(Array<double>::filled({1, 1}, -3.0), 1, EmptyRow::nan), {1});
        }
    }
    TEST_CASE("a hidden key has weight exactly 0, and the rest share its part") {
        FOR_BOTH_TWINS(softmax) {
            check_cells(softmax(Matrix{{0, -inf, 0}}, 1, EmptyRow::nan), {0.5, 0, 0.5});
        }
    }
    TEST_CASE("scores for which exp() would overflow do not overflow") {
        FOR_BOTH_TWINS(softmax) {
            check_cells(softmax(Matrix{{1000, 1000}}, 1, EmptyRow::nan), {0.5, 0.5});
        }
    }
    TEST_CASE("a fully masked row gives nan, zeros or an error") {
        const Matrix scores{{-inf, -inf}, {0, 0}};
        const double nan = std::nan("");
        FOR_BOTH_TWINS(softmax) {
            check_cells(softmax(scores, 1, EmptyRow::nan), {nan, nan, 0.5, 0.5});
            check_cells(softmax(scores, 1, EmptyRow::zero), {0, 0, 0.5, 0.5});
            CHECK_THROWS_AS(softmax(scores, 1, EmptyRow::error), ConfigError);
        }
    }
    TEST_CASE("along another axis the columns sum to 1") {
        FOR_BOTH_TWINS(softmax) {
            check_cells(softmax(Matrix{{0, std::log(3.0)}, {0, 0}}, 0, EmptyRow::nan),
                        {0.5, 0.75, 0.5, 0.25});
        }
    }
    TEST_CASE("nan in a score spreads over its row only") {
        const double nan = std::nan("");
        FOR_BOTH_TWINS(softmax) {
            check_cells(softmax(Matrix{{nan, 0}, {0, 0}}, 1, EmptyRow::nan), {nan, nan, 0.5, 0.5});
        }
    }
    TEST_CASE("the parts are the largest score, the exponentials and their sum") {
        const Matrix scores{{0, std::log(3.0)}, {-inf, -inf}};
        FOR_BOTH_TWINS(row_max) { check_cells(row_max(scores, 1), {std::log(3.0), -inf}); }
        FOR_BOTH_TWINS(exponentials) {
            check_cells(exponentials(Matrix{{0, std::log(3.0)}}, Array<double>{std::log(3.0)}, 1),
                        {1.0 / 3, 1});
        }
        FOR_BOTH_TWINS(row_sum) {
            check_cells(row_sum(Matrix{{1, 2}, {3, 4}}, 1), {3, 7});
            check_cells(row_sum(Matrix{{1, 2}, {3, 4}}, 0), {4, 6});
        }
    }
}

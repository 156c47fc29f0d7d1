#include "attn/core/steps/scores.hpp"

#include "tests/core/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: scores") {
    TEST_CASE("a score is the dot product of a query and a key") {
        FOR_BOTH_TWINS(scores) {
            const Matrix query{{1, 2}, {0, 3}};
            const Matrix key{{5, 7}, {-1, 1}, {0, 0}};
            check_cells(scores(query, key), {19, 1, 0, 21, 3, 0});
        }
    }
    TEST_CASE("different numbers of features are refused") {
        FOR_BOTH_TWINS(scores) {
            CHECK_THROWS_AS(scores(Matrix{{1, 2}}, Matrix{{1, 2, 3}}), ShapeError);
        }
    }
}

#include "attn/steps/differential.hpp"

#include "tests/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: differential") {
    TEST_CASE("vectors that are orthogonal leave lambda where it starts") {
        FOR_BOTH_TWINS(lambda) {
            check_cells(lambda(Matrix{1, 0}, Matrix{0, 3}, Matrix{2, 2}, Matrix{1, -1}, 0.2),
                        {0.2});
        }
    }

    TEST_CASE("dot products of ln 3 and ln 2 add 3 - 2") {
        FOR_BOTH_TWINS(lambda) {
            check_cells(lambda(Matrix{std::log(3), 5}, Matrix{1, 0}, Matrix{1, 1},
                               Matrix{std::log(2) / 2, std::log(2) / 2}, 0.5),
                        {1.5});
        }
    }

    TEST_CASE("neighbouring heads are subtracted, whatever stands in front of them") {
        const Matrix weights{{{0.5, 0.5}}, {{1, 0}}, {{0.25, 0.75}}, {{0, 1}}};
        FOR_BOTH_TWINS(subtract_pairs) {
            check_cells(subtract_pairs(weights, Matrix{0.5}), {0, 0.5, 0.25, 0.25});
            Matrix batch = weights;
            batch.reshape({2, 2, 1, 2});
            CHECK(subtract_pairs(batch, Matrix{0.5}).shape() == Shape{2, 1, 1, 2});
            check_cells(subtract_pairs(batch, Matrix{0.5}), {0, 0.5, 0.25, 0.25});
        }
    }

    TEST_CASE("a lambda of 1 leaves nothing of two equal softmaxes, of 0 the first") {
        const Matrix weights{{{0.25, 0.75}}, {{0.25, 0.75}}};
        FOR_BOTH_TWINS(subtract_pairs) {
            check_cells(subtract_pairs(weights, Matrix{1}), {0, 0});
            check_cells(subtract_pairs(weights, Matrix{0}), {0.25, 0.75});
        }
    }

    TEST_CASE("an odd head without a partner and vectors of two lengths are refused") {
        FOR_BOTH_TWINS(subtract_pairs) {
            CHECK_THROWS_AS(subtract_pairs(Matrix::filled({3, 1, 1}, 1), Matrix{1}), ShapeError);
        }
        FOR_BOTH_TWINS(lambda) {
            CHECK_THROWS_AS(lambda(Matrix{1, 2}, Matrix{1}, Matrix{1, 2}, Matrix{1, 2}, 0),
                            ShapeError);
        }
    }
}

#include "attn/core/steps/mask.hpp"

#include "tests/core/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: mask") {
    TEST_CASE("hidden cells become minus infinity, others stay") {
        FOR_BOTH_TWINS(apply_mask) {
            check_cells(
                apply_mask(Matrix{{1, 2}, {3, 4}}, Array<bool>{{false, true}, {false, false}}),
                {1, -inf, 3, 4});
            check_cells(apply_mask(Matrix{{1, 2}, {3, 4}}, Array<bool>{{true, false}}),
                        {-inf, 2, -inf, 4});
        }
    }
    TEST_CASE("a mask that does not broadcast is refused") {
        FOR_BOTH_TWINS(apply_mask) {
            CHECK_THROWS_AS(apply_mask(Matrix{{1, 2, 3}}, Array<bool>{{true, false}}), ShapeError);
        }
    }
}

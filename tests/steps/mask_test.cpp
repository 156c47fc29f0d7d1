#include "attn/steps/mask.hpp"

#include "tests/steps/twins.hpp"

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
    TEST_CASE("a block of rows reads its own part of the rule") {
        const Matrix scores{{1, 2, 3}, {4, 5, 6}};
        MaskView causal;
        causal.causal = true;
        causal.causal_offset = -1;
        for (const bool in_loops : {true, false}) {
            Matrix result = Matrix::from_shape({2, 3});
            const MaskView second_row = causal.from(0, 1);
            in_loops ? loop::apply_mask(matrices_of(scores), second_row, matrices_of(result))
                     : vectorized::apply_mask(matrices_of(scores), second_row, matrices_of(result));
            check_cells(result, {1, -inf, -inf, 4, 5, -inf});
        }
    }
}

#include "attn/core/steps/scaling.hpp"

#include "tests/core/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: scaled_scores") {
    TEST_CASE("dividing by 2 halves, and multiplying by 2 doubles") {
        using Operation = ScaleFactor::Operation;
        FOR_BOTH_TWINS(scale) {
            check_cells(scale(Matrix{{2, -3}}, ScaleFactor{Operation::divide, 2}), {1, -1.5});
            check_cells(scale(Matrix{{2, -3}}, ScaleFactor{Operation::multiply, 2}), {4, -6});
        }
    }
}

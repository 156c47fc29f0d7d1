#include "attn/core/steps/context.hpp"

#include "tests/core/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: context") {
    TEST_CASE("equal weights give the mean of the values, a single one gives its value back") {
        FOR_BOTH_TWINS(context) {
            const Matrix value{{1, 10}, {3, 30}};
            check_cells(context(Matrix{{0.5, 0.5}, {0, 1}}, value), {2, 20, 3, 30});
        }
    }
    TEST_CASE("a weight for every key is required") {
        FOR_BOTH_TWINS(context) {
            CHECK_THROWS_AS(context(Matrix{{1, 0, 0}}, Matrix{{1, 2}}), ShapeError);
        }
    }
}

#include "attn/steps/embedding.hpp"

#include "tests/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: x") {
    TEST_CASE("an id takes its row of the table, and one without a row is refused") {
        const Array<double> table{{1, 2}, {3, 4}};
        FOR_BOTH_TWINS(embed) {
            check_cells(embed(Array<std::int64_t>{1, 0, 1}, table), {3, 4, 1, 2, 3, 4});
            CHECK_THROWS_AS(embed(Array<std::int64_t>{2}, table), ShapeError);
        }
    }
}

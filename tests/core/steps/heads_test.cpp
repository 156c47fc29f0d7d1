#include "attn/core/steps/heads.hpp"

#include "tests/core/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: heads") {
    TEST_CASE("a head is a run of neighbouring features, and merging undoes splitting") {
        const Matrix projected{{1, 2, 3, 4}, {5, 6, 7, 8}};
        FOR_BOTH_TWINS(split_heads) {
            const Matrix heads = split_heads(projected, 2);
            CHECK(shape_of(heads) == Shape{2, 2, 2});
            check_cells(heads, {1, 2, 5, 6, 3, 4, 7, 8});
            CHECK(loop::merge_heads(heads) == projected);
            CHECK(vectorized::merge_heads(heads) == projected);
            CHECK_THROWS_AS(split_heads(projected, 3), ShapeError);
        }
    }
}

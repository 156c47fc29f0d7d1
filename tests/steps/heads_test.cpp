#include "attn/steps/heads.hpp"

#include "tests/steps/twins.hpp"

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

    TEST_CASE("repeated heads stand side by side, as repeat_interleave puts them") {
        const attn::Array<double> heads = [] {
            attn::Array<double> array = empty_array<double>({2, 2, 1, 2});
            for (std::size_t i = 0; i < 8; ++i) array.data()[i] = static_cast<double>(i);
            return array;
        }();
        FOR_BOTH_TWINS(repeat_heads) {
            const attn::Array<double> repeated = repeat_heads(heads, 2);
            CHECK(shape_of(repeated) == Shape{2, 4, 1, 2});
            check_cells(repeated, {0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7});
            CHECK(repeat_heads(heads, 1) == heads);
            CHECK_THROWS_AS(repeat_heads(Matrix{{1, 2}}, 2), ShapeError);
        }
    }
}

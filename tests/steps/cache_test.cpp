#include "attn/steps/cache.hpp"

#include "tests/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: cache") {
    TEST_CASE("new rows stand behind the earlier ones, in each head") {
        Array<double> past = empty_array<double>({2, 1, 2});
        Array<double> added = empty_array<double>({2, 2, 2});
        for (std::size_t i = 0; i < past.size(); ++i) past.data()[i] = static_cast<double>(i);
        for (std::size_t i = 0; i < added.size(); ++i) {
            added.data()[i] = 10 + static_cast<double>(i);
        }
        FOR_BOTH_TWINS(append_tokens) {
            const Array<double> both = append_tokens(past, added);
            CHECK(shape_of(both) == Shape{2, 3, 2});
            check_cells(both, {0, 1, 10, 11, 12, 13, 2, 3, 14, 15, 16, 17});
            CHECK_THROWS_AS(append_tokens(past, Matrix{{1, 2}}), ShapeError);
            CHECK_THROWS_AS(append_tokens(Matrix{{1, 2, 3}}, Matrix{{1, 2}}), ShapeError);
        }
    }
}

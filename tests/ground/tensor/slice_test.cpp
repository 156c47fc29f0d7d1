#include <doctest/doctest.h>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"

using namespace attn;

namespace {

/// 0, 1, 2, ... in shape (2, 3, 4).
Tensor counting() {
    Array<std::int64_t> array = empty_array<std::int64_t>({2, 3, 4});
    for (std::size_t i = 0; i < 24; ++i) array.data()[i] = static_cast<std::int64_t>(i);
    return {{"batch", "query", "key"}, array};
}

}  // namespace

TEST_SUITE("slice") {
    TEST_CASE("a number selects one index and drops its axis") {
        const Tensor part = slice(counting(), "1,2");
        CHECK(part.described() == "key 4");
        CHECK(part.at(0) == 20);
        CHECK(slice(counting(), "-1,-1,-1").at(0) == 23);
        CHECK(slice(counting(), "0,0,0").dimension() == 0);
    }
    TEST_CASE("a range keeps its axis and may reach beyond it, as in Python") {
        const Tensor part = slice(counting(), "0,:,1:3");
        CHECK(part.described() == "query 3 x key 2");
        CHECK(part.at(5) == 10);
        CHECK(slice(counting(), ":,:,2:99").extent("key") == 2);
        CHECK(slice(counting(), ":,3:1").extent("query") == 0);
    }
    TEST_CASE("steps and dots work as in Python") {
        CHECK(slice(counting(), "...,0").described() == "batch 2 x query 3");
        const Tensor reversed = slice(counting(), "0,0,::-1");
        CHECK(reversed.at(0) == 3);
        CHECK(reversed.at(3) == 0);
        CHECK(slice(counting(), "0,0,3:0:-2").extent("key") == 2);
    }
    TEST_CASE("an invalid index is refused with the reason") {
        CHECK_THROWS_AS(slice(counting(), "2"), ShapeError);
        CHECK_THROWS_AS(slice(counting(), "0,0,0,0"), ShapeError);
        CHECK_THROWS_AS(slice(counting(), "x"), ConfigError);
        CHECK_THROWS_AS(slice(counting(), ""), ConfigError);
        CHECK_THROWS_AS(slice(counting(), "::0"), ConfigError);
        CHECK_THROWS_AS(slice(counting(), "...,..."), ConfigError);
    }
}

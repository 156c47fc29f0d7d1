#include "attn/core/steps/arithmetic.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace attn;

namespace {

template <class T>
T dot(const std::vector<T>& x, const std::vector<T>& y, bool fma, bool single_chain) {
    Arithmetic arithmetic;
    arithmetic.fma = fma;
    arithmetic.single_chain = single_chain;
    return loop::dot<T>(arithmetic, x.size(), [&](std::size_t i) { return std::pair(x[i], y[i]); });
}

}  // namespace

TEST_SUITE("arithmetic") {
    TEST_CASE_TEMPLATE("a dot product of whole numbers is exact", T, float, double) {
        for (const bool fma : {false, true}) {
            for (const bool single_chain : {false, true}) {
                CHECK(dot<T>({}, {}, fma, single_chain) == 0);
                CHECK(dot<T>({3}, {-2}, fma, single_chain) == -6);
                CHECK(dot<T>({1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}, fma, single_chain) == 35);
            }
        }
    }
    TEST_CASE("even and odd positions are separate chains, and a last odd one comes after both") {
        // In float32, 2^24 + 1 rounds back to 2^24, so the order of additions shows.
        const float big = 16777216;
        const std::vector<float> ones(5, 1);
        // even: big + 1 + 1 (each lost), odd: 1 + 1; the last position is added to their sum.
        CHECK(dot<float>({big, 1, 1, 1, 1}, ones, false, false) == (big + 2.0F) + 1.0F);
        CHECK(dot<float>({big, 1, 1, 1, 1}, ones, false, true) == big);
        CHECK(dot<float>({1, big, 1, 1}, {1, 1, 1, 1}, false, false) == big + 2.0F);
    }
    TEST_CASE("with fma a product is not rounded before it is added") {
        const float x = 1 + 0x1p-12F;
        // x * x = 1 + 2^-11 + 2^-24, whose last bit float32 cannot hold.
        CHECK(dot<float>({1, x}, {-1, x}, false, true) == 0x1p-11F);
        CHECK(dot<float>({1, x}, {-1, x}, true, true) == 0x1p-11F + 0x1p-24F);
    }
}

#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "attn/show/render/plain_text.hpp"

using namespace attn;

TEST_SUITE("render: plain text") {
    TEST_CASE("a row is a line and its columns are aligned") {
        const Tensor tensor({"query", "key"}, Array<float>{{1, -0.5F}, {10, 2}});
        CHECK(plain_text(tensor) ==
              " 1.0000 -0.5000\n"
              "10.0000  2.0000");
    }

    TEST_CASE("infinities, nan and zeros are aligned too") {
        const float inf = std::numeric_limits<float>::infinity();
        const float nan = std::numeric_limits<float>::quiet_NaN();
        CHECK(plain_text(Tensor({"key"}, Array<float>{0, -inf, nan}), {.precision = 0}) ==
              "   0 -inf  nan");
        CHECK(plain_text(Tensor({"key"}, Array<float>{-0.0F, 1.5F})) == "-0.0000  1.5000");
    }

    TEST_CASE("exponents appear where PyTorch would show them") {
        CHECK(plain_text(Tensor({"key"}, Array<double>{1e-9, -1})) == " 1.0000e-09 -1.0000e+00");
        const PrintOptions fixed{.sci_mode = SciMode::off};
        CHECK(plain_text(Tensor({"key"}, Array<double>{1e-9, -1}), fixed) == " 0.0000 -1.0000");
    }

    TEST_CASE("integers are plain and bools are 1 and 0") {
        CHECK(plain_text(Tensor({"key"}, Array<std::int64_t>{5, -10})) == "  5 -10");
        CHECK(plain_text(Tensor({"key"}, Array<bool>{true, false})) == "1 0");
    }

    TEST_CASE("an empty line separates matrices, two separate blocks of matrices") {
        Array<std::int64_t> array = empty_array<std::int64_t>({2, 2, 2, 1});
        for (std::size_t i = 0; i < 8; ++i) array.data()[i] = static_cast<std::int64_t>(i);
        CHECK(plain_text(Tensor({"batch", "head", "query", "key"}, array)) ==
              "0\n1\n\n2\n3\n\n\n4\n5\n\n6\n7");
    }

    TEST_CASE("nothing is summarised or wrapped") {
        const Tensor tensor({"key"}, Array<std::int64_t>::filled({2000}, 1));
        CHECK(plain_text(tensor).size() == 3999);
        CHECK(plain_text(tensor).find('\n') == std::string::npos);
    }

    TEST_CASE("a scalar is one number, and an empty tensor is empty text") {
        CHECK(plain_text(Tensor({}, Array<float>(2.5F))) == "2.5000");
        CHECK(plain_text(Tensor({"query", "key"}, empty_array<float>({0, 3}))).empty());
    }
}

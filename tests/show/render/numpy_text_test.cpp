#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "attn/ground/tensor/error.hpp"
#include "attn/show/render/numpy_text.hpp"
#include "tests/show/render/tensors.hpp"

using namespace attn;

TEST_SUITE("render: numpy numbers") {
    TEST_CASE("points are aligned, and trailing zeros are left out") {
        CHECK(numpy_str(named(Array<double>{1, -20})) == "[  1. -20.]");
        CHECK(numpy_str(named(Array<double>{1, 2.25, 0.5})) == "[1.   2.25 0.5 ]");
        CHECK(numpy_str(named(Array<double>{0, 0})) == "[0. 0.]");
        CHECK(numpy_str(named(Array<double>{-0.0, 1})) == "[-0.  1.]");
    }

    TEST_CASE("nan and infinities widen the column before the point") {
        CHECK(numpy_str(named(Array<double>{0, inf})) == "[ 0. inf]");
        CHECK(numpy_str(named(Array<double>{0, -inf})) == "[  0. -inf]");
        CHECK(numpy_str(named(Array<double>{not_a_number, 0.25})) == "[ nan 0.25]");
        CHECK(numpy_str(named(Array<double>{inf, inf})) == "[inf inf]");
    }

    TEST_CASE("the exponent form starts at 1e8, below 1e-4 or above a ratio of 1000") {
        CHECK(numpy_str(named(Array<double>{1e8})) == "[1.e+08]");
        CHECK(numpy_str(named(Array<double>{99999999})) == "[99999999.]");
        CHECK(numpy_str(named(Array<double>{1, 1000})) == "[   1. 1000.]");
        CHECK(numpy_str(named(Array<double>{1, -1001})) == "[ 1.000e+00 -1.001e+03]");
        CHECK(numpy_str(named(Array<double>{1e-4})) == "[0.0001]");
        CHECK(numpy_str(named(Array<float>{1e-4F})) == "[1.e-04]");
        CHECK(numpy_str(named(Array<double>{1e-5, 1e100})) == "[1.e-005 1.e+100]");
    }

    TEST_CASE("a float32 shows the digits that identify a float32") {
        CHECK(numpy_str(named(Array<float>{0.1F})) == "[0.1]");
        CHECK(numpy_str(named(Array<double>{static_cast<double>(0.1F)})) == "[0.1]");
        CHECK(numpy_str(named(Array<double>{static_cast<double>(0.1F)}), {.precision = 10}) ==
              "[0.1000000015]");
        CHECK(numpy_str(named(Array<float>{0.1F}), {.precision = 10}) == "[0.1]");
    }

    TEST_CASE("a float16 shows the digits that identify a float16, and NumPy has no bfloat16") {
        const auto text = [](const Array<float>& numbers, DType type) {
            return numpy_str(cast(named(numbers), type));
        };
        CHECK(text({1000.5F, 0.1F}, DType::float16) == "[1.0005e+03 9.9976e-02]");
        CHECK(text({0.1F, 0.25F, 100}, DType::float16) == "[  0.1    0.25 100.  ]");
        CHECK(text({65504, 1}, DType::float16) == "[6.55e+04 1.00e+00]");
        CHECK(numpy_str(cast(Tensor({}, Array<double>(1.0 / 3.0)), DType::float16)) == "0.3333");
        CHECK(text({0.1F}, DType::bfloat16) == "[0.10009766]");
    }

    TEST_CASE("suppress leaves small numbers without an exponent but not large ones") {
        const PrintOptions suppress{.precision = 4, .sci_mode = SciMode::off};
        CHECK(numpy_str(named(Array<double>{1e-9, -1e-9, 1}), suppress) == "[ 0. -0.  1.]");
        CHECK(numpy_str(named(Array<double>{1e8}), suppress) == "[1.e+08]");
    }

    TEST_CASE("the exponent form can be requested, and an array of zeros keeps its form") {
        const PrintOptions exponents{.sci_mode = SciMode::on};
        CHECK(numpy_str(named(Array<double>{0.5, 0}), exponents) == "[5.e-01 0.e+00]");
        CHECK(numpy_str(named(Array<double>{0}), exponents) == "[0.]");
    }

    TEST_CASE("bools take five columns") {
        CHECK(numpy_str(named(Array<bool>{true, true})) == "[ True  True]");
    }

    TEST_CASE("an impossible precision is refused") {
        CHECK_THROWS_AS(numpy_str(counting(1), {.precision = -1}), ConfigError);
        CHECK_THROWS_AS(numpy_str(counting(1), {.precision = 1075}), ConfigError);
    }
}

TEST_SUITE("render: numpy layout") {
    TEST_CASE("a scalar is printed alone") {
        CHECK(numpy_str(Tensor({}, Array<double>(1e15))) == "1000000000000000.0");
        CHECK(numpy_str(Tensor({}, Array<float>(123456789.0F))) == "123456790.0");
    }

    TEST_CASE("an empty array is a pair of brackets") {
        CHECK(numpy_str(Tensor({"a", "b"}, empty_array<double>({0, 3}))) == "[]");
    }

    TEST_CASE("rows are indented below the first one") {
        const Tensor square = named(Array<std::int64_t>{{1, 2}, {3, 4}});
        CHECK(numpy_str(square) == "[[1 2]\n [3 4]]");
        const Tensor block = named(Array<std::int64_t>::filled({2, 1, 1}, 1));
        CHECK(numpy_str(block) == "[[[1]]\n\n [[1]]]");
    }

    TEST_CASE("a thousand elements are printed in full, one more is summarised") {
        CHECK(numpy_str(counting(1000)).find("...") == std::string::npos);
        CHECK(numpy_str(counting(1001)) == "[   0    1    2 ...  998  999 1000]");
        CHECK(numpy_str(counting(7), {.threshold = 6, .edgeitems = 0}) == "[... 6]");
        CHECK(numpy_str(counting(7), {.threshold = 6, .edgeitems = 4}) == "[0 1 2 3 4 5 6]");
    }

    TEST_CASE("a line keeps room for its closing brackets, and trailing spaces are left out") {
        // "[0 1 2]" has 7 columns, but each word must leave two columns of the line free.
        CHECK(numpy_str(counting(3), {.linewidth = 7}) == "[0 1 2]");
        CHECK(numpy_str(counting(3), {.linewidth = 6}) == "[0 1\n 2]");
        CHECK(numpy_str(named(Array<double>{0.25, 1, 3}), {.linewidth = 11}) == "[0.25 1.\n 3.  ]");
        CHECK(numpy_str(counting(2), {.linewidth = 0}) == "[0\n 1]");
    }

    TEST_CASE("a shape is a tuple") {
        CHECK(shape_text({4, 1}) == "(4, 1)");
        CHECK(shape_text({20}) == "(20,)");
        CHECK(shape_text({}) == "()");
    }
}

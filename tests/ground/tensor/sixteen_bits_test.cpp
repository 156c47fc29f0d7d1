// Compared with the results of PyTorch 1.13.
#include <cmath>

#include <doctest/doctest.h>

#include "attn/ground/tensor/sixteen_bits.hpp"

using namespace attn;

TEST_SUITE("tensor: 16 bits") {
    TEST_CASE("every number of a 16-bit type reads back to its own bits") {
        for (std::uint32_t i = 0; i < 0x10000; ++i) {
            const auto bits = static_cast<std::uint16_t>(i);
            const float half = half_to_float(bits), brain = brain_to_float(bits);
            if (!std::isnan(half)) CHECK_MESSAGE(float_to_half(half) == bits, i);
            if (!std::isnan(brain)) CHECK_MESSAGE(float_to_brain(brain) == bits, i);
        }
        CHECK(std::isnan(nearest(std::nanf(""), DType::float16)));
        CHECK(std::isnan(nearest(std::nanf(""), DType::bfloat16)));
    }

    TEST_CASE("the nearest number is taken, of two the even one") {
        const auto half = [](double x) { return nearest(static_cast<float>(x), DType::float16); };
        CHECK(half(2049) == 2048);
        CHECK(half(2051) == 2052);
        CHECK(half(65519) == 65504);
        CHECK(half(-65520) == -HUGE_VALF);
        CHECK(half(1e-5) == 1.0013580322265625e-05F);
        CHECK(half(2.9802322e-8) == 0);  // half of the least number
        CHECK(half(4.47034836e-8) == 5.960464477539063e-08F);
        CHECK(std::signbit(half(-1e-8)));
        const auto brain = [](double x) { return nearest(static_cast<float>(x), DType::bfloat16); };
        CHECK(brain(257) == 256);
        CHECK(brain(259) == 260);
        CHECK(brain(3.4e38) == HUGE_VALF);
        CHECK(brain(1e-40) == 9.183549615799121e-41F);
    }

    TEST_CASE("a tensor knows its type, and its cells are float32 numbers") {
        const Tensor third({"query"}, Array<double>{1.0 / 3.0});
        const Tensor half = cast(third, DType::float16);
        CHECK(half.dtype() == DType::float16);
        CHECK(half.as<float>()(0) == 0.333251953125F);
        CHECK(cast(third, DType::bfloat16).at(0) == 0.333984375);
        CHECK(cast(half, DType::bfloat16).at(0) == 0.333984375);
        CHECK(cast(half, DType::float64).dtype() == DType::float64);
        CHECK(cast(half, DType::float32).at(0) == 0.333251953125);
        CHECK_FALSE(same_numbers(half, cast(half, DType::float32)));
        CHECK(half.renamed({"key"}).dtype() == DType::float16);
    }
}

#include "attn/ground/text/number_text.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>

using attn::fixed_text;

namespace {

/// The C library's text, which glibc rounds correctly.
void check_as_printf(double value, int precision) {
    if (std::isnan(value)) return;  // its sign is not specified
    std::array<char, 1500> actual;
    std::snprintf(actual.data(), actual.size(), "%.*f", precision, value);
    const std::string correct = fixed_text(value, precision);
    // a check for each of a million numbers would take most of the time
    if (correct != actual.data()) {
        FAIL_CHECK(correct << " is not " << actual.data() << " with " << precision << " decimals");
    }
}

}  // namespace

TEST_SUITE("number_text") {
    TEST_CASE("ties on the exact binary value go to even") {
        CHECK(fixed_text(0.5, 0) == "0");
        CHECK(fixed_text(1.5, 0) == "2");
        CHECK(fixed_text(0.125, 2) == "0.12");
        CHECK(fixed_text(0.375, 2) == "0.38");
        CHECK(fixed_text(1.005, 2) == "1.00");  // the double is a little below
        CHECK(fixed_text(-0.0, 4) == "-0.0000");
        CHECK(fixed_text(-0.00001, 4) == "-0.0000");
        CHECK(fixed_text(0.99994, 4) == "0.9999");
        CHECK(fixed_text(0.99996, 4) == "1.0000");
    }

    TEST_CASE("random numbers of all sizes are rounded as in the C library") {
        std::mt19937_64 generator(7);
        std::uniform_real_distribution<double> exponent(-12, 18);
        std::uniform_real_distribution<double> mantissa(-1, 1);
        for (int i = 0; i < 100'000; ++i) {
            const double value = mantissa(generator) * std::pow(10, exponent(generator));
            check_as_printf(value, i % 12);
            check_as_printf(static_cast<double>(static_cast<float>(value)), i % 12);
            check_as_printf(std::bit_cast<double>(generator()), i % 12);
        }
    }

    TEST_CASE("numbers at a half and next to it are rounded as in the C library") {
        std::mt19937_64 generator(8);
        for (int i = 0; i < 100'000; ++i) {
            const int precision = i % 10;
            const double half =
                (static_cast<double>(generator() >> (20 + i % 40)) + 0.5) / std::pow(10, precision);
            constexpr double infinity = std::numeric_limits<double>::infinity();
            check_as_printf(half, precision);
            check_as_printf(std::nextafter(half, infinity), precision);
            check_as_printf(std::nextafter(half, -infinity), precision);
        }
    }

    TEST_CASE("a negative precision is six decimals, as in printf") {
        for (const int precision : {-1, -308}) check_as_printf(0.25, precision);
    }
}

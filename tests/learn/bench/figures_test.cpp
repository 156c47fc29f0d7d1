#include "attn/learn/bench/bench.hpp"

#include <doctest/doctest.h>

#include <cmath>

using attn::fitted_exponent;
using Points = std::vector<std::pair<double, double>>;

TEST_SUITE("bench: growth") {
    TEST_CASE("an exact power law gives its exponent back, whatever its factor") {
        for (const double exponent : {-1.0, 0.0, 0.5, 1.0, 2.0, 3.0}) {
            for (const double factor : {1e-9, 1.0, 7.0}) {
                Points points;
                for (const double x : {3.0, 64.0, 100.0, 1024.0}) {
                    points.emplace_back(x, factor * std::pow(x, exponent));
                }
                CAPTURE(exponent);
                CAPTURE(factor);
                CHECK(std::abs(fitted_exponent(points).value() - exponent) < 1e-12);
            }
        }
    }
    TEST_CASE("logarithms are fitted by least squares") {
        // At log2 x = 0, 1, 2 the logarithms 0, 3, 3 have the slope 3/2.
        CHECK(std::abs(fitted_exponent({{1, 1}, {2, 8}, {4, 8}}).value() - 1.5) < 1e-12);
        // The same x twice counts twice: the line passes through the mean of both.
        CHECK(std::abs(fitted_exponent({{1, 1}, {2, 2}, {2, 8}}).value() - 2) < 1e-12);
    }
    TEST_CASE("one length alone has no growth") {
        CHECK_FALSE(fitted_exponent({}).has_value());
        CHECK_FALSE(fitted_exponent({{64, 1}}).has_value());
        CHECK_FALSE(fitted_exponent({{7, 1}, {7, 2}, {7, 4}}).has_value());
    }
    TEST_CASE("the median is the middle, or the mean of the two in the middle") {
        CHECK(attn::median({3}) == 3);
        CHECK(attn::median({9, 1, 2}) == 2);
        CHECK(attn::median({9, 1, 2, 4}) == 3);
    }
    TEST_CASE("times and sizes have three digits and a unit") {
        CHECK(attn::time_text(3.14159e-9) == "3.14 ns");
        CHECK(attn::time_text(9.996e-7) == "1.00 us");
        CHECK(attn::time_text(0.01234) == "12.3 ms");
        CHECK(attn::time_text(123.4) == "123 s");
        CHECK(attn::bytes_text(12) == "12 B");
        CHECK(attn::bytes_text(4194304) == "4.19 MB");
        CHECK(attn::bytes_text(999600) == "1.00 MB");
    }
}

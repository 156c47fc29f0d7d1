// Shared by the tests of the steps: both implementations under one name, cells known on paper.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attn/ground/tensor/array.hpp"
#include "attn/ground/tensor/error.hpp"

/// Runs the statement after it for loop::step and vectorized::step, both under the name `step`.
#define FOR_BOTH_TWINS(step)                                                \
    for (const bool in_loops : {true, false})                               \
        if (const auto step =                                               \
                [in_loops](const auto&... arguments) {                      \
                    return in_loops ? attn::loop::step(arguments...)        \
                                    : attn::vectorized::step(arguments...); \
                };                                                          \
            true)

namespace steps_test {

using Matrix = attn::Array<double>;
inline const double inf = std::numeric_limits<double>::infinity();

inline void check_cells(const Matrix& array, const std::vector<double>& expected) {
    REQUIRE(array.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const bool same = array.data()[i] == doctest::Approx(expected[i]).epsilon(1e-14) ||
                          (std::isnan(array.data()[i]) && std::isnan(expected[i])) ||
                          array.data()[i] == expected[i];
        CHECK_MESSAGE(same, "cell " << i << ": " << array.data()[i] << " is not " << expected[i]);
    }
}

}  // namespace steps_test

#include "attn/steps/sinusoids.hpp"

#include "tests/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

namespace {

/// Both implementations under one name: the type of the result cannot be told from the arguments.
Matrix sinusoids(bool in_loops, const Array<std::int64_t>& positions, std::size_t features) {
    return in_loops ? loop::sinusoids<double>(positions, features)
                    : vectorized::sinusoids<double>(positions, features);
}

}  // namespace

TEST_SUITE("steps: position_embedding") {
    TEST_CASE("position 0 is 0, 1, 0, 1, ..., position 1 the sine and cosine of 1 and of 1/100") {
        for (const bool in_loops : {true, false}) {
            check_cells(sinusoids(in_loops, {0, 1}, 4),
                        {0, 1, 0, 1, std::sin(1), std::cos(1), std::sin(0.01), std::cos(0.01)});
        }
    }

    TEST_CASE("an odd width ends with a sine") {
        for (const bool in_loops : {true, false}) {
            check_cells(sinusoids(in_loops, {2}, 3),
                        {std::sin(2), std::cos(2), std::sin(2 * std::pow(10000, -2. / 3))});
            check_cells(sinusoids(in_loops, {2}, 1), {std::sin(2)});
        }
    }

    TEST_CASE("rows are equally long, and their products depend on the difference alone") {
        const Matrix rows = sinusoids(false, {0, 3, 7, 10, 14}, 6);
        const auto product = [&](std::size_t a, std::size_t b) {
            double sum = 0;
            for (std::size_t f = 0; f < 6; ++f) sum += rows(a, f) * rows(b, f);
            return sum;
        };
        for (std::size_t t = 0; t < 5; ++t) CHECK(product(t, t) == doctest::Approx(3));
        CHECK(product(0, 1) == doctest::Approx(product(2, 3)));  // 3 apart
        CHECK(product(1, 3) == doctest::Approx(product(2, 4)));  // 7 apart
    }

    TEST_CASE("the rows are added to every sequence") {
        Matrix x{1, 2, 3, 4, 5, 6, 7, 8};
        x.reshape({2, 2, 2});
        const Matrix rows{{10, 20}, {30, 40}};
        FOR_BOTH_TWINS(add_rows) check_cells(add_rows(x, rows), {11, 22, 33, 44, 15, 26, 37, 48});
    }
}

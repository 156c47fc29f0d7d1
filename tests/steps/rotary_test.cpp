#include "attn/steps/rotary.hpp"

#include <random>

#include "tests/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

namespace {

constexpr double quarter_turn = 1.5707963267948966;

Matrix random_rows(std::mt19937& random, std::size_t tokens, std::size_t features) {
    Matrix rows = empty_array<double>({tokens, features});
    std::normal_distribution<double> normal;
    for (double& number : rows) number = normal(random);
    return rows;
}

double dot(const Matrix& a, std::size_t row, const Matrix& b, std::size_t column) {
    double sum = 0;
    for (std::size_t f = 0; f < a.shape(1); ++f) sum += a(row, f) * b(column, f);
    return sum;
}

}  // namespace

TEST_SUITE("steps: rotary") {
    TEST_CASE("theta 10000 and four features turn by 1 and by 1/100") {
        for (const Matrix& frequencies : {loop::inverse_frequencies<double>(10000, 4),
                                          vectorized::inverse_frequencies<double>(10000, 4)}) {
            check_cells(frequencies, {1, 0.01});
        }
    }

    TEST_CASE("in float32 an inverse frequency is rounded three times, as PyTorch rounds it") {
        // theta 500000, 128 features: the exponent, its power, and the quotient, each in float32.
        const Array<float> frequencies = loop::inverse_frequencies<float>(500000, 128);
        const std::pair<std::size_t, float> known[]{{1, 8.146172166e-01F},
                                                    {7, 2.380538136e-01F},
                                                    {29, 2.616099082e-03F},
                                                    {63, 2.455140702e-06F}};
        for (const auto& [pair, frequency] : known) CHECK(frequencies(pair) == frequency);
        const Array<float> whole = vectorized::inverse_frequencies<float>(500000, 128);
        for (std::size_t i = 0; i < 64; ++i) {
            CHECK(whole(i) == doctest::Approx(frequencies(i)).epsilon(2e-7));
        }
    }

    TEST_CASE("an angle is a position times an inverse frequency") {
        FOR_BOTH_TWINS(angles) {
            check_cells(angles(Array<std::int64_t>{0, 3, 100}, Matrix{1, 0.5}),
                        {0, 0, 3, 1.5, 100, 50});
        }
    }

    TEST_CASE("a quarter turn takes (a, b) to (-b, a), in either pairing; other features stay") {
        const Matrix quarter{{quarter_turn, 0}};
        const Matrix x{{1, 2, 3, 4, 5}};
        FOR_BOTH_TWINS(rotate) {
            const Matrix cosines = loop::cosines(quarter, 1.);
            const Matrix sines = loop::sines(quarter, 1.);
            const Matrix half = rotate(x, cosines, sines, Pairing::half);
            const Matrix neighbours = rotate(x, cosines, sines, Pairing::interleaved);
            const std::vector<double> expected_half{-3, 2, 1, 4, 5};
            const std::vector<double> expected_neighbours{-2, 1, 3, 4, 5};
            for (std::size_t f = 0; f < 5; ++f) {
                CHECK(half(0, f) == doctest::Approx(expected_half[f]));
                CHECK(neighbours(0, f) == doctest::Approx(expected_neighbours[f]));
            }
        }
    }

    TEST_CASE("cosines and sines are multiplied by the attention factor") {
        FOR_BOTH_TWINS(cosines)
        check_cells(cosines(Matrix{{0, 2 * quarter_turn}}, 1.5), {1.5, -1.5});
        FOR_BOTH_TWINS(sines) check_cells(sines(Matrix{{0, quarter_turn}}, 1.5), {0, 1.5});
    }

    TEST_CASE("the twins agree to the bit, pairs keep their length, position 0 changes nothing") {
        std::mt19937 random(7);
        for (const std::size_t width : {2, 4, 6, 14}) {
            const Matrix x = random_rows(random, 7, width + 3);
            const Array<std::int64_t> positions{0, 1, 2, 7, 40, 999, 5};
            const Matrix angles =
                loop::angles(positions, loop::inverse_frequencies<double>(10000, width));
            const Matrix cosines = loop::cosines(angles, 1.);
            const Matrix sines = loop::sines(angles, 1.);
            for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
                const Matrix turned = loop::rotate(x, cosines, sines, pairing);
                CHECK(turned == vectorized::rotate(x, cosines, sines, pairing));
                for (std::size_t f = 0; f < width + 3; ++f) CHECK(turned(0, f) == x(0, f));
                for (std::size_t t = 0; t < 7; ++t) {
                    for (std::size_t i = 0; i < width / 2; ++i) {
                        const auto [a, b] = feature_pair(pairing, i, width);
                        CHECK(std::hypot(turned(t, a), turned(t, b)) ==
                              doctest::Approx(std::hypot(x(t, a), x(t, b))).epsilon(1e-14));
                    }
                }
            }
        }
    }

    TEST_CASE("the product of two turned rows depends on the difference of their positions") {
        std::mt19937 random(8);
        const Matrix query = random_rows(random, 5, 8);
        const Matrix key = random_rows(random, 5, 8);
        const Matrix frequencies = loop::inverse_frequencies<double>(10000, 8);
        const auto turned = [&](const Matrix& rows, const Array<std::int64_t>& positions,
                                Pairing pairing) {
            const Matrix angles = loop::angles(positions, frequencies);
            return loop::rotate(rows, loop::cosines(angles, 1.), loop::sines(angles, 1.), pairing);
        };
        for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
            const Matrix q = turned(query, {0, 1, 2, 3, 4}, pairing);
            const Matrix k = turned(key, {0, 1, 2, 3, 4}, pairing);
            const Matrix later_q = turned(query, {7, 8, 9, 10, 11}, pairing);
            const Matrix later_k = turned(key, {7, 8, 9, 10, 11}, pairing);
            for (std::size_t i = 0; i < 5; ++i) {
                CHECK(dot(q, i, k, i) == doctest::Approx(dot(query, i, key, i)).epsilon(1e-13));
                for (std::size_t j = 0; j < 5; ++j) {
                    CHECK(std::abs(dot(q, i, k, j) - dot(later_q, i, later_k, j)) < 1e-13);
                }
            }
        }
    }
}

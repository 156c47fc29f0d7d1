#include "attn/core/steps/softcap.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace attn;

namespace {

template <class T>
Array<T> random_scores(std::size_t columns, T spread) {
    std::mt19937 random(7);
    std::normal_distribution<T> normal(0, spread);
    Array<T> scores = empty_array<T>({2, 3, columns});
    for (std::size_t i = 0; i < scores.size(); ++i) scores.data()[i] = normal(random);
    return scores;
}

}  // namespace

TEST_SUITE("steps: softcap") {
    TEST_CASE("0 stays 0, cap * artanh(1/2) becomes half the cap, large scores the cap") {
        const double half = 4 * std::atanh(0.5);
        const Array<double> scores{{0.0, half, -half, 1e9, -HUGE_VAL}};
        for (const Array<double>& capped :
             {loop::soft_cap(scores, 4), vectorized::soft_cap(scores, 4)}) {
            CHECK(capped(0, 0) == 0);
            CHECK(capped(0, 1) == doctest::Approx(2).epsilon(1e-15));
            CHECK(capped(0, 2) == doctest::Approx(-2).epsilon(1e-15));
            CHECK(capped(0, 3) == 4);
            CHECK(capped(0, 4) == -4);
        }
    }
    TEST_CASE("nan stays nan, in short and long rows") {
        for (const std::size_t columns : {3U, 200U}) {
            Array<float> scores = random_scores<float>(columns, 1);
            scores.data()[1] = NAN;
            const Array<float> capped = vectorized::soft_cap(scores, 2);
            CHECK(std::isnan(capped.data()[1]));
            CHECK(std::isfinite(capped.data()[0]));
        }
    }
    TEST_CASE("the two functions agree to 2 ulp, for any length") {
        for (const std::size_t columns : {1U, 7U, 63U, 64U, 65U, 300U}) {
            for (const double cap : {0.01, 1.0, 50.0}) {
                const Array<float> scores = random_scores<float>(columns, 3.0F);
                const Array<float> one = loop::soft_cap(scores, cap);
                const Array<float> other = vectorized::soft_cap(scores, cap);
                for (std::size_t i = 0; i < scores.size(); ++i) {
                    const float a = one.data()[i];
                    CHECK(std::abs(a - other.data()[i]) <= 2.5e-7F * std::abs(a));
                }
                const Array<double> wide = random_scores<double>(columns, 3.0);
                const Array<double> first = loop::soft_cap(wide, cap);
                const Array<double> second = vectorized::soft_cap(wide, cap);
                for (std::size_t i = 0; i < wide.size(); ++i) {
                    const double a = first.data()[i];
                    CHECK(std::abs(a - second.data()[i]) <= 4.5e-16 * std::abs(a));
                }
            }
        }
    }
}

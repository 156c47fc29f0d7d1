#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "attn/render/shown.hpp"

using namespace attn;

namespace {

/// The survey of the values, one after another.
template <class T>
Survey one_by_one(const std::vector<T>& values) {
    Survey found;
    for (const T value : values) found.add(static_cast<double>(value));
    return found;
}

void check_equal(const Survey& a, const Survey& b) {
    for (const int sign : {0, 1}) {
        CHECK(a.least[sign] == b.least[sign]);
        CHECK(a.greatest[sign] == b.greatest[sign]);
    }
    CHECK(a.whole == b.whole);
    CHECK(a.zero == b.zero);
    CHECK(a.negative_zero == b.negative_zero);
    CHECK(a.not_a_number == b.not_a_number);
    CHECK(a.infinity == b.infinity);
    CHECK(a.negative_infinity == b.negative_infinity);
}

}  // namespace

TEST_SUITE("survey") {
    TEST_CASE_TEMPLATE("whole blocks are surveyed as value after value is", T, float, double) {
        using Limits = std::numeric_limits<T>;
        std::mt19937 generator(1);
        std::normal_distribution<double> normal;
        using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        const std::vector<T> special{T(0),
                                     -Limits::infinity(),
                                     T(-0.0),
                                     Limits::infinity(),
                                     Limits::quiet_NaN(),
                                     Limits::denorm_min(),
                                     -Limits::max(),
                                     T(3),
                                     T(-1e-30),
                                     T(1e30),
                                     std::bit_cast<T>(~Bits{0})};
        for (int round = 0; round < 3000; ++round) {
            std::vector<T> values(generator() % 400);
            for (T& value : values) value = static_cast<T>(normal(generator));
            // Some of them, beginning anywhere, so that each is also the only one.
            const std::size_t kinds = generator() % special.size();
            const std::size_t first = generator();
            const std::size_t often = 1 + generator() % 200;
            for (T& value : values) {
                if (kinds == 0 || generator() % often != 0) continue;
                value = special[(first + generator() % kinds) % special.size()];
            }
            if (round % 5 == 0) {
                for (T& value : values) value = std::trunc(value);
            }
            CAPTURE(round);
            const Shown shown(Shape{values.size()});
            check_equal(survey(values.data(), shown), one_by_one(values));
        }
    }
}

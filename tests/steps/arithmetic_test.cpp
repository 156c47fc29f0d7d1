#include "attn/steps/arithmetic.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

using namespace attn;
using loop::Vectors;

namespace {

/// One dot product as the words of dots() say it.
template <class T>
T dot(const Vectors<T>& a, std::size_t row, const Vectors<T>& b, std::size_t column,
      const Arithmetic& arithmetic) {
    const auto added = [&](T sum, std::size_t i) {
        const T x = a.at(row, i);
        const T y = b.at(column, i);
        return arithmetic.fused ? std::fma(x, y, sum) : sum + x * y;
    };
    T even = 0;
    T odd = 0;
    const std::size_t last = arithmetic.one_chain ? 0 : a.count / 2 * 2;
    for (std::size_t i = 0; i < last; i += 2) {
        even = added(even, i);
        odd = added(odd, i + 1);
    }
    T sum = even + odd;
    for (std::size_t i = last; i < a.count; ++i) sum = added(sum, i);
    return sum;
}

template <class T>
std::vector<T> drawn(std::mt19937& generator, std::size_t count) {
    std::normal_distribution<double> normal;
    std::vector<T> numbers(count);
    for (T& number : numbers) number = static_cast<T>(normal(generator));
    return numbers;
}

template <class T>
bool same_bits(T a, T b) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

}  // namespace

TEST_SUITE("arithmetic") {
    TEST_CASE_TEMPLATE("each dot product is its own chain, bit for bit, however many there are", T,
                       float, double) {
        std::mt19937 generator(1);
        for (const std::size_t count : {0, 1, 2, 3, 8, 33, 100}) {
            for (const std::size_t others : {0, 1, 5, 31, 32, 33, 70}) {
                const std::vector<T> left = drawn<T>(generator, 3 * count);
                const std::vector<T> right = drawn<T>(generator, others * count);
                const Vectors<T> a = loop::rows_of(left.data(), 3, count);
                for (const bool by_row : {true, false}) {
                    const Vectors<T> b = by_row ? loop::rows_of(right.data(), others, count)
                                                : loop::columns_of(right.data(), count, others);
                    for (const bool fused : {true, false}) {
                        for (const bool one_chain : {true, false}) {
                            Arithmetic arithmetic;
                            arithmetic.fused = fused;
                            arithmetic.one_chain = one_chain;
                            std::vector<T> results(3 * others, T(7));
                            loop::dots(a, b, arithmetic, results.data());
                            std::size_t wrong = 0;
                            for (std::size_t i = 0; i < results.size(); ++i) {
                                const T right_one = dot(a, i / others, b, i % others, arithmetic);
                                wrong += !same_bits(results[i], right_one);
                            }
                            CAPTURE(count);
                            CAPTURE(others);
                            CAPTURE(by_row);
                            CAPTURE(fused);
                            CAPTURE(one_chain);
                            CHECK(wrong == 0);
                        }
                    }
                }
            }
        }
    }

    TEST_CASE("what is no number stays with its own dot product") {
        const float infinity = std::numeric_limits<float>::infinity();
        const std::vector<float> left{infinity, 1.0F};
        const std::vector<float> right{0.0F, 1.0F, 1.0F, 1.0F};
        const Vectors<float> a = loop::rows_of(left.data(), 1, 2);
        const Vectors<float> b = loop::rows_of(right.data(), 2, 2);
        std::vector<float> results(2);
        loop::dots(a, b, Arithmetic{}, results.data());
        CHECK(std::isnan(results[0]));
        CHECK(results[1] == infinity);
    }
}

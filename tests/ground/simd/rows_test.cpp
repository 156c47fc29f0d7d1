// The operations on rows, for every instruction set of this processor, and the choice between them.
#include "attn/ground/simd/kernels.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace attn;

namespace {

template <class Real>
constexpr Real infinity = std::numeric_limits<Real>::infinity();

/// The distance from the exact exponential in units in the last place.
template <class Real>
double error_in_units(Real got, Real x) {
    const long double exact = std::exp(static_cast<long double>(x));
    const Real rounded = static_cast<Real>(exact);
    const long double unit = std::nextafter(rounded, infinity<Real>) - rounded;
    return static_cast<double>(std::abs((static_cast<long double>(got) - exact) / unit));
}

template <class Real>
void check_exponentials(InstructionSet instruction_set) {
    const RowOperations<Real> rows = simd::kernels_for(instruction_set).of<Real>().rows;
    const Real lowest = sizeof(Real) == sizeof(float) ? Real(-87.3) : Real(-708.3);
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(lowest, 0);
    std::vector<Real> x(20000), result(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<Real>(i % 2 == 0 ? uniform(random) : uniform(random) / 40);
    }
    rows.exponentials(x.data(), Real(0), result.data(), x.size());
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        worst = std::max(worst, error_in_units(result[i], x[i]));
    }
    CHECK(worst <= 1.5);
    CHECK(worst > 0.4);
}

template <class Real>
void check_ends(InstructionSet instruction_set) {
    const RowOperations<Real> rows = simd::kernels_for(instruction_set).of<Real>().rows;
    const Real nan = std::numeric_limits<Real>::quiet_NaN();
    // Every length, so that both whole and padded groups contain the special numbers.
    for (std::size_t length = 1; length <= 150; ++length) {
        std::vector<Real> row(length, Real(-1)), result(length);
        row[length - 1] = -infinity<Real>;
        row[length / 2] = Real(2);
        rows.exponentials(row.data(), rows.maximum(row.data(), length), result.data(), length);
        REQUIRE(rows.maximum(row.data(), length) == Real(2));
        REQUIRE(result[length / 2] == Real(1));
        if (length > 2) REQUIRE(result[length - 1] == Real(0));
        row.assign(length, -infinity<Real>);
        REQUIRE(rows.maximum(row.data(), length) == -infinity<Real>);
        rows.exponentials(row.data(), -infinity<Real>, result.data(), length);
        REQUIRE(std::isnan(result[length - 1]));
        row[length / 3] = nan;
        REQUIRE(std::isnan(rows.maximum(row.data(), length)));
        row.assign(length, Real(0.5));
        REQUIRE(rows.sum(row.data(), length) == Real(length) / 2);
    }
    CHECK(rows.maximum(nullptr, 0) == -infinity<Real>);
    CHECK(rows.sum(nullptr, 0) == Real(0));
    for (std::size_t length = 0; length < 100; ++length) {
        const std::vector<Real> row(length, Real(1) + std::numeric_limits<Real>::epsilon());
        std::vector<Real> result(length, Real(-1));
        rows.add_exact_multiple(row.data(), row.empty() ? 0 : row[0], result.data(), length);
        for (const Real number : result) REQUIRE(number == std::fma(row[0], row[0], Real(-1)));
    }
}

/// Numbers whose product and sum a second rounding would change: of every size, with few bits, and
/// with sums that nearly cancel.
template <class Real>
void check_exact_multiples(InstructionSet instruction_set) {
    const RowOperations<Real> rows = simd::kernels_for(instruction_set).of<Real>().rows;
    std::mt19937_64 random(5);
    const auto number = [&](int range) {
        const auto bits = static_cast<std::int64_t>(random() << (random() % 60));
        const int power = static_cast<int>(random() % static_cast<unsigned>(2 * range + 1));
        return std::ldexp(static_cast<Real>(bits) * Real(0x1p-63), power - range);
    };
    std::size_t wrong = 0;
    for (int turn = 0; turn < 20000; ++turn) {
        std::vector<Real> row(9), sums(9), right(9);
        const int range = std::array{3, 40, 1200}[static_cast<std::size_t>(turn % 3)];
        const Real factor = turn % 50 == 0 ? Real(0) : number(range);
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = number(range);
            sums[i] = number(turn % 2 == 0 ? range : 80);
            if (i % 4 == 1) sums[i] = std::nextafter(-row[i] * factor, sums[i]);
            right[i] = std::fma(row[i], factor, sums[i]);
        }
        rows.add_exact_multiple(row.data(), factor, sums.data(), row.size());
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool is_same =
                sums[i] == right[i] && std::signbit(sums[i]) == std::signbit(right[i]);
            wrong += !is_same && !(std::isnan(sums[i]) && std::isnan(right[i]));
        }
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_SUITE("rows") {
    TEST_CASE("vectorized exponentials are within 1.5 ulp") {
        for (const InstructionSet instruction_set : available_instruction_sets()) {
            INFO(std::string(instruction_set_name(instruction_set)));
            check_exponentials<float>(instruction_set);
            check_exponentials<double>(instruction_set);
        }
    }

    TEST_CASE("-inf, nan and rows of any length are treated as in a loop") {
        for (const InstructionSet instruction_set : available_instruction_sets()) {
            INFO(std::string(instruction_set_name(instruction_set)));
            check_ends<float>(instruction_set);
            check_ends<double>(instruction_set);
        }
    }

    TEST_CASE("fused multiply-add is the C library's fma, bit for bit") {
        for (const InstructionSet instruction_set : available_instruction_sets()) {
            INFO(std::string(instruction_set_name(instruction_set)));
            check_exact_multiples<float>(instruction_set);
            check_exact_multiples<double>(instruction_set);
        }
    }

    TEST_CASE(
        "zeros after a row change no bit of its sum, and hidden cells none of its exponentials") {
        std::mt19937 random(2);
        std::uniform_real_distribution<float> uniform(-5, 0);
        for (const InstructionSet instruction_set : available_instruction_sets()) {
            const RowOperations<float> rows = simd::kernels_for(instruction_set).of<float>().rows;
            for (std::size_t visible = 1; visible < 200; ++visible) {
                std::vector<float> row(200, -infinity<float>), whole(200), part(visible);
                for (std::size_t i = 0; i < visible; ++i) row[i] = uniform(random);
                rows.exponentials(row.data(), 0, whole.data(), row.size());
                rows.exponentials(row.data(), 0, part.data(), visible);
                REQUIRE(std::equal(part.begin(), part.end(), whole.begin()));
                REQUIRE(rows.sum(whole.data(), 200) == rows.sum(part.data(), visible));
            }
        }
    }
}

TEST_SUITE("instruction sets") {
    TEST_CASE("the widest instruction set is chosen, unless another is requested") {
        const std::vector<InstructionSet> available = available_instruction_sets();
        CHECK(&simd::kernels_for() == &simd::kernels_for(available.back()));
        for (const InstructionSet set : available) {
            CHECK((&simd::kernels_for(set) == &simd::kernels_for()) == (set == available.back()));
        }
    }

    TEST_CASE("the draws of PyTorch are the same on each of them, bit for bit") {
        std::mt19937 random(3);
        std::vector<float> uniform(160), normals, scaled;
        for (float& number : uniform) number = static_cast<float>(random() >> 8) * 0x1p-24F;
        for (const InstructionSet set : available_instruction_sets()) {
            INFO(std::string(instruction_set_name(set)));
            const simd::Kernels& kernels = simd::kernels_for(set);
            std::vector<float> numbers = uniform, products(160);
            kernels.normal_blocks(numbers.data(), numbers.size());
            kernels.float32.rows.multiply_add(uniform.data(), 0.3F, -0.1F, products.data(), 160);
            if (normals.empty()) normals = numbers, scaled = products;
            CHECK(numbers == normals);
            CHECK(products == scaled);
            CHECK(products[7] == std::fma(uniform[7], 0.3F, -0.1F));
        }
    }
}

#include "attn/core/steps/rope_scaling.hpp"
#include "attn/core/settings/settings.hpp"

#include "tests/core/steps/twins.hpp"
#include "tests/support/walked.hpp"

using namespace attn;
using namespace steps_test;
using attn::testing::walked;
using Kind = RopeScaling::Kind;

namespace {

RopeScaling yarn(double factor, double length) {
    RopeScaling scaling;
    scaling.kind = Kind::yarn;
    scaling.factor = factor;
    scaling.length = length;
    return scaling;
}

/// The frequencies of a walk with heads of `width` features.
Matrix frequencies_of(const std::optional<RopeScaling>& scaling, double theta, std::size_t width,
                      std::int64_t tokens = 1) {
    WalkConfig config = configured("dtype float64, seq-len 1");
    config.embed_dim = static_cast<std::int64_t>(width);
    config.positions = {tokens - 1};
    config.rotary = {Pairing::half, theta, {}, scaling};
    return walked(config)["inverse_frequencies"].as<double>();
}

Matrix scaled(const RopeScaling& scaling, double theta, std::size_t width,
              std::int64_t tokens = 1) {
    return frequencies_of(scaling, theta, width, tokens);
}

void check_known(const Matrix& frequencies,
                 const std::vector<std::pair<std::size_t, double>>& known) {
    for (const auto& [pair, frequency] : known) {
        CHECK(frequencies(pair) == doctest::Approx(frequency).epsilon(5e-7));
    }
}

}  // namespace

TEST_SUITE("steps: rope scaling") {
    TEST_CASE("linear divides every frequency by the factor") {
        RopeScaling scaling;
        scaling.factor = 4;
        check_cells(scaled(scaling, 10000, 4), {0.25, 0.0025});
    }

    TEST_CASE("Llama 3.1: fast pairs stay, slow ones are divided by 8, six are in between") {
        RopeScaling scaling;
        scaling.kind = Kind::llama3;
        scaling.factor = 8;
        scaling.length = 8192;
        const Matrix plain = frequencies_of({}, 500000, 128);
        const Matrix frequencies = scaled(scaling, 500000, 128);
        for (std::size_t i = 0; i <= 28; ++i) CHECK(frequencies(i) == plain(i));
        for (std::size_t i = 35; i < 64; ++i) CHECK(frequencies(i) == plain(i) / 8);
        check_known(frequencies, {{29, 2.166571e-03},
                                  {30, 1.371894e-03},
                                  {34, 1.785078e-04},
                                  {35, 9.556212e-05},
                                  {63, 3.068926e-07}});
        CHECK(scaling.cosine_factor() == 1);
    }

    TEST_CASE("gpt-oss: yarn between fractional pairs, and between integer ones") {
        RopeScaling scaling = yarn(32, 4096);
        scaling.truncate = false;
        const auto [first, last] = scaling.ramp(150000, 64);
        CHECK(first == doctest::Approx(8.092779115512402).epsilon(1e-14));
        CHECK(last == doctest::Approx(17.39802450158856).epsilon(1e-14));
        check_known(scaled(scaling, 150000, 64),
                    {{9, 3.170570e-02}, {12, 6.794959e-03}, {17, 1.293187e-04}});
        CHECK(scaling.cosine_factor() == doctest::Approx(1.3465735903).epsilon(1e-10));
        scaling.truncate = true;
        CHECK(scaling.ramp(150000, 64) == std::pair(8.0, 18.0));
        check_known(scaled(scaling, 150000, 64),
                    {{9, 3.162075e-02}, {12, 7.015714e-03}, {17, 2.279478e-04}});
    }

    TEST_CASE("DeepSeek-V3: yarn with two magnitudes that cancel") {
        RopeScaling scaling = yarn(40, 4096);
        CHECK(scaling.ramp(10000, 64) == std::pair(10.0, 23.0));
        check_known(scaled(scaling, 10000, 64), {{15, 8.334509e-03}, {31, 3.333804e-06}});
        scaling.mscale = scaling.mscale_all_dim = 1;
        CHECK(scaling.cosine_factor() == 1);
        scaling.attention_factor = 1.25;
        CHECK(scaling.cosine_factor() == 1.25);
        CHECK(scaling.score_factor() == doctest::Approx(1.87385).epsilon(1e-5));
    }

    TEST_CASE("dynamic uses another base for inputs longer than the training length") {
        RopeScaling scaling;
        scaling.kind = Kind::dynamic;
        scaling.factor = 4;
        scaling.length = 8;
        CHECK(scaling.scaled_theta(10000, 128, 8) == 10000);
        CHECK(scaling.scaled_theta(10000, 128, 3) == 10000);
        // 4 * 14 / 8 - 3 = 4: the base that makes the slowest pair four times slower
        CHECK(scaling.scaled_theta(10000, 128, 14) == doctest::Approx(40889.942).epsilon(1e-7));
        check_cells(scaled(scaling, 10000, 4), {1, 0.01});
    }

    TEST_CASE("Phi-3: a divisor for each pair, from the long list beyond the training length") {
        RopeScaling scaling;
        scaling.kind = Kind::longrope;
        scaling.factor = 32;
        scaling.length = 4096;
        scaling.short_factors = {1, 1.25};
        scaling.long_factors = {2, 40};
        check_cells(scaled(scaling, 10000, 4, 4096), {1, 0.008});
        check_cells(scaled(scaling, 10000, 4, 4097), {0.5, 0.00025});
        CHECK(scaling.cosine_factor() == doctest::Approx(1.1902380714).epsilon(1e-10));
        scaling.factor = 1;
        CHECK(scaling.cosine_factor() == 1);
    }

    TEST_CASE("a ramp that would be empty has a width of 1/1000") {
        RopeScaling scaling = yarn(2, 4);
        scaling.beta_fast = scaling.beta_slow = 1;
        const auto [first, last] = scaling.ramp(10000, 4);
        CHECK(last > first);
        scaled(scaling, 10000, 4);
    }
}

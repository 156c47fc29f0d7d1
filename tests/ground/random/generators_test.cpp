#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "attn/ground/random/mersenne_twister.hpp"
#include "attn/ground/random/numpy_generator.hpp"
#include "attn/ground/random/torch_generator.hpp"
#include "attn/ground/tensor/error.hpp"

using namespace attn;

namespace {

constexpr std::array all_rngs{Rng::torch, Rng::numpy, Rng::numpy_pcg64};
constexpr std::array awkward_sizes{1, 2, 3, 7, 15, 16, 17, 33, 1000};

template <class T>
std::vector<T> rand(Generator& generator, std::size_t size) {
    std::vector<T> drawn(size);
    generator.rand(std::span<T>(drawn));
    return drawn;
}

template <class T>
std::vector<T> randn(Generator& generator, std::size_t size) {
    std::vector<T> drawn(size);
    generator.randn(std::span<T>(drawn));
    return drawn;
}

template <class T>
std::vector<T> uniform(Generator& generator, std::size_t size, double low, double high) {
    std::vector<T> drawn(size);
    generator.uniform(std::span<T>(drawn), low, high);
    return drawn;
}

}  // namespace

TEST_SUITE("random: every generator") {
    TEST_CASE("the same seed gives the same numbers, another seed gives others") {
        for (const Rng rng : all_rngs) {
            for (const int size : awkward_sizes) {
                CAPTURE(size);
                const auto n = static_cast<std::size_t>(size);
                const auto once = make_generator(rng, 7);
                const auto again = make_generator(rng, 7);
                const auto other = make_generator(rng, 8);
                const std::vector<float> drawn = randn<float>(*once, n);
                CHECK(drawn == randn<float>(*again, n));
                CHECK(drawn != randn<float>(*other, n));
            }
        }
    }

    TEST_CASE("rand is in [0, 1), and uniform between its limits") {
        for (const Rng rng : all_rngs) {
            for (std::uint64_t seed = 0; seed < 20; ++seed) {
                const auto generator = make_generator(rng, seed);
                for (const double u : rand<double>(*generator, 500)) CHECK((u >= 0.0 && u < 1.0));
                for (const double u : uniform<double>(*generator, 500, -3.0, -2.5)) {
                    CHECK((u >= -3.0 && u < -2.5));
                }
            }
        }
    }

    TEST_CASE("PyTorch's float32 rand stays below 1 too") {
        TorchGenerator generator(3);
        for (const float u : rand<float>(generator, 100000)) CHECK((u >= 0.0F && u < 1.0F));
    }

    TEST_CASE("normals have mean 0 and variance 1") {
        constexpr std::size_t size = 100000;
        for (const Rng rng : all_rngs) {
            const auto generator = make_generator(rng, 11);
            const std::vector<double> drawn = randn<double>(*generator, size);
            const double mean = std::reduce(drawn.begin(), drawn.end()) / size;
            const double square =
                std::inner_product(drawn.begin(), drawn.end(), drawn.begin(), 0.0) / size;
            // Five standard errors: 1/sqrt(n) for the mean, sqrt(2/n) for the variance.
            CHECK(std::abs(mean) < 5.0 / std::sqrt(size));
            CHECK(std::abs(square - 1.0) < 5.0 * std::sqrt(2.0 / size));
        }
    }

    TEST_CASE("an empty span draws nothing") {
        for (const Rng rng : all_rngs) {
            const auto generator = make_generator(rng, 5);
            const auto untouched = make_generator(rng, 5);
            rand<float>(*generator, 0);
            randn<double>(*generator, 0);
            uniform<float>(*generator, 0, 1.0, 2.0);
            CHECK(randn<double>(*generator, 20) == randn<double>(*untouched, 20));
        }
    }

    TEST_CASE("NumPy's float32 numbers are its float64 numbers, rounded") {
        for (const Rng rng : {Rng::numpy, Rng::numpy_pcg64}) {
            const auto narrow = make_generator(rng, 21);
            const auto wide = make_generator(rng, 21);
            const auto check = [](const std::vector<float>& rounded,
                                  const std::vector<double>& full) {
                REQUIRE(rounded.size() == full.size());
                for (std::size_t i = 0; i < full.size(); ++i) {
                    CHECK(rounded[i] == static_cast<float>(full[i]));
                }
            };
            check(rand<float>(*narrow, 9), rand<double>(*wide, 9));
            check(randn<float>(*narrow, 9), randn<double>(*wide, 9));
            check(uniform<float>(*narrow, 9, -1.0, 3.0), uniform<double>(*wide, 9, -1.0, 3.0));
        }
    }
}

TEST_SUITE("random: seeds") {
    TEST_CASE("PyTorch's seeds count modulo 2^32") {
        const std::vector<float> expected = rand<float>(*make_generator(Rng::torch, 42), 8);
        for (const std::uint64_t multiple : {1ULL, 2ULL, 0x80000000ULL, 0xFFFFFFFFULL}) {
            const auto generator = make_generator(Rng::torch, 42 + (multiple << 32));
            CHECK(rand<float>(*generator, 8) == expected);
        }
        const auto negative = make_generator(Rng::torch, static_cast<std::uint64_t>(-1));
        CHECK(rand<float>(*negative, 8) == rand<float>(*make_generator(Rng::torch, 0xFFFFFFFF), 8));
    }

    TEST_CASE("NumPy's legacy generator refuses a seed beyond 32 bits, and a negative one") {
        CHECK_NOTHROW(make_generator(Rng::numpy, 0xFFFFFFFF));
        try {
            make_generator(Rng::numpy, 0x100000000);
            FAIL("not refused");
        } catch (const ConfigError& error) {
            const std::string message = error.what();
            CHECK(message.find("seed 4294967296 ") != std::string::npos);
            CHECK(message.find("0 to 4294967295") != std::string::npos);
        }
        try {
            make_generator(Rng::numpy, static_cast<std::uint64_t>(-7));
            FAIL("not refused");
        } catch (const ConfigError& error) {
            CHECK(std::string(error.what()).find("-7") != std::string::npos);
        }
    }

    TEST_CASE("default_rng accepts seeds longer than 32 bits") {
        const auto low = make_generator(Rng::numpy_pcg64, 42);
        const auto high = make_generator(Rng::numpy_pcg64, 42 + (std::uint64_t{1} << 32));
        CHECK(rand<double>(*low, 4) != rand<double>(*high, 4));
    }

    TEST_CASE("default_rng reads a seed of one word without leading zeros") {
        const std::array<std::uint32_t, 1> word{42};
        NumpyPcg64Generator from_word{std::span<const std::uint32_t>(word)};
        const auto from_number = make_generator(Rng::numpy_pcg64, 42);
        CHECK(rand<double>(*from_number, 4) == rand<double>(from_word, 4));
    }

    TEST_CASE("the twister draws the numbers of the C++ library's") {
        for (const std::uint32_t seed : {0U, 1U, 5489U, 0xFFFFFFFFU}) {
            MersenneTwister correct(seed);
            std::mt19937 engine(seed);
            std::size_t different = 0;
            for (int i = 0; i < 10'000; ++i) different += correct() != engine();
            CHECK(different == 0);
        }
    }
}

TEST_SUITE("random: PyTorch") {
    TEST_CASE("the first numbers of seed 0 are the well-known ones of PyTorch") {
        TorchGenerator generator(0);
        CHECK(randn<float>(generator, 3) ==
              std::vector<float>{1.54099607F, -0.293428898F, -2.17878938F});
    }

    TEST_CASE("the kept half of a pair of small normals outlives every other draw") {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            TorchGenerator pair(seed);
            const double kept = randn<double>(pair, 2)[1];
            TorchGenerator generator(seed);
            randn<float>(generator, 1);
            rand<float>(generator, 5);
            randn<float>(generator, 16);
            randn<double>(generator, 17);
            CHECK(randn<double>(generator, 1)[0] == kept);
        }
    }

    TEST_CASE("small normals are computed in double whatever the type") {
        for (const std::size_t size : {1U, 2U, 3U, 7U, 15U}) {
            TorchGenerator narrow(9);
            TorchGenerator wide(9);
            const std::vector<float> rounded = randn<float>(narrow, size);
            const std::vector<double> full = randn<double>(wide, size);
            for (std::size_t i = 0; i < size; ++i) CHECK(rounded[i] == static_cast<float>(full[i]));
        }
    }

    TEST_CASE("a tensor whose size is no multiple of sixteen redraws its last sixteen") {
        for (const std::size_t size : {17U, 18U, 31U, 33U, 47U}) {
            CAPTURE(size);
            TorchGenerator generator(4);
            const std::vector<float> drawn = randn<float>(generator, size);
            TorchGenerator longer_generator(4);
            const std::vector<float> longer = randn<float>(longer_generator, 48);
            // The blocks before the last sixteen numbers are as in any longer tensor; these sixteen
            // are not.
            const auto tail = drawn.end() - 16;
            CHECK(std::equal(drawn.begin(), tail, longer.begin()));
            CHECK(!std::equal(tail, drawn.end(), longer.begin() + (tail - drawn.begin())));
            // They are the sixteen normals drawn after `size` uniforms, and use sixteen words more.
            TorchGenerator skipping(4);
            rand<float>(skipping, size);
            CHECK(randn<float>(skipping, 16) == std::vector<float>(tail, drawn.end()));
            CHECK(rand<float>(skipping, 1) == rand<float>(generator, 1));
        }
    }

    TEST_CASE("both builds draw the same uniforms and nearly the same normals") {
        TorchGenerator fused(6, TorchBuild::avx2);
        TorchGenerator portable(6, TorchBuild::portable);
        CHECK(rand<float>(fused, 100) == rand<float>(portable, 100));
        const std::vector<float> a = randn<float>(fused, 4096);
        const std::vector<float> b = randn<float>(portable, 4096);
        CHECK(a != b);
        for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= 2e-6F);
    }
}

TEST_SUITE("random: NumPy") {
    TEST_CASE("the first numbers of seed 0 are the well-known ones of NumPy") {
        NumpyGenerator legacy(0);
        CHECK(rand<double>(legacy, 2) ==
              std::vector<double>{0.5488135039273248, 0.7151893663724195});
    }

    TEST_CASE("the kept half of a pair of normals outlives every other draw") {
        NumpyGenerator pair(1);
        const double kept = randn<double>(pair, 2)[1];
        NumpyGenerator generator(1);
        randn<double>(generator, 1);
        rand<double>(generator, 5);
        CHECK(randn<double>(generator, 1)[0] == kept);
    }

    TEST_CASE("the length of an array does not change its normals") {
        for (const Rng rng : {Rng::numpy, Rng::numpy_pcg64}) {
            const auto whole = make_generator(rng, 13);
            const auto parts = make_generator(rng, 13);
            std::vector<double> joined;
            for (const std::size_t size : {1U, 2U, 3U, 7U, 17U}) {
                const std::vector<double> part = randn<double>(*parts, size);
                joined.insert(joined.end(), part.begin(), part.end());
            }
            CHECK(randn<double>(*whole, joined.size()) == joined);
        }
    }

    TEST_CASE("default_rng reaches the tail beyond the last layer, on both sides") {
        const auto generator = make_generator(Rng::numpy_pcg64, 2);
        const std::vector<double> drawn = randn<double>(*generator, 200000);
        const auto [least, greatest] = std::ranges::minmax(drawn);
        CHECK(least < -3.6541528853610088);
        CHECK(greatest > 3.6541528853610088);
    }
}

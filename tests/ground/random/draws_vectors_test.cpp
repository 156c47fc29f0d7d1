#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/ground/random/numpy_generator.hpp"
#include "attn/ground/random/torch_generator.hpp"
#include "tests/support/vectors.hpp"

using namespace attn;
using vectors::Json;

namespace {

/// The lowest 64 bits of an integer seed, which is a string when JSON numbers cannot hold it.
std::uint64_t seed_bits(const Json& seed) {
    if (seed.is_string()) {
        const std::string text = seed.get<std::string>();
        return text.front() == '-' ? static_cast<std::uint64_t>(std::stoll(text))
                                   : std::stoull(text);
    }
    return seed.is_number_unsigned() ? seed.get<std::uint64_t>()
                                     : static_cast<std::uint64_t>(seed.get<std::int64_t>());
}

/// The 32-bit words, lowest first, of a seed of any size.
std::vector<std::uint32_t> seed_words(const Json& seed) {
    const std::string digits = seed.is_string() ? seed.get<std::string>() : seed.dump();
    std::vector<std::uint32_t> words{0};
    for (const char digit : digits) {
        std::uint64_t carry = static_cast<std::uint64_t>(digit - '0');
        for (std::uint32_t& word : words) {
            carry += std::uint64_t{word} * 10;
            word = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        if (carry != 0) words.push_back(static_cast<std::uint32_t>(carry));
    }
    return words;
}

std::size_t size_of(const Json& op) { return op.at("n").get<std::size_t>(); }

/// Draws the number of elements that the operation lists and checks them.
template <class T, class Draw>
void check_drawn(const Json& op, Draw draw) {
    std::vector<T> drawn(size_of(op));
    draw(std::span<T>(drawn));
    vectors::check_record<T>(op.at("result"), drawn);
}

template <class T>
void check_torch_floats(TorchGenerator& generator, const std::string& name, const Json& op) {
    check_drawn<T>(op, [&](std::span<T> out) {
        if (name == "rand") return generator.rand(out);
        if (name == "uniform_") return generator.uniform(out, op.at("low"), op.at("high"));
        REQUIRE(name == "randn");
        generator.randn(out);
    });
}

/// Normals with another mean, which the program does not draw: they use the same number of draws.
template <class T>
void pass_over_normals(TorchGenerator& generator, const Json& op) {
    std::vector<T> skipped(size_of(op));
    generator.randn(std::span<T>(skipped));
}

/// The number of draws of whole words used by an operation that the program does not have: one per
/// integer, or half a word if that is enough for NumPy; for permutations, one per place but the
/// last.
std::size_t words_of_integers(const Json& op, std::size_t integers_in_a_word) {
    if (op.at("op") == "randperm") return size_of(op) == 0 ? 0 : size_of(op) - 1;
    const std::int64_t range = op.at("high").get<std::int64_t>() - op.at("low").get<std::int64_t>();
    const bool is_small = range < std::int64_t{1} << 32;
    if (integers_in_a_word == 1) return is_small ? size_of(op) : 2 * size_of(op);
    return is_small ? (size_of(op) + 1) / 2 : size_of(op);
}

void check_torch(const Json& one_case, TorchBuild build) {
    TorchGenerator generator(seed_bits(one_case.at("seed")), build);
    for (const Json& op : one_case.at("ops")) {
        const std::string name = op.at("op");
        CAPTURE(name);
        if (name == "manual_seed") {
            generator = TorchGenerator(seed_bits(op.at("seed")), build);
        } else if (name == "randint" || name == "randperm") {
            std::vector<float> skipped(words_of_integers(op, 1));
            generator.rand(std::span<float>(skipped));
        } else if (name == "normal_") {
            op.at("dtype") == "float32" ? pass_over_normals<float>(generator, op)
                                        : pass_over_normals<double>(generator, op);
        } else if (op.at("dtype") == "float32") {
            check_torch_floats<float>(generator, name, op);
        } else {
            check_torch_floats<double>(generator, name, op);
        }
    }
}

/// The generator of an integer seed; none for a list, which the program does not take.
std::optional<NumpyGenerator> numpy_generator(const Json& seed) {
    if (seed.is_array()) return std::nullopt;
    return NumpyGenerator(static_cast<std::uint32_t>(seed_bits(seed)));
}

/// NumPy's integers and permutations, which the program does not draw, use an unknown number of
/// words: draws are checked again from the next seed on.
void check_numpy(const Json& one_case) {
    std::optional<NumpyGenerator> generator = numpy_generator(one_case.at("seed"));
    for (const Json& op : one_case.at("ops")) {
        const std::string name = op.at("op");
        CAPTURE(name);
        if (name == "seed") {
            generator = numpy_generator(op.at("seed"));
        } else if (name == "randint" || name == "permutation") {
            generator.reset();
        } else if (generator) {
            check_drawn<double>(op, [&](std::span<double> out) {
                if (name == "rand") return generator->rand(out);
                if (name == "uniform") return generator->uniform(out, op.at("low"), op.at("high"));
                generator->randn(out);
                if (name == "randn") return;
                REQUIRE(name == "normal");
                const double mean = op.at("mean"), deviation = op.at("std");
                for (double& value : out) value = mean + deviation * value;
            });
        }
    }
}

/// Normals of default_rng have no CRC-32; each is listed with eight decimals.
void check_normals(const Json& op, std::span<const double> drawn) {
    vectors::check_listed<double>(op.at("result"), drawn);
    const Json& text8 = op.at("result").at("text8");
    REQUIRE(text8.size() == drawn.size());
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        CAPTURE(i);
        CHECK(fmt::format("{:.8f}", drawn[i]) == text8[i].get<std::string>());
    }
}

void check_pcg64(const Json& one_case) {
    NumpyPcg64Generator generator(seed_words(one_case.at("seed")));
    for (const Json& op : one_case.at("ops")) {
        const std::string name = op.at("op");
        CAPTURE(name);
        if (name == "integers") {
            std::vector<double> skipped(words_of_integers(op, 2));
            generator.rand(std::span<double>(skipped));
        } else if (name == "random") {
            check_drawn<double>(op, [&](auto out) { generator.rand(out); });
        } else {
            REQUIRE(name == "standard_normal");
            std::vector<double> drawn(size_of(op));
            generator.randn(std::span<double>(drawn));
            check_normals(op, drawn);
        }
    }
}

void check_file(const std::string& file, const std::string& math, TorchBuild build) {
    const Json content = vectors::read(file);
    REQUIRE(content.at("math").get<std::string>() == math);
    for (const Json& one_case : content.at("cases")) {
        INFO(file << " " << one_case.at("name").get<std::string>());
        const std::string engine = one_case.at("engine");
        REQUIRE(!one_case.at("ops").empty());
        if (engine == "torch") {
            check_torch(one_case, build);
        } else if (engine == "numpy") {
            check_numpy(one_case);
        } else {
            REQUIRE(engine == "numpy_default_rng");
            check_pcg64(one_case);
        }
    }
}

}  // namespace

TEST_SUITE("vectors: draws") {
    TEST_CASE("the engines draw what PyTorch with AVX2, and NumPy, draw") {
        check_file("draws.json", "poly", TorchBuild::avx2);
    }

    TEST_CASE("the portable build draws what PyTorch without AVX2 draws") {
        check_file("draws_libm.json", "libm", TorchBuild::portable);
    }
}

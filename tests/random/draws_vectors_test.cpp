#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/random/numpy_generator.hpp"
#include "attn/random/pcg64.hpp"
#include "attn/random/torch_generator.hpp"
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

/// Draws as many elements as the operation says and checks them.
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
        if (name == "randn") return generator.randn(out);
        if (name == "uniform_") return generator.uniform(out, op.at("low"), op.at("high"));
        REQUIRE(name == "normal_");
        generator.normal(out, op.at("mean"), op.at("std"));
    });
}

void check_torch(const Json& one_case, TorchBuild build) {
    TorchGenerator generator(seed_bits(one_case.at("seed")), build);
    for (const Json& op : one_case.at("ops")) {
        const std::string name = op.at("op");
        CAPTURE(name);
        if (name == "manual_seed") {
            generator.manual_seed(seed_bits(op.at("seed")));
        } else if (name == "randint") {
            check_drawn<std::int64_t>(
                op, [&](auto out) { generator.randint(out, op.at("low"), op.at("high")); });
        } else if (name == "randperm") {
            check_drawn<std::int64_t>(op, [&](auto out) { generator.randperm(out); });
        } else if (op.at("dtype") == "float32") {
            check_torch_floats<float>(generator, name, op);
        } else {
            check_torch_floats<double>(generator, name, op);
        }
    }
}

void seed_numpy(NumpyGenerator& generator, const Json& seed) {
    if (seed.is_array()) {
        generator.seed(seed.get<std::vector<std::uint32_t>>());
    } else {
        generator.seed(static_cast<std::uint32_t>(seed_bits(seed)));
    }
}

void check_numpy(const Json& one_case) {
    NumpyGenerator generator(0);
    seed_numpy(generator, one_case.at("seed"));
    for (const Json& op : one_case.at("ops")) {
        const std::string name = op.at("op");
        CAPTURE(name);
        if (name == "seed") {
            seed_numpy(generator, op.at("seed"));
        } else if (name == "randint") {
            check_drawn<std::int64_t>(
                op, [&](auto out) { generator.randint(out, op.at("low"), op.at("high")); });
        } else if (name == "permutation") {
            check_drawn<std::int64_t>(op, [&](auto out) { generator.permutation(out); });
        } else {
            check_drawn<double>(op, [&](std::span<double> out) {
                if (name == "rand") return generator.rand(out);
                if (name == "randn") return generator.randn(out);
                if (name == "uniform") return generator.uniform(out, op.at("low"), op.at("high"));
                REQUIRE(name == "normal");
                generator.normal(out, op.at("mean"), op.at("std"));
            });
        }
    }
}

/// Normals of default_rng have no CRC-32, but every one as printed with eight decimals.
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
            check_drawn<std::int64_t>(
                op, [&](auto out) { generator.integers(out, op.at("low"), op.at("high")); });
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

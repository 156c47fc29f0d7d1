#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "attn/random/layers.hpp"
#include "attn/random/torch_generator.hpp"
#include "attn/tensor/error.hpp"

using namespace attn;

namespace {

/// What the generator would draw next: equal for two generators exactly when they are in step.
double next_draw(Generator& generator) {
    std::vector<double> drawn(1);
    generator.rand(std::span<double>(drawn));
    return drawn[0];
}

double largest_magnitude(const Array<double>& array) {
    double largest = 0.0;
    for (const double value : array) largest = std::max(largest, std::abs(value));
    return largest;
}

}  // namespace

TEST_SUITE("random: layers") {
    TEST_CASE("a linear layer stays below, and comes near, one over the root of its width") {
        for (const std::size_t in : {1U, 2U, 3U, 7U, 100U}) {
            CAPTURE(in);
            TorchGenerator generator(in);
            const auto linear = draw_linear<double>(generator, in, 300, true);
            const double bound = 1.0 / std::sqrt(static_cast<double>(in));
            CHECK(shape_of(linear.weight) == Shape{300, in});
            CHECK(shape_of(linear.bias) == Shape{300});
            // The bound itself is computed by another route and may be an ulp or two above.
            CHECK(largest_magnitude(linear.weight) <= bound * (1.0 + 1e-15));
            CHECK(largest_magnitude(linear.bias) <= bound);
            CHECK(largest_magnitude(linear.weight) > 0.95 * bound);
            CHECK(largest_magnitude(linear.bias) > 0.95 * bound);
        }
    }

    TEST_CASE("the bias is drawn after the weight, which does not depend on it") {
        for (const Rng rng : {Rng::torch, Rng::numpy, Rng::numpy_pcg64}) {
            const auto with = make_generator(rng, 5);
            const auto without = make_generator(rng, 5);
            const auto full = draw_linear<double>(*with, 6, 4, true);
            const auto bare = draw_linear<double>(*without, 6, 4, false);
            CHECK(full.weight == bare.weight);
            CHECK(shape_of(bare.bias) == Shape{0});
            Array<double> bias = empty_array<double>({4});
            without->uniform(std::span<double>(bias.data(), 4), -1.0 / std::sqrt(6.0),
                             1.0 / std::sqrt(6.0));
            CHECK(full.bias == bias);
        }
    }

    TEST_CASE("a padding row is zero, and the other rows are as without it") {
        TorchGenerator plain(3);
        const auto table = draw_embedding<float>(plain, 5, 7);
        for (const std::ptrdiff_t padding : {0, 2, 4}) {
            TorchGenerator generator(3);
            const auto padded = draw_embedding<float>(generator, 5, 7, padding);
            for (std::size_t row = 0; row < 5; ++row) {
                for (std::size_t column = 0; column < 7; ++column) {
                    const bool hidden = row == static_cast<std::size_t>(padding);
                    CHECK(padded(row, column) == (hidden ? 0.0F : table(row, column)));
                }
            }
        }
        CHECK_THROWS_AS(draw_embedding<float>(plain, 5, 7, 5), ConfigError);
    }

    TEST_CASE("multi-head attention draws the output projection first") {
        TorchGenerator generator(8);
        const auto layer = draw_multihead<double>(generator, 6, false, 6, 6);
        TorchGenerator by_hand(8);
        CHECK(layer.w_output == draw_linear<double>(by_hand, 6, 6, false).weight);
        CHECK(shape_of(layer.w_qkv) == Shape{18, 6});
        CHECK(shape_of(layer.w_query) == Shape{0});
        CHECK(shape_of(layer.b_qkv) == Shape{0});
        CHECK(shape_of(layer.b_output) == Shape{0});
        // Glorot's bound: sqrt(6 / (fan_in + fan_out)).
        CHECK(largest_magnitude(layer.w_qkv) <= 0.5 * (1.0 + 1e-15));
        CHECK(largest_magnitude(layer.w_qkv) > 0.4);
    }

    TEST_CASE("multi-head attention's biases are zero, though one of them was drawn") {
        TorchGenerator generator(8);
        const auto layer = draw_multihead<double>(generator, 6, true, 5, 9);
        CHECK(largest_magnitude(layer.b_qkv) == 0.0);
        CHECK(shape_of(layer.b_qkv) == Shape{18});
        CHECK(largest_magnitude(layer.b_output) == 0.0);
        CHECK(shape_of(layer.b_output) == Shape{6});
        CHECK(shape_of(layer.w_qkv) == Shape{0});
        CHECK(shape_of(layer.w_query) == Shape{6, 6});
        CHECK(shape_of(layer.w_key) == Shape{6, 5});
        CHECK(shape_of(layer.w_value) == Shape{6, 9});
        TorchGenerator by_hand(8);
        // The output projection, its bias, and the three input projections.
        std::vector<double> skipped(36 + 6 + 36 + 30 + 54);
        by_hand.rand(std::span<double>(skipped));
        CHECK(next_draw(generator) == next_draw(by_hand));
    }
}

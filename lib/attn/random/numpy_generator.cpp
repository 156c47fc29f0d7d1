#include "attn/random/numpy_generator.hpp"

#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "attn/random/integer_range.hpp"

namespace attn {

void NumpyGenerator::seed(std::uint32_t seed) {
    engine_.seed(seed);
    kept_normal_.reset();
}

void NumpyGenerator::seed(std::span<const std::uint32_t> words) {
    engine_.seed(words);
    kept_normal_.reset();
}

/// Uniform in [0, 1): 53 bits of two words.
double NumpyGenerator::unit() {
    const std::uint32_t high = word() >> 5;
    const std::uint32_t low = word() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

/// One standard normal by Marsaglia's polar method.
double NumpyGenerator::standard_normal() {
    if (kept_normal_) return *std::exchange(kept_normal_, std::nullopt);
    // Draw a point in the square until it lies in the circle.
    double x = 0.0;
    double y = 0.0;
    double square = 0.0;
    do {
        x = 2.0 * unit() - 1.0;
        y = 2.0 * unit() - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    // Stretch its coordinates and hand out the second one first.
    const double factor = std::sqrt(-2.0 * std::log(square) / square);
    kept_normal_ = factor * x;
    return factor * y;
}

void NumpyGenerator::rand(std::span<float> out) {
    for (float& value : out) value = static_cast<float>(unit());
}

void NumpyGenerator::rand(std::span<double> out) {
    for (double& value : out) value = unit();
}

void NumpyGenerator::randn(std::span<float> out) {
    for (float& value : out) value = static_cast<float>(standard_normal());
}

void NumpyGenerator::randn(std::span<double> out) {
    for (double& value : out) value = standard_normal();
}

void NumpyGenerator::uniform(std::span<float> out, double low, double high) {
    for (float& value : out) value = static_cast<float>(low + (high - low) * unit());
}

void NumpyGenerator::uniform(std::span<double> out, double low, double high) {
    for (double& value : out) value = low + (high - low) * unit();
}

void NumpyGenerator::normal(std::span<double> out, double mean, double deviation) {
    for (double& value : out) value = mean + deviation * standard_normal();
}

/// Uniform in [0, largest]: draws of just enough bits, until one is small enough. Draws nothing
/// when there is no choice.
std::uint64_t NumpyGenerator::bounded(std::uint64_t largest) {
    if (largest == 0) return 0;
    const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(largest);
    std::uint64_t value = 0;
    do {
        value = word();
        if (largest > 0xFFFFFFFFU) value = value << 32 | word();
        value &= mask;
    } while (value > largest);
    return value;
}

void NumpyGenerator::randint(std::span<std::int64_t> out, std::int64_t low, std::int64_t high) {
    const std::uint64_t largest = largest_offset(low, high);
    for (std::int64_t& value : out) value = offset_from(low, bounded(largest));
}

void NumpyGenerator::permutation(std::span<std::int64_t> out) {
    std::iota(out.begin(), out.end(), std::int64_t{0});
    for (std::size_t i = out.size(); i-- > 1;) std::swap(out[i], out[bounded(i)]);
}

}  // namespace attn

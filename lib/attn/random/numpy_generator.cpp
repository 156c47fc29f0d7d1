#include "attn/random/numpy_generator.hpp"

#include <cmath>
#include <utility>

namespace attn {

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
    // Scale its coordinates and hand out the second one first.
    const double factor = std::sqrt(-2.0 * std::log(square) / square);
    kept_normal_ = factor * x;
    return factor * y;
}

void NumpyDraws::rand(std::span<float> out) {
    for (float& value : out) value = static_cast<float>(unit());
}

void NumpyDraws::rand(std::span<double> out) {
    for (double& value : out) value = unit();
}

void NumpyDraws::randn(std::span<float> out) {
    for (float& value : out) value = static_cast<float>(standard_normal());
}

void NumpyDraws::randn(std::span<double> out) {
    for (double& value : out) value = standard_normal();
}

void NumpyDraws::uniform(std::span<float> out, double low, double high) {
    for (float& value : out) value = static_cast<float>(low + (high - low) * unit());
}

void NumpyDraws::uniform(std::span<double> out, double low, double high) {
    for (double& value : out) value = low + (high - low) * unit();
}

}  // namespace attn

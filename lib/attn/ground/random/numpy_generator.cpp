#include "attn/ground/random/numpy_generator.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <utility>

#include "attn/ground/tensor/sixteen_bits.hpp"

namespace attn {

/// Draws a uniform number in [0, 1): 53 bits from two words.
double NumpyGenerator::unit() {
    const std::uint32_t high = word() >> 5;
    const std::uint32_t low = word() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

/// Draws a standard normal by Marsaglia's polar method.
double NumpyGenerator::standard_normal() {
    if (spare_normal_) return *std::exchange(spare_normal_, std::nullopt);
    // Draw points in the square until one lies in the circle.
    double x = 0.0;
    double y = 0.0;
    double square = 0.0;
    do {
        x = 2.0 * unit() - 1.0;
        y = 2.0 * unit() - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    // Scale its coordinates and return the second one first.
    const double factor = std::sqrt(-2.0 * std::log(square) / square);
    spare_normal_ = factor * x;
    return factor * y;
}

void NumpyDraws::randn(std::span<float> out, DType type) {
    for (float& value : out) value = nearest(static_cast<float>(standard_normal()), type);
}

void NumpyDraws::randn(std::span<double> out, DType) {
    for (double& value : out) value = standard_normal();
}

void NumpyDraws::uniform(std::span<float> out, double low, double high, DType type) {
    for (float& value : out) {
        value = nearest(static_cast<float>(low + (high - low) * unit()), type);
    }
}

void NumpyDraws::uniform(std::span<double> out, double low, double high, DType) {
    for (double& value : out) value = low + (high - low) * unit();
}

namespace {

__extension__ using Word128 = unsigned __int128;

constexpr Word128 joined(std::uint64_t high, std::uint64_t low) {
    return Word128{high} << 64 | low;
}

std::uint32_t folded(std::uint32_t word) { return word ^ (word >> 16); }

/// Multiplies by a constant that changes with every use, so that equal words get different hashes.
class MovingHash {
public:
    MovingHash(std::uint32_t start, std::uint32_t factor) : constant_(start), factor_(factor) {}

    std::uint32_t operator()(std::uint32_t word) {
        word ^= constant_;
        constant_ *= factor_;
        return folded(word * constant_);
    }

private:
    std::uint32_t constant_;
    std::uint32_t factor_;
};

std::uint32_t mixed(std::uint32_t x, std::uint32_t y) {
    return folded(0xCA01F9DDU * x - 0x4973F715U * y);
}

/// Computes NumPy's SeedSequence: eight words that each depend on every word of the seed.
std::array<std::uint32_t, 8> spread(std::span<const std::uint32_t> entropy) {
    // Hash the first words into a pool of four.
    std::array<std::uint32_t, 4> pool;
    MovingHash hash(0x43B0D7E5U, 0x931E8875U);
    for (std::size_t i = 0; i < pool.size(); ++i)
        pool[i] = hash(i < entropy.size() ? entropy[i] : 0);
    // Mix every place of the pool into every other one.
    for (std::size_t from = 0; from < pool.size(); ++from) {
        for (std::size_t to = 0; to < pool.size(); ++to) {
            if (to != from) pool[to] = mixed(pool[to], hash(pool[from]));
        }
    }
    // Mix in the words that did not fit into the pool.
    for (std::size_t i = pool.size(); i < entropy.size(); ++i) {
        for (std::uint32_t& place : pool) place = mixed(place, hash(entropy[i]));
    }
    // Hash the pool, repeatedly, into the result.
    std::array<std::uint32_t, 8> words;
    MovingHash output(0x8B51F9DDU, 0x58F38DEDU);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = output(pool[i % pool.size()]);
    return words;
}

/// The tables of the ziggurat method: 256 layers of equal area under f(x) = exp(-x*x/2), numbered
/// from the base up. Layer 0 is the base with the tail beyond `edge`.
struct Ziggurat {
    static constexpr double edge = 3.6541528853610087963519;  ///< start of the tail

    std::array<double, 256> width;        ///< of a layer, per 52-bit draw
    std::array<double, 256> height;       ///< f at the outer edge of a layer
    std::array<std::uint64_t, 256> safe;  ///< smaller draws are under the curve without a check
};

double rounded_exp(double x) { return static_cast<double>(std::exp(static_cast<long double>(x))); }
double rounded_log(double x) { return static_cast<double>(std::log(static_cast<long double>(x))); }

// NumPy's tables were computed in double precision, each layer from the one below, so that their
// rounding errors accumulate to a few dozen ulp. The draws depend on these errors; hence this uses
// double precision, too, with exponentials and logarithms that are correctly rounded on all
// machines.
Ziggurat computed() {
    constexpr double area = 0.004928673233974652;
    constexpr double steps = 0x1p52;
    Ziggurat tables{};
    // The base has the width of a rectangle that includes the area of the tail.
    double x = Ziggurat::edge;
    double f = rounded_exp(-0.5 * x * x);
    tables.width[0] = area / f / steps;
    tables.safe[0] = static_cast<std::uint64_t>(x * f / area * steps);
    tables.width[255] = x / steps;
    tables.height[255] = f;
    // Compute each layer upwards, so that all have the same area.
    for (std::size_t layer = 254; layer >= 1; --layer) {
        const double outer = x;
        x = std::sqrt(-2.0 * rounded_log(area / outer + f));
        f = rounded_exp(-0.5 * x * x);
        // Here f is almost halfway between two doubles, and NumPy's tables have the upper one.
        if (layer == 38) f = std::nextafter(f, 1.0);
        tables.safe[layer + 1] = static_cast<std::uint64_t>(x / outer * steps);
        tables.width[layer] = x / steps;
        tables.height[layer] = f;
    }
    // The topmost layer reaches the summit and has no safe part.
    tables.safe[1] = 0;
    tables.height[0] = 1.0;
    return tables;
}

/// Returns the tables, computed on first use.
///
/// Source  Marsaglia and Tsang 2000, with NumPy's 256 layers and 52 bits.
const Ziggurat& ziggurat() {
    static const Ziggurat tables = computed();
    return tables;
}

}  // namespace

NumpyPcg64Generator::NumpyPcg64Generator(std::span<const std::uint32_t> seed) {
    assert(!seed.empty());
    const std::array<std::uint32_t, 8> words = spread(seed);
    const auto quad = [&](std::size_t i) {
        return std::uint64_t{words[2 * i + 1]} << 32 | words[2 * i];
    };
    increment_ = joined(quad(2), quad(3)) << 1 | 1;
    next64();
    state_ += joined(quad(0), quad(1));
    next64();
}

std::uint64_t NumpyPcg64Generator::next64() {
    constexpr Word128 multiplier = joined(2549297995355413924U, 4865540595714422341U);
    state_ = state_ * multiplier + increment_;
    const auto folded_state =
        static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_);
    return std::rotr(folded_state, static_cast<int>(state_ >> 122));
}

/// Draws a standard normal by the ziggurat method.
double NumpyPcg64Generator::standard_normal() {
    const Ziggurat& tables = ziggurat();
    while (true) {
        // Split a draw into a layer, a sign and a place in the layer.
        const std::uint64_t draw = next64();
        const std::size_t layer = draw & 0xFF;
        const bool negative = (draw >> 8 & 1) != 0;
        const std::uint64_t place = draw >> 9 & 0xFFFFFFFFFFFFFU;
        // Accept a place that is certainly under the curve, in 99 of 100 cases.
        const double distance = static_cast<double>(place) * tables.width[layer];
        const double x = negative ? -distance : distance;
        if (place < tables.safe[layer]) return x;
        // Draw from the tail, or evaluate the curve.
        if (layer == 0) return normal_tail((place >> 8 & 1) != 0);
        const double above = tables.height[layer];
        const double layer_height = tables.height[layer - 1] - above;
        if (layer_height * unit() + above < std::exp(-0.5 * x * x)) return x;
    }
}

/// Draws a normal beyond the edge, by Marsaglia's exponential wedge.
double NumpyPcg64Generator::normal_tail(bool negative) {
    constexpr double inverse_edge = 0.27366123732975827203338247596;
    double beyond = 0.0;
    double height = 0.0;
    do {
        beyond = -inverse_edge * std::log1p(-unit());
        height = -std::log1p(-unit());
    } while (height + height <= beyond * beyond);
    const double distance = Ziggurat::edge + beyond;
    return negative ? -distance : distance;
}

}  // namespace attn

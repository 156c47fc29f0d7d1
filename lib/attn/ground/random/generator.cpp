#include "attn/ground/random/generator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "attn/ground/random/numpy_generator.hpp"
#include "attn/ground/random/torch_generator.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/sixteen_bits.hpp"

namespace attn {
namespace {

/// Returns the seed as the user may have written it: the top bit may be a sign.
std::string seed_text(std::uint64_t seed) {
    const auto as_signed = static_cast<std::int64_t>(seed);
    if (as_signed >= 0) return std::to_string(seed);
    return std::to_string(seed) + " (the same bits as " + std::to_string(as_signed) + ")";
}

}  // namespace

std::unique_ptr<Generator> make_generator(Rng rng, std::uint64_t seed, TorchBuild build) {
    switch (rng) {
        case Rng::torch:
            break;
        case Rng::numpy:
            if (seed > std::numeric_limits<std::uint32_t>::max()) {
                throw ConfigError("seed " + seed_text(seed) +
                                  " is out of the range of NumPy's legacy generator: choose a seed "
                                  "from 0 to 4294967295, or the generator numpy-pcg64");
            }
            return std::make_unique<NumpyGenerator>(static_cast<std::uint32_t>(seed));
        case Rng::numpy_pcg64: {
            const std::array words{static_cast<std::uint32_t>(seed),
                                   static_cast<std::uint32_t>(seed >> 32)};
            return std::make_unique<NumpyPcg64Generator>(
                std::span(words).first(words[1] == 0 ? 1 : 2));
        }
    }
    return std::make_unique<TorchGenerator>(seed, build);
}

namespace {

/// Mathematically 1/sqrt(in). PyTorch computes it in `kaiming_uniform_` with a leaky slope of
/// sqrt(5), which changes the last bit.
double linear_weight_bound(double in) {
    const double slope = std::sqrt(5.0);
    const double gain = std::sqrt(2.0 / (1.0 + slope * slope));
    return std::sqrt(3.0) * (gain / std::sqrt(in));
}

}  // namespace

template <class T>
void initialise(std::span<T> cells, Initialisation how, std::size_t in, std::size_t out,
                Generator& generator, DType type) {
    const auto within = [&](double bound) { generator.uniform(cells, -bound, bound, type); };
    // PyTorch rounds both the factor and the product to the type.
    const auto in_type = [type](T cell) {
        return is_16_bit(type) ? static_cast<T>(nearest(static_cast<float>(cell), type)) : cell;
    };
    const double rows = static_cast<double>(in);
    switch (how) {
        case Initialisation::zeros:
            std::ranges::fill(cells, T{0});
            return;
        case Initialisation::ones:
            std::ranges::fill(cells, T{1});
            return;
        case Initialisation::uniform:
            generator.uniform(cells, 0, 1, type);
            return;
        case Initialisation::normal:
        case Initialisation::embedding:
            generator.randn(cells, type);
            return;
        case Initialisation::small_normal:
            generator.randn(cells, type);
            for (T& cell : cells) cell = in_type(cell * in_type(static_cast<T>(0.1)));
            return;
        case Initialisation::linear_weight:
            within(linear_weight_bound(rows));
            return;
        case Initialisation::linear_bias:
            within(1.0 / std::sqrt(rows));
            return;
        case Initialisation::xavier:
            // PyTorch computes the square root of 6 / (in + out) in this way.
            within(std::sqrt(3.0) * std::sqrt(2.0 / (rows + static_cast<double>(out))));
            return;
    }
}

template void initialise(std::span<float>, Initialisation, std::size_t, std::size_t, Generator&,
                         DType);
template void initialise(std::span<double>, Initialisation, std::size_t, std::size_t, Generator&,
                         DType);

}  // namespace attn

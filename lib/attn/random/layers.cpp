#include "attn/random/layers.hpp"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// 1/sqrt(in) on paper. PyTorch computes it as `kaiming_uniform_` with a leaky slope of sqrt(5),
/// and the last bit tells.
double linear_weight_bound(double in) {
    const double slope = std::sqrt(5.0);
    const double gain = std::sqrt(2.0 / (1.0 + slope * slope));
    return std::sqrt(3.0) * (gain / std::sqrt(in));
}

}  // namespace

template <class T>
void initialise(std::span<T> cells, Initialisation how, std::size_t in, std::size_t out,
                Generator& generator) {
    const auto within = [&](double bound) { generator.uniform(cells, -bound, bound); };
    const double rows = static_cast<double>(in);
    switch (how) {
        case Initialisation::zeros:
            std::ranges::fill(cells, T{0});
            return;
        case Initialisation::ones:
            std::ranges::fill(cells, T{1});
            return;
        case Initialisation::uniform:
            generator.rand(cells);
            return;
        case Initialisation::normal:
        case Initialisation::embedding:
            generator.randn(cells);
            return;
        case Initialisation::small_normal:
            generator.randn(cells);
            for (T& cell : cells) cell *= static_cast<T>(0.1);
            return;
        case Initialisation::linear_weight:
            within(linear_weight_bound(rows));
            return;
        case Initialisation::linear_bias:
            within(1.0 / std::sqrt(rows));
            return;
        case Initialisation::xavier:
            // As PyTorch computes the square root of 6 / (in + out).
            within(std::sqrt(3.0) * std::sqrt(2.0 / (rows + static_cast<double>(out))));
            return;
    }
}

template void initialise(std::span<float>, Initialisation, std::size_t, std::size_t, Generator&);
template void initialise(std::span<double>, Initialisation, std::size_t, std::size_t, Generator&);

}  // namespace attn

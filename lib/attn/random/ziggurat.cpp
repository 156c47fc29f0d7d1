#include "attn/random/ziggurat.hpp"

#include <cmath>
#include <cstddef>

namespace attn {
namespace {

double rounded_exp(double x) { return static_cast<double>(std::exp(static_cast<long double>(x))); }
double rounded_log(double x) { return static_cast<double>(std::log(static_cast<long double>(x))); }

// NumPy's tables were computed in double precision, and each layer from the one below, so that
// their rounding errors add up to a few dozen units in the last place. The draws show these errors;
// hence double precision here too, with each exponential and logarithm rounded correctly on any
// machine.
Ziggurat computed() {
    constexpr double area = 0.004928673233974652;
    constexpr double steps = 0x1p52;
    Ziggurat tables{};
    // The base is as wide as a rectangle of its height must be to hold the tail too.
    double x = Ziggurat::edge;
    double f = rounded_exp(-0.5 * x * x);
    tables.width[0] = area / f / steps;
    tables.safe[0] = static_cast<std::uint64_t>(x * f / area * steps);
    tables.width[255] = x / steps;
    tables.height[255] = f;
    // Going up the hill, each layer ends where it has the common area.
    for (std::size_t layer = 254; layer >= 1; --layer) {
        const double outer = x;
        x = std::sqrt(-2.0 * rounded_log(area / outer + f));
        f = rounded_exp(-0.5 * x * x);
        // Here f is all but halfway between two doubles, and NumPy's tables took the upper one.
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

}  // namespace

const Ziggurat& ziggurat() {
    static const Ziggurat tables = computed();
    return tables;
}

}  // namespace attn

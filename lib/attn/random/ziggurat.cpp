#include "attn/random/ziggurat.hpp"

#include <cmath>
#include <cstddef>

namespace attn {
namespace {

// NumPy's tables were computed with more digits than a double has, and a last digit that differs in
// an edge would show in the draws: hence long double.
Ziggurat computed() {
    constexpr long double edge = 3.6541528853610087963519L;
    constexpr long double area = 0.0049286732339746549315909L;
    constexpr long double steps = 0x1p52L;
    Ziggurat tables{};
    // The base is as wide as a rectangle of its height must be to hold the tail too.
    long double x = edge;
    long double f = std::exp(-x * x / 2);
    tables.width[0] = static_cast<double>(area / f / steps);
    tables.safe[0] = static_cast<std::uint64_t>(x * f / area * steps);
    tables.width[255] = static_cast<double>(x / steps);
    tables.height[255] = static_cast<double>(f);
    // Going up the hill, each layer ends where it has the common area.
    for (std::size_t layer = 254; layer >= 1; --layer) {
        const long double outer = x;
        f = area / x + f;
        x = std::sqrt(-2 * std::log(f));
        tables.safe[layer + 1] = static_cast<std::uint64_t>(x / outer * steps);
        tables.width[layer] = static_cast<double>(x / steps);
        tables.height[layer] = static_cast<double>(f);
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

#pragma once
#include <array>
#include <cstdint>

namespace attn {

/// The tables of the ziggurat method: 256 layers of equal area under f(x) = exp(-x*x/2), numbered
/// from the base up. Layer 0 is the base with the tail beyond `edge`.
struct Ziggurat {
    static constexpr double edge = 3.6541528853610087963519;  ///< where the tail begins

    std::array<double, 256> width;        ///< of a layer, per 52-bit draw
    std::array<double, 256> height;       ///< f at the outer edge of a layer
    std::array<std::uint64_t, 256> safe;  ///< draws below this lie under the curve without a look
};

/// The tables, computed when first asked for.
///
/// Source  Marsaglia and Tsang 2000, with NumPy's 256 layers and 52 bits.
const Ziggurat& ziggurat();

}  // namespace attn

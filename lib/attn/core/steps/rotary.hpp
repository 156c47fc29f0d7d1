#pragma once
#include <cstddef>

namespace attn {

/// Which features of a head rotate together: each with the one half the rotary width away, or each
/// even one with its odd neighbour.
enum class Pairing { half, interleaved };

/// Where the two features of a pair lie.
struct FeaturePair {
    std::size_t first, second;
};

/// Pair number `pair` of a head whose first `rotary_dim` features rotate.
inline FeaturePair feature_pair(Pairing pairing, std::size_t pair, std::size_t rotary_dim) {
    if (pairing == Pairing::interleaved) return {2 * pair, 2 * pair + 1};
    return {pair, pair + rotary_dim / 2};
}

}  // namespace attn

#pragma once
#include <cstddef>

namespace attn {

/// The features of a head that are rotated together: each with the one half the rotary width away,
/// or each even one with its odd neighbour.
enum class Pairing { half, interleaved };

/// The indices of the two features of a pair.
struct FeaturePair {
    std::size_t first, second;
};

/// Returns pair number `pair` of a head whose first `rotary_dim` features are rotated.
inline FeaturePair feature_pair(Pairing pairing, std::size_t pair, std::size_t rotary_dim) {
    if (pairing == Pairing::interleaved) return {2 * pair, 2 * pair + 1};
    return {pair, pair + rotary_dim / 2};
}

}  // namespace attn

#pragma once
#include <cstddef>

namespace attn {

/// The sizes of one attention. Arrays are contiguous in the order (batch, head, position, feature).
struct AttentionShape {
    std::size_t batch = 1;
    std::size_t heads = 1;
    std::size_t query_len = 0;
    std::size_t key_len = 0;
    std::size_t head_dim = 0;
    std::size_t value_dim = 0;
};

/// Which keys a query may not see, as plain data: what is hidden by any of the three parts is
/// hidden.
struct MaskView {
    /// Key k is visible to query q when k <= q + causal_offset.
    bool causal = false;
    std::ptrdiff_t causal_offset = 0;

    /// Key k is visible to query q when k >= q + window_offset.
    bool window = false;
    std::ptrdiff_t window_offset = 0;

    /// Null, or cells that are true where a key is hidden. A stride of 0 repeats the cell along
    /// that axis, as broadcasting does.
    const bool* hidden = nullptr;
    std::size_t batch_stride = 0;
    std::size_t head_stride = 0;
    std::size_t query_stride = 0;
    std::size_t key_stride = 0;

    bool hides(std::size_t batch, std::size_t head, std::size_t q, std::size_t k) const {
        const auto distance = static_cast<std::ptrdiff_t>(k) - static_cast<std::ptrdiff_t>(q);
        if (causal && distance > causal_offset) return true;
        if (window && distance < window_offset) return true;
        return hidden && hidden[batch * batch_stride + head * head_stride + q * query_stride +
                                k * key_stride];
    }
};

/// What a fully masked row gives: nan, as PyTorch; zeros; or a refusal.
enum class EmptyRow { nan, zero, error };

}  // namespace attn

#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>

namespace attn {

/// The score of a hidden key: its weight is exp(-inf) = 0.
template <class T>
constexpr T minus_infinity = -std::numeric_limits<T>::infinity();

/// The sizes of one attention. Arrays are contiguous in the order (batch, head, position, feature).
struct AttentionShape {
    std::size_t batch = 1;
    std::size_t heads = 1;
    std::size_t query_len = 0;
    std::size_t key_len = 0;
    std::size_t head_dim = 0;
    std::size_t value_dim = 0;
    /// Heads of key and value, a divisor of `heads`; 0: one for each head. Head h reads
    /// h / (heads / kv_heads).
    std::size_t kv_heads = 0;

    /// The matrix of keys, counted over all batch entries, that matrix `group` of queries reads.
    std::size_t kv_group(std::size_t group) const {
        return kv_heads == 0 ? group : group / (heads / kv_heads);
    }
};

/// The keys from `first` up to, but without, `end`.
struct KeyRange {
    std::size_t first = 0;
    std::size_t end = 0;
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
    /// Matrix number g of a list is that of head g % heads of batch entry g / heads.
    std::size_t heads = 1;

    /// Of `keys` keys, those that the causal rule and the window leave to query `q`.
    KeyRange visible(std::size_t q, std::size_t keys) const {
        const auto within = [&](std::ptrdiff_t key) {
            return static_cast<std::size_t>(
                std::clamp<std::ptrdiff_t>(key, 0, static_cast<std::ptrdiff_t>(keys)));
        };
        const auto query = static_cast<std::ptrdiff_t>(q);
        const std::size_t end = causal ? within(query + causal_offset + 1) : keys;
        return {window ? std::min(end, within(query + window_offset)) : 0, end};
    }
    /// The cells of one row, which key_stride leads through; null without any.
    const bool* cells(std::size_t group, std::size_t q) const {
        return hidden ? hidden + group / heads * batch_stride + group % heads * head_stride +
                            q * query_stride
                      : nullptr;
    }
    bool hides(std::size_t group, std::size_t q, std::size_t k) const {
        return hides(group / heads, group % heads, q, k);
    }
    /// The same rule for the queries from `q` on of one matrix.
    MaskView from(std::size_t group, std::size_t q) const {
        MaskView view = *this;
        view.causal_offset += static_cast<std::ptrdiff_t>(q);
        view.window_offset += static_cast<std::ptrdiff_t>(q);
        view.hidden = cells(group, q);
        return view;
    }

    bool hides(std::size_t batch, std::size_t head, std::size_t q, std::size_t k) const {
        const auto distance = static_cast<std::ptrdiff_t>(k) - static_cast<std::ptrdiff_t>(q);
        if (causal && distance > causal_offset) return true;
        if (window && distance < window_offset) return true;
        return hidden && hidden[batch * batch_stride + head * head_stride + q * query_stride +
                                k * key_stride];
    }
};

/// Numbers that are added to the scores, as plain data. A stride of 0 repeats a number along that
/// axis, as broadcasting does; where only the distance counts, one line serves all queries.
template <class T>
struct BiasView {
    const T* numbers = nullptr;  ///< of query 0 and key 0; null: nothing is added
    std::ptrdiff_t batch_stride = 0, head_stride = 0, query_stride = 0, key_stride = 0;
    /// Matrix number g of a list is that of head g % heads of batch entry g / heads.
    std::size_t heads = 1;

    /// The number of key 0, from which key_stride leads to the others.
    const T* row(std::size_t group, std::size_t q) const {
        if (!numbers) return nullptr;
        return numbers + static_cast<std::ptrdiff_t>(group / heads) * batch_stride +
               static_cast<std::ptrdiff_t>(group % heads) * head_stride +
               static_cast<std::ptrdiff_t>(q) * query_stride;
    }
    T at(std::size_t group, std::size_t q, std::size_t k) const {
        return row(group, q)[static_cast<std::ptrdiff_t>(k) * key_stride];
    }
    /// The same for the queries from `q` on of one matrix.
    BiasView from(std::size_t group, std::size_t q) const {
        BiasView view = *this;
        view.numbers = row(group, q);
        return view;
    }
};

/// Where the diagonal of a causal mask starts when there are more keys than queries, or fewer.
/// `start`: query 0 with key 0, as PyTorch's tril. `end`: the last query with the last key, as
/// with a cache of earlier keys.
enum class CausalAlign { start, end };

/// The result of a fully masked row: nan, as PyTorch; zeros; or a refusal.
enum class EmptyRow { nan, zero, error };

}  // namespace attn

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
    /// Number of key and value heads, a divisor of `heads`; 0: one per head. Head h reads key head
    /// h / (heads / kv_heads).
    std::size_t kv_heads = 0;

    /// Returns the matrix of keys, counted over all batch entries, that matrix `group` of queries
    /// reads.
    std::size_t kv_group(std::size_t group) const {
        return kv_heads == 0 ? group : group / (heads / kv_heads);
    }
};

/// The keys from `first` to before `end`.
struct KeyRange {
    std::size_t first = 0;
    std::size_t end = 0;
};

/// The keys that a query may not see, as plain data: a key is hidden if any of the three parts
/// hides it.
struct MaskView {
    /// Key k is visible to query q if k <= q + causal_offset.
    bool causal = false;
    std::ptrdiff_t causal_offset = 0;

    /// Key k is visible to query q if k >= q + window_offset.
    bool window = false;
    std::ptrdiff_t window_offset = 0;

    /// Null, or cells that are true for hidden keys. A stride of 0 broadcasts the cell along that
    /// axis.
    const bool* hidden = nullptr;
    std::size_t batch_stride = 0;
    std::size_t head_stride = 0;
    std::size_t query_stride = 0;
    std::size_t key_stride = 0;
    /// Matrix number g belongs to head g % heads of batch entry g / heads.
    std::size_t heads = 1;

    /// Returns the keys, of `keys` keys, that the causal rule and the window leave for query `q`.
    KeyRange visible(std::size_t q, std::size_t keys) const {
        const auto within = [&](std::ptrdiff_t key) {
            return static_cast<std::size_t>(
                std::clamp<std::ptrdiff_t>(key, 0, static_cast<std::ptrdiff_t>(keys)));
        };
        const auto query = static_cast<std::ptrdiff_t>(q);
        const std::size_t end = causal ? within(query + causal_offset + 1) : keys;
        return {window ? std::min(end, within(query + window_offset)) : 0, end};
    }
    /// Returns the cells of one row, at distances of key_stride; null if there are none.
    const bool* cells(std::size_t group, std::size_t q) const {
        return hidden ? hidden + group / heads * batch_stride + group % heads * head_stride +
                            q * query_stride
                      : nullptr;
    }
    bool hides(std::size_t group, std::size_t q, std::size_t k) const {
        return hides(group / heads, group % heads, q, k);
    }
    /// Returns the mask for the queries from `q` on of one matrix.
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

/// Addends of the scores, as plain data. A stride of 0 broadcasts a number along that axis; if only
/// the distance counts, all queries share one line.
template <class T>
struct BiasView {
    const T* numbers = nullptr;  ///< of query 0 and key 0; null: no addend
    std::ptrdiff_t batch_stride = 0, head_stride = 0, query_stride = 0, key_stride = 0;
    /// Matrix number g belongs to head g % heads of batch entry g / heads.
    std::size_t heads = 1;

    /// Returns the number of key 0; the others follow at distances of key_stride.
    const T* row(std::size_t group, std::size_t q) const {
        if (!numbers) return nullptr;
        return numbers + static_cast<std::ptrdiff_t>(group / heads) * batch_stride +
               static_cast<std::ptrdiff_t>(group % heads) * head_stride +
               static_cast<std::ptrdiff_t>(q) * query_stride;
    }
    T at(std::size_t group, std::size_t q, std::size_t k) const {
        return row(group, q)[static_cast<std::ptrdiff_t>(k) * key_stride];
    }
    /// Returns the bias for the queries from `q` on of one matrix.
    BiasView from(std::size_t group, std::size_t q) const {
        BiasView view = *this;
        view.numbers = row(group, q);
        return view;
    }
};

/// The start of a causal mask's diagonal if the numbers of keys and queries differ. `start`: query
/// 0 with key 0, as PyTorch's tril. `end`: the last query with the last key, as with a cache of
/// earlier keys.
enum class CausalAlign { start, end };

/// The result of a fully masked row: nan, as in PyTorch; zeros; or an error.
enum class EmptyRow { nan, zero, error };

}  // namespace attn

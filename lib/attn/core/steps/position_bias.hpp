#pragma once
#include <cstdint>
#include <vector>

#include "attn/ground/tensor/attention_shape.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {

/// Returns the slopes of the heads in ALiBi: the penalty per token of distance.
///
///     slope(h) = 2^(-8 (h+1) / heads)                            for a power of two heads
///
/// For other numbers of heads, uses the slopes of the next lower power of two, then every second
/// one of the next higher.
///
/// Shapes  one per head; not sorted.
/// Source  Press, Smith & Lewis 2021, and the code that came with it.
std::vector<double> alibi_slopes(std::size_t heads);

/// T5's mapping of distances to buckets.
struct BucketRule {
    std::int64_t buckets = 32;
    std::int64_t max_distance = 128;
    bool bidirectional = true;  ///< half of the buckets are for later keys

    /// Returns the first distance whose bucket contains several.
    std::int64_t exact() const { return (bidirectional ? buckets / 2 : buckets) / 2; }
};

/// Returns the bucket of a key at `distance` = position of the key - position of the query.
///
///     n = |distance|;   bucket = n                                                for n < exact
///                       exact + log(n / exact) / log(max_distance / exact) * exact    else
///
/// Range   0 to buckets - 1. In one direction, later keys share bucket 0. The logarithm is computed
///         in float32 and truncated to an integer, as in the models.
/// Source  Raffel et al. 2020, section 2.1, and the code that came with it.
std::int64_t bucket_of(std::int64_t distance, const BucketRule& rule);

/// Parameters of a bias by distance: ALiBi's slopes, one per head, or T5's table (buckets, heads)
/// and its rule.
template <class T>
struct DistanceBias {
    MatrixView<const T> slopes{};  ///< one column; absent for T5
    MatrixView<const T> table{};
    BucketRule rule{};

    /// Errors  ShapeError for a table with fewer rows than buckets.
    std::size_t heads() const {
        if (slopes.numbers) return slopes.rows;
        if (table.numbers && table.rows >= static_cast<std::size_t>(rule.buckets))
            return table.columns;
        throw ShapeError("a table of " + std::to_string(table.rows) + " rows for " +
                         std::to_string(rule.buckets) + " buckets: give one for each");
    }
    /// Returns the bias of head `h` for a key at this distance before the query (negative: after
    /// it).
    T at(std::size_t h, std::int64_t distance) const {
        if (!slopes.numbers) {
            return table(0, static_cast<std::size_t>(bucket_of(distance, rule)), h);
        }
        return static_cast<T>(distance < 0 ? distance : -distance) * slopes(0, h, 0);
    }
};

/// Writes the bias for all distances that occur: that of query q and key k is at column q + key_len
/// - 1 - k of its head's row, so that adjacent columns are adjacent queries. `first` is the
/// position of query 0. The memory after the last column is readable by vectors.
template <class T>
Array<T> bias_by_distance(const DistanceBias<T>& bias, std::ptrdiff_t first, std::size_t query_len,
                          std::size_t key_len);

/// Returns a view of the result of bias_by_distance() by query and key.
template <class T>
BiasView<T> view_by_distance(const Array<T>& by_distance, std::size_t key_len);

/// Returns a view of a bias that broadcasts to scores of this shape.
///
/// Errors  ShapeError if it does not.
template <class T>
BiasView<T> bias_view(const Array<T>& bias, const Shape& scores);

/// Computes the bias of each query and key from their distance.
///
///     ALiBi:  position_bias(h,q,k) = -|position(q) - position(k)| * slope(h)
///     T5:     position_bias(h,q,k) = table(bucket(position(k) - position(q)), h)
///
/// Shapes  result (head, query, key); `first` is the position of query 0, keys are at 0, 1, ...
/// Why     scores do not depend on positions; a bias by distance adds them without changing query
///         or key.
template <class T>
Array<T> position_bias(const DistanceBias<T>& bias, std::ptrdiff_t first, std::size_t query_len,
                       std::size_t key_len);

/// Adds the bias to the scores.
///
///     biased_scores(q,k) = scores(q,k) + position_bias(q,k)
///
/// Shapes  scores (..., query_len, key_len); result the same.
///
/// A loop, not the rule of its step: a given bias is broadcast, for example from one number per
/// key.
template <class T>
Array<T> add_position_bias(Array<T> scores, const BiasView<T>& bias);

}  // namespace attn

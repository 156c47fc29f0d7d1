#pragma once
#include <cstdint>
#include <vector>

#include "attn/ground/tensor/attention_shape.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {

/// The slope of each head in ALiBi: how much a token further away counts less.
///
///     slope(h) = 2^(-8 (h+1) / heads)                            for a power of two heads
///
/// Other numbers of heads take the slopes of the next lower power of two, then every second one of
/// the next higher.
///
/// Shapes  as many as heads; they are not sorted.
/// Source  Press, Smith & Lewis 2021, and the code that came with it.
std::vector<double> alibi_slopes(std::size_t heads);

/// How T5 sorts distances into buckets.
struct BucketRule {
    std::int64_t buckets = 32;
    std::int64_t max_distance = 128;
    bool bidirectional = true;  ///< half of the buckets are for keys that come later

    /// From this distance on a bucket holds several.
    std::int64_t exact() const { return (bidirectional ? buckets / 2 : buckets) / 2; }
};

/// The bucket of a key at `distance` = position of the key - position of the query.
///
///     n = |distance|;   bucket = n                                                for n < exact
///                       exact + log(n / exact) / log(max_distance / exact) * exact    else
///
/// Range   0 to buckets - 1. In one direction, keys that come later share bucket 0. The logarithm
///         is taken in float32 and cut to a whole number, as the models do.
/// Source  Raffel et al. 2020, section 2.1, and the code that came with it.
std::int64_t bucket_of(std::int64_t distance, const BucketRule& rule);

/// Parameters of a bias by distance: ALiBi's slopes, one for each head, or T5's table
/// (buckets, heads) and its rule.
template <class T>
struct DistanceBias {
    MatrixView<const T> slopes{};  ///< one column; not there for T5
    MatrixView<const T> table{};
    BucketRule rule{};

    /// Errors  ShapeError for a table with less rows than buckets.
    std::size_t heads() const {
        if (slopes.numbers) return slopes.rows;
        if (table.numbers && table.rows >= static_cast<std::size_t>(rule.buckets))
            return table.columns;
        throw ShapeError("a table of " + std::to_string(table.rows) + " rows for " +
                         std::to_string(rule.buckets) + " buckets: give one for each");
    }
    /// The bias of head `h` for a key this far before the query (below 0: after it).
    T at(std::size_t h, std::int64_t distance) const {
        if (!slopes.numbers) {
            return table(0, static_cast<std::size_t>(bucket_of(distance, rule)), h);
        }
        return static_cast<T>(distance < 0 ? distance : -distance) * slopes(0, h, 0);
    }
};

/// Writes the bias of all distances that occur: that of query q and key k is at column
/// q + key_len - 1 - k of the row of its head, so that neighbours are neighbouring queries. `first`
/// is the position of query 0. After the last column there is room for vectors to read beyond it.
template <class T>
Array<T> bias_by_distance(const DistanceBias<T>& bias, std::ptrdiff_t first, std::size_t query_len,
                          std::size_t key_len);

/// The bias for each query and key, read from what bias_by_distance() made.
template <class T>
BiasView<T> view_by_distance(const Array<T>& by_distance, std::size_t key_len);

/// A bias that broadcasts to scores of this shape.
///
/// Errors  ShapeError when it does not.
template <class T>
BiasView<T> bias_view(const Array<T>& bias, const Shape& scores);

/// The bias of each query and key, from their distance alone.
///
///     ALiBi:  position_bias(h,q,k) = -|position(q) - position(k)| * slope(h)
///     T5:     position_bias(h,q,k) = table(bucket(position(k) - position(q)), h)
///
/// Shapes  result (head, query, key); `first` is the position of query 0, keys are at 0, 1, ...
/// Why     scores do not know where tokens are; distances say it without changing query or key.
template <class T>
Array<T> position_bias(const DistanceBias<T>& bias, std::ptrdiff_t first, std::size_t query_len,
                       std::size_t key_len);

/// Adds the bias to the scores.
///
///     biased_scores(q,k) = scores(q,k) + position_bias(q,k)
///
/// Shapes  scores (..., query_len, key_len); result the same.
///
/// A loop, and not the rule of its step: a bias of one's own broadcasts, from a number for each key
/// on.
template <class T>
Array<T> add_position_bias(Array<T> scores, const BiasView<T>& bias);

}  // namespace attn

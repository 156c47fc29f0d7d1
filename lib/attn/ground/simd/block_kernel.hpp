#pragma once
#include <limits>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/simd/tile.hpp"

// Included only by the files that are compiled for one instruction set: see vector_math.hpp.
namespace attn::simd {

/// Computes attention for one block of queries, as described in
/// attn/core/fused/fused_attention.hpp.
///
/// The lanes of a vector are queries. So the running maximum and sum are plain vectors, no row is
/// reduced across lanes, and both products have the same form: rows of numbers, each broadcast to
/// all lanes, times a panel with one number per query in each row.
///
///     scores  (key, query)     = key (key, feature)           x queries (feature, query)
///     context (feature, query) = value transposed (feature, key) x weights (key, query)
///
/// Source  Dao et al. 2022, algorithm 1, with the loop over queries outside.
template <class Real, class Arch>
class BlockKernel {
    using Batch = xsimd::batch<Real, Arch>;
    using Math = VectorMath<Real, Arch>;
    using Sums = Tile<Real, Arch>;
    template <std::size_t Rows>
    using Height = std::integral_constant<std::size_t, Rows>;

    // With this size, the weights of a block and its values stay in the L1 and L2 caches.
    static constexpr std::size_t key_block = 192;
    // Rounding errors grow with the length of a chain of additions. A query with at most this many
    // multiply-adds can afford short chains.
    static constexpr std::size_t short_chain = 8;
    static constexpr std::size_t small_work = 4096;
    static constexpr Real minus_infinity = -std::numeric_limits<Real>::infinity();
    static constexpr Real log2_e = static_cast<Real>(1.442695040888963407359924681001892137L);

public:
    static constexpr std::size_t lanes = Batch::size;
    static constexpr std::size_t query_block = Sums::most_vectors * lanes;

    static std::size_t scratch_size(std::size_t head_dim, std::size_t value_dim) {
        return (head_dim + value_dim + key_block) * query_block;
    }

    static void attend(const QueryBlock<Real>& block) {
        if (block.queries > 2 * lanes) return attend_width<3>(block);
        if (block.queries > lanes) return attend_width<2>(block);
        return attend_width<1>(block);
    }

private:
    template <std::size_t Vectors>
    static void attend_width(const QueryBlock<Real>& block) {
        constexpr std::size_t width = Vectors * lanes;
        Real* queries = block.scratch;
        Real* context = queries + block.head_dim * width;
        Real* scores = context + block.value_dim * width;
        pack_queries<width>(block, queries);
        for (std::size_t i = 0; i < block.value_dim * width; ++i) context[i] = 0;
        Batch maximum[Vectors], sum[Vectors];
        const Real met = block.sink == minus_infinity ? Real(0) : Real(1);
        for (std::size_t v = 0; v < Vectors; ++v) maximum[v] = Batch(block.sink * log2_e);
        for (std::size_t v = 0; v < Vectors; ++v) sum[v] = Batch(met);

        const std::size_t most_keys = is_small(block) ? short_chain : key_block;
        for (std::size_t first = block.first_key; first < block.keys; first += most_keys) {
            const std::size_t count = smaller(most_keys, block.keys - first);
            const Hidden hidden = hidden_cells(block, first, count);
            if (hidden == Hidden::all) continue;
            score<Vectors>(block, queries, first, count, scores);
            if (block.cap != 0) cap_scores<Vectors>(block.cap, count, scores);
            if (block.bias) add_bias<Vectors>(block, first, count, scores);
            hide_later_keys<Vectors>(block, first, count, scores);
            hide_earlier_keys<Vectors>(block, first, count, scores);
            if (hidden == Hidden::some) hide_cells<width>(block, first, count, scores);
            Batch correction[Vectors];
            exponentials<Vectors>(scores, count, maximum, sum, correction);
            if (block.keep) drop_cells<width>(block, first, count, scores);
            accumulate<Vectors>(block, scores, first, count, correction, context);
        }
        unpack_context<Vectors>(block, sum, context);
    }

    static bool is_small(const QueryBlock<Real>& block) {
        return (block.keys - block.first_key) * (block.head_dim + block.value_dim) <= small_work;
    }

    static std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

    /// Packs the queries transposed, so that lanes are queries, times scale and log2(e): the
    /// exponentials below are powers of two, and no score is ever multiplied. With a cap, the
    /// scores are divided by it for tanh.
    template <std::size_t width>
    static void pack_queries(const QueryBlock<Real>& block, Real* queries) {
        const Batch factor(block.cap != 0 ? block.scale / block.cap : block.scale * log2_e);
        Math::transpose(block.query, block.queries, block.head_dim, block.head_dim, queries, width);
        for (std::size_t d = 0; d < block.head_dim; ++d) {
            for (std::size_t q = block.queries; q < width; ++q) queries[d * width + q] = 0;
        }
        for (std::size_t i = 0; i < block.head_dim * width; i += lanes) {
            (factor * Batch::load_aligned(queries + i)).store_aligned(queries + i);
        }
    }

    template <std::size_t Vectors>
    static void score(const QueryBlock<Real>& block, const Real* queries, std::size_t first,
                      std::size_t count, Real* scores) {
        const Real* const keys = block.key + first * block.head_dim;
        const std::size_t chain =
            is_small(block) ? smaller(short_chain, block.head_dim) : block.head_dim;
        score_part<Vectors, false>(block, queries, keys, chain, count, scores);
        for (std::size_t d = chain; d < block.head_dim; d += chain) {
            score_part<Vectors, true>(block, queries + d * Vectors * lanes, keys + d,
                                      smaller(chain, block.head_dim - d), count, scores);
        }
    }

    /// Computes the products of `dims` features, and writes them to the scores or adds them.
    template <std::size_t Vectors, bool Add>
    static void score_part(const QueryBlock<Real>& block, const Real* queries, const Real* keys,
                           std::size_t dims, std::size_t count, Real* scores) {
        Sums::for_each(
            count, [&]<std::size_t Rows>(Height<Rows>,
                                         std::size_t k) __attribute__((always_inline)) {
                Batch sums[Rows][Vectors];
                Sums::multiply(sums, keys + k * block.head_dim, block.head_dim, 1, queries, dims);
                for (std::size_t r = 0; r < Rows; ++r) {
                    for (std::size_t v = 0; v < Vectors; ++v) {
                        Real* const cells = scores + ((k + r) * Vectors + v) * lanes;
                        if constexpr (Add) sums[r][v] += Batch::load_aligned(cells);
                        sums[r][v].store_aligned(cells);
                    }
                }
            });
    }

    /// Applies the soft cap to the scores, and multiplies them by log2(e).
    template <std::size_t Vectors>
    static void cap_scores(Real cap, std::size_t count, Real* scores) {
        const Batch bound(cap * log2_e);
        for (std::size_t i = 0; i < count * Vectors * lanes; i += lanes) {
            (bound * xsimd::tanh(Batch::load_aligned(scores + i))).store_aligned(scores + i);
        }
    }

    /// Adds the bias times log2(e). If only the distance counts (the key's stride is -1), adjacent
    /// queries read adjacent numbers, and memory after the last of them is readable.
    template <std::size_t Vectors>
    static void add_bias(const QueryBlock<Real>& block, std::size_t first, std::size_t count,
                         Real* scores) {
        constexpr std::size_t width = Vectors * lanes;
        const Batch factor(log2_e);
        alignas(64) Real gathered[width] = {};
        for (std::size_t k = 0; k < count; ++k) {
            const Real* numbers = block.bias + std::ptrdiff_t(first + k) * block.bias_key_stride;
            if (block.bias_key_stride != -1) {
                for (std::size_t q = 0; q < block.queries; ++q) {
                    gathered[q] = numbers[std::ptrdiff_t(q) * block.bias_query_stride];
                }
                numbers = gathered;
            }
            for (std::size_t v = 0; v < width; v += lanes) {
                Real* const cells = scores + k * width + v;
                Math::multiply_add(Batch::load_unaligned(numbers + v), factor,
                                   Batch::load_aligned(cells))
                    .store_aligned(cells);
            }
        }
    }

    /// Causal attention: hides the keys after each query's last visible one, if this block has any.
    template <std::size_t Vectors>
    static void hide_later_keys(const QueryBlock<Real>& block, std::size_t first, std::size_t count,
                                Real* scores) {
        if (!block.causal) return;
        const std::ptrdiff_t visible_to_all = block.last_visible + 1 - std::ptrdiff_t(first);
        for (std::ptrdiff_t k = visible_to_all > 0 ? visible_to_all : 0; k < std::ptrdiff_t(count);
             ++k) {
            const Batch first_query(Real(k - visible_to_all + 1));
            keep_queries<Vectors>(scores + std::size_t(k) * Vectors * lanes,
                                  [&](const Batch& query) { return query >= first_query; });
        }
    }

    /// A sliding window: hides the keys before each query's first visible one.
    template <std::size_t Vectors>
    static void hide_earlier_keys(const QueryBlock<Real>& block, std::size_t first,
                                  std::size_t count, Real* scores) {
        if (!block.window) return;
        const std::ptrdiff_t first_visible = block.first_visible - std::ptrdiff_t(first);
        const std::ptrdiff_t visible_to_all = first_visible + std::ptrdiff_t(block.queries) - 1;
        for (std::ptrdiff_t k = 0; k < std::ptrdiff_t(count) && k < visible_to_all; ++k) {
            const Batch last_query(Real(k - first_visible));
            keep_queries<Vectors>(scores + std::size_t(k) * Vectors * lanes,
                                  [&](const Batch& query) { return query <= last_query; });
        }
    }

    /// Hides one key from the queries of the block, by their numbers, that must not see it.
    template <std::size_t Vectors, class Sees>
    [[gnu::always_inline]] static inline void keep_queries(Real* cells, Sees sees) {
        alignas(64) Real numbers[lanes];
        for (std::size_t i = 0; i < lanes; ++i) numbers[i] = Real(i);
        for (std::size_t v = 0; v < Vectors; ++v) {
            const Batch query = Batch::load_aligned(numbers) + Batch(Real(v * lanes));
            xsimd::select(sees(query), Batch::load_aligned(cells + v * lanes),
                          Batch(minus_infinity))
                .store_aligned(cells + v * lanes);
        }
    }

    enum class Hidden { none, some, all };

    /// Returns whether the general mask hides none, some or all cells of this block of keys.
    static Hidden hidden_cells(const QueryBlock<Real>& block, std::size_t first,
                               std::size_t count) {
        if (!block.hidden) return Hidden::none;
        const std::size_t rows = block.query_stride == 0 ? 1 : block.queries;
        std::size_t hidden = 0;
        for (std::size_t q = 0; q < rows; ++q) {
            const bool* cells = block.hidden + q * block.query_stride + first * block.key_stride;
            for (std::size_t k = 0; k < count; ++k) hidden += cells[k * block.key_stride];
        }
        if (hidden == 0) return Hidden::none;
        return hidden == rows * count ? Hidden::all : Hidden::some;
    }

    template <std::size_t width>
    static void hide_cells(const QueryBlock<Real>& block, std::size_t first, std::size_t count,
                           Real* scores) {
        for (std::size_t q = 0; q < block.queries; ++q) {
            const bool* cells = block.hidden + q * block.query_stride + first * block.key_stride;
            for (std::size_t k = 0; k < count; ++k) {
                if (cells[k * block.key_stride]) scores[k * width + q] = minus_infinity;
            }
        }
    }

    /// Updates the running maximum, replaces the scores by their exponentials and adds these to the
    /// running sum. `correction` rescales running sum and context to the new maximum.
    template <std::size_t Vectors>
    static void exponentials(Real* scores, std::size_t count, Batch (&maximum)[Vectors],
                             Batch (&sum)[Vectors], Batch (&correction)[Vectors]) {
        Batch shift[Vectors], block_sum[Vectors];
        for (std::size_t v = 0; v < Vectors; ++v) shift[v] = maximum[v];
        for (std::size_t k = 0; k < count; ++k) {
            for (std::size_t v = 0; v < Vectors; ++v) {
                shift[v] =
                    xsimd::max(shift[v], Batch::load_aligned(scores + (k * Vectors + v) * lanes));
            }
        }
        for (std::size_t v = 0; v < Vectors; ++v) {
            const Batch old_maximum = maximum[v];
            maximum[v] = shift[v];
            // Before the first visible key this would be -inf - -inf: use any finite shift instead.
            shift[v] = xsimd::select(shift[v] == Batch(minus_infinity), Batch(Real(0)), shift[v]);
            correction[v] = old_maximum - shift[v];
            block_sum[v] = Batch(Real(0));
        }
        Math::exp2_below_one(correction);
        for (std::size_t first = 0; first < count; first += short_chain) {
            Batch group_sum[Vectors];
            for (Batch& number : group_sum) number = Batch(Real(0));
            for (std::size_t k = first; k < smaller(first + short_chain, count); ++k) {
                Real* cells = scores + k * Vectors * lanes;
                Batch row[Vectors];
                for (std::size_t v = 0; v < Vectors; ++v) {
                    row[v] = Batch::load_aligned(cells + v * lanes) - shift[v];
                }
                Math::exp2_below_one(row);
                for (std::size_t v = 0; v < Vectors; ++v) {
                    row[v].store_aligned(cells + v * lanes);
                    group_sum[v] += row[v];
                }
            }
            for (std::size_t v = 0; v < Vectors; ++v) block_sum[v] += group_sum[v];
        }
        for (std::size_t v = 0; v < Vectors; ++v) {
            sum[v] = Math::multiply_add(sum[v], correction[v], block_sum[v]);
        }
    }

    /// Applies dropout: zeroes the dropped exponentials, which the running sum already includes.
    template <std::size_t width>
    static void drop_cells(const QueryBlock<Real>& block, std::size_t first, std::size_t count,
                           Real* exponentials) {
        for (std::size_t q = 0; q < block.queries; ++q) {
            const Real* cells = block.keep + q * block.keep_stride + first;
            for (std::size_t k = 0; k < count; ++k) exponentials[k * width + q] *= cells[k];
        }
    }

    template <std::size_t Vectors>
    static void accumulate(const QueryBlock<Real>& block, const Real* weights, std::size_t first,
                           std::size_t count, const Batch (&correction)[Vectors], Real* context) {
        const Real* values = block.value + first * block.value_dim;
        Sums::for_each(
            block.value_dim, [&]<std::size_t Rows>(Height<Rows>,
                                                   std::size_t j) __attribute__((always_inline)) {
                Batch sums[Rows][Vectors];
                Sums::multiply(sums, values + j, 1, block.value_dim, weights, count);
                for (std::size_t r = 0; r < Rows; ++r) {
                    for (std::size_t v = 0; v < Vectors; ++v) {
                        Real* const cells = context + ((j + r) * Vectors + v) * lanes;
                        Math::multiply_add(correction[v], Batch::load_aligned(cells), sums[r][v])
                            .store_aligned(cells);
                    }
                }
            });
    }

    /// Divides by the running sums and transposes the block back. A sum of exactly 0 means a fully
    /// masked query: for any other the largest exponential is 1.
    template <std::size_t Vectors>
    static void unpack_context(const QueryBlock<Real>& block, const Batch (&sum)[Vectors],
                               Real* context) {
        constexpr std::size_t width = Vectors * lanes;
        for (std::size_t v = 0; v < Vectors; ++v) {
            const auto empty = sum[v] == Batch(Real(0));
            for (std::size_t j = 0; j < block.value_dim; ++j) {
                Real* cells = context + j * width + v * lanes;
                const Batch share = Math::divide(Batch::load_aligned(cells), sum[v]);
                xsimd::select(empty, Batch(block.empty_row), share).store_aligned(cells);
            }
        }
        Math::transpose(context, block.value_dim, block.queries, width, block.context,
                        block.value_dim);
    }
};

}  // namespace attn::simd

#include "attn/steps/stepped_attention.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attn/fused/parallel.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/matmul.hpp"
#include "attn/tensor/rows.hpp"
#include "attn/tensor/stream.hpp"

namespace attn {
namespace {

/// The rows of a window. Fewer would stay in a nearer cache, but a matrix product of few rows is
/// slow: BLAS lays out all keys anew for each.
constexpr std::size_t most_window_rows = 256;

std::size_t padded(std::size_t count) { return (count + 15) / 16 * 16; }

template <class T>
class Windows {
public:
    Windows(const T* query, const T* key, const T* value, const FusedShape& shape,
            const SteppedOptions& options, const KeptSteps<T>& kept)
        : query_(query),
          key_(key),
          value_(value),
          shape_(shape),
          options_(options),
          kept_(kept),
          rows_(row_operations<T>(shape.key_len)),
          height_(std::min(most_window_rows, shape.query_len)),
          groups_(shape.batch * shape.heads),
          shortens_(groups_, false) {
        // Below this length the order of a sum depends on where the row ends.
        const bool in_vectors = shape.key_len >= vector_row_length;
        const std::size_t values = shape.key_len * shape.value_dim;
        for (std::size_t g = 0; masks() && in_vectors && g < groups_; ++g) {
            shortens_[g] = rows_.finite(value + g * values, values);
        }
    }

    void evaluate() {
        if (groups_ == 0 || shape_.query_len == 0 || shape_.key_len == 0) return;
        const std::size_t windows = (shape_.query_len + height_ - 1) / height_;
        const std::size_t tasks = groups_ * windows;
        const double work = static_cast<double>(groups_ * shape_.query_len) *
                            static_cast<double>(shape_.key_len) *
                            static_cast<double>(shape_.head_dim + shape_.value_dim);
        const std::size_t threads = fused::worthwhile_threads(options_.threads, work, tasks);
        const std::size_t cells = scratch_cells();
        thread_local fused::Scratch scratch;
        T* const memory = scratch.reserve<T>(threads * cells);
        set_blas_threads(1);
        // In causal attention the last windows of a head are the long ones: they come first.
        fused::share_tasks(tasks, threads, [&](std::size_t task, std::size_t thread) {
            const std::size_t first = (windows - 1 - task % windows) * height_;
            evaluate(task / windows, first, memory + thread * cells);
            finish_streams();
        });
        if (first_empty_row_ != no_row) {
            throw ConfigError("row " + std::to_string(options_.first_row + first_empty_row_) +
                              " of the scores hides every key, so there is nothing to share out: "
                              "mend the mask, or choose nan or zero for empty rows");
        }
    }

private:
    static constexpr std::size_t no_row = std::numeric_limits<std::size_t>::max();
    static constexpr T minus_infinity = -std::numeric_limits<T>::infinity();

    bool masks() const {
        return options_.mask.causal || options_.mask.key_lengths || hides_cells();
    }
    bool hides_cells() const { return options_.mask.hidden != nullptr; }
    bool softens() const {
        return kept_.row_max || kept_.exponentials || kept_.row_sum || kept_.weights ||
               kept_.context;
    }

    /// The strip in which scores become weights, and the mask's row.
    std::size_t scratch_cells() const { return (height_ + 1) * padded(shape_.key_len); }

    /// How many keys row `q` sees, up to its last one. Cells hidden before that are true in
    /// `hidden`; returns whether there are any.
    std::size_t visible_keys(std::size_t group, std::size_t q, bool* hidden, bool& hides) const {
        const FusedMask& mask = options_.mask;
        const std::size_t batch = group / shape_.heads;
        std::size_t visible = shape_.key_len;
        if (mask.causal) {
            const auto last = static_cast<std::ptrdiff_t>(q) + mask.causal_offset;
            visible = last < 0 ? 0 : std::min(visible, static_cast<std::size_t>(last) + 1);
        }
        if (mask.key_lengths) visible = std::min(visible, mask.key_lengths[batch]);
        hides = false;
        if (!mask.hidden) return visible;
        const bool* cells = mask.hidden + batch * mask.batch_stride +
                            group % shape_.heads * mask.head_stride + q * mask.query_stride;
        while (visible > 0 && cells[(visible - 1) * mask.key_stride]) --visible;
        for (std::size_t k = 0; k < visible; ++k) {
            hidden[k] = cells[k * mask.key_stride];
            hides = hides || hidden[k];
        }
        return visible;
    }

    /// One window: the rows from `first` on of one group.
    void evaluate(std::size_t group, std::size_t first, T* scratch) {
        const std::size_t keys = shape_.key_len;
        const std::size_t count = std::min(height_, shape_.query_len - first);
        const std::size_t row = group * shape_.query_len + first;
        T* const strip = scratch;
        bool* const hidden = reinterpret_cast<bool*>(strip + height_ * padded(keys));

        // Find the keys that this window needs.
        std::size_t seen = keys;
        if (shortens_[group]) {
            seen = 1;
            bool hides = false;
            for (std::size_t q = first + count; q-- > first && seen < keys;) {
                seen = std::max(seen, visible_keys(group, q, hidden, hides));
            }
        }
        // Compare its queries with them.
        const bool all_scores = kept_.scores || kept_.scaled_scores;
        const std::size_t compared = all_scores ? keys : seen;
        multiply_rows(query_ + row * shape_.head_dim, shape_.head_dim,
                      key_ + group * keys * shape_.head_dim, strip, compared, count,
                      shape_.head_dim, compared, Second::transposed);
        // Turn each row of scores into weights. What is kept leaves the cache.
        for (std::size_t q = 0; q < count; ++q) {
            T* const cells = strip + q * compared;
            if (kept_.scores) stream_row(cells, kept_.scores + (row + q) * keys, keys);
            soften(group, first + q, cells, seen, hidden);
        }
        // Mix the values.
        if (kept_.context == nullptr) return;
        multiply_rows(strip, compared, value_ + group * keys * shape_.value_dim,
                      kept_.context + row * shape_.value_dim, shape_.value_dim, count, seen,
                      shape_.value_dim, Second::as_stored);
    }

    /// The steps from one row of scores to its row of weights, in its place, of which `width` cells
    /// are wanted.
    void soften(std::size_t group, std::size_t q, T* cells, std::size_t width, bool* hidden) {
        const std::size_t keys = shape_.key_len;
        const std::size_t place = group * shape_.query_len + q;
        bool hides = false;
        const std::size_t last = visible_keys(group, q, hidden, hides);
        const std::size_t visible = shortens_[group] ? last : keys;
        if (visible == keys && last < keys) {
            std::fill(hidden + (hides || hides_cells() ? last : 0), hidden + last, false);
            std::fill(hidden + last, hidden + keys, true);
            hides = true;
        }

        const T* row = cells;
        if (kept_.scaled_scores || options_.scale.number != 1) {
            T* const scaled = kept_.scaled_scores ? kept_.scaled_scores + place * keys : cells;
            vectorized::scale_row(rows_, row, options_.scale, scaled,
                                  kept_.scaled_scores ? keys : visible);
            row = scaled;
        }
        if (hides || kept_.masked_scores) {
            T* const masked = kept_.masked_scores ? kept_.masked_scores + place * keys : cells;
            if (hides) {
                rows_.hide(row, hidden, masked, visible);
            } else {
                std::copy_n(row, visible, masked);
            }
            if (kept_.masked_scores) std::fill(masked + visible, masked + keys, minus_infinity);
            row = masked;
        }
        if (!softens()) return;

        // What the hidden keys after the last visible one contribute: 0, or nan to a row of nan.
        const T largest = rows_.maximum(row, visible);
        const T rest = std::exp(minus_infinity - largest);
        T* const exponentials = kept_.exponentials ? kept_.exponentials + place * keys : cells;
        rows_.exponentials(row, largest, exponentials, visible);
        if (kept_.exponentials) std::fill(exponentials + visible, exponentials + keys, rest);
        const T sum = rows_.sum(exponentials, visible) + (visible < keys ? rest : T(0));
        rows_.share(exponentials, sum, cells, visible);
        if (visible < width) std::fill(cells + visible, cells + width, rest / sum);
        if (kept_.row_max) kept_.row_max[place] = largest;
        if (kept_.row_sum) kept_.row_sum[place] = sum;
        if (largest == minus_infinity) treat_empty_row(place, cells, width);
        if (kept_.weights == nullptr) return;
        T* const kept = kept_.weights + place * keys;
        stream_row(cells, kept, width);
        // Behind the last key that the window sees, every cell is as the last one of this row.
        const bool zero = largest == minus_infinity && options_.empty_row == EmptyRow::zero;
        std::fill(kept + width, kept + keys, zero ? T(0) : rest / sum);
    }

    void treat_empty_row(std::size_t place, T* weights, std::size_t width) {
        if (options_.empty_row == EmptyRow::zero) std::fill_n(weights, width, T(0));
        if (options_.empty_row != EmptyRow::error) return;
        std::size_t known = first_empty_row_;
        while (place < known && !first_empty_row_.compare_exchange_weak(known, place)) {
        }
    }

    const T* query_;
    const T* key_;
    const T* value_;
    const FusedShape& shape_;
    const SteppedOptions& options_;
    const KeptSteps<T>& kept_;
    const RowOperations<T>& rows_;
    std::size_t height_;
    std::size_t groups_;
    /// Whether rows of the group may end at their last visible key: a hidden value that is inf or
    /// nan makes 0 times it nan, and such a group is evaluated whole.
    std::vector<bool> shortens_;
    std::atomic<std::size_t> first_empty_row_ = no_row;
};

}  // namespace

void stepped_attention(const float* query, const float* key, const float* value,
                       const FusedShape& shape, const SteppedOptions& options,
                       const KeptSteps<float>& kept) {
    Windows<float>(query, key, value, shape, options, kept).evaluate();
}

void stepped_attention(const double* query, const double* key, const double* value,
                       const FusedShape& shape, const SteppedOptions& options,
                       const KeptSteps<double>& kept) {
    Windows<double>(query, key, value, shape, options, kept).evaluate();
}

}  // namespace attn

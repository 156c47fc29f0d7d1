#include "attn/steps/stepped_attention.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attn/simd/kernels.hpp"
#include "attn/simd/memory.hpp"
#include "attn/simd/parallel.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/matmul.hpp"

namespace attn {
namespace {

/// The rows of a window: three tiles of sums, so that each panel of keys is used three times while
/// it is near, and few enough for their scores to stay near too.
constexpr std::size_t most_window_rows = 24;

/// Fewer rows than this do not repay laying out all keys and values; BLAS multiplies them.
constexpr std::size_t fewest_laid_out_rows = 16;

/// This much of a row is worked on at a time, so that what one operation wrote is still in the
/// first cache when the next one reads it.
constexpr std::size_t stretch = 2048;

/// The distance of rows in memory: whole cache lines, and an odd number of them, since rows a power
/// of two apart compete for the same few places of a cache.
std::size_t row_distance(std::size_t count) { return ((count + 15) / 16 | 1) * 16; }

/// How many of the first `count` cells of a row lie in the stretch that begins at `at`.
std::size_t part(std::size_t count, std::size_t at) {
    return count > at ? std::min(count - at, stretch) : 0;
}

template <class T>
class Windows {
public:
    Windows(const T* query, const T* key, const T* value, const AttentionShape& shape,
            const SteppedOptions& options, const KeptSteps<T>& kept)
        : query_(query),
          key_(key),
          value_(value),
          shape_(shape),
          options_(options),
          kept_(kept),
          rows_(row_operations<T>(shape.key_len)),
          panels_(lays_out(shape) ? &panel_operations<T>() : nullptr),
          height_(std::min(most_window_rows, shape.query_len)),
          distance_(row_distance(shape.key_len)),
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
        const std::size_t threads = worthwhile_threads(options_.threads, work, tasks);
        const std::size_t cells = workspace_cells();
        thread_local Scratch scratch;
        T* const memory = scratch.reserve<T>(threads * cells);
        std::vector<Workspace> workspaces;
        for (std::size_t t = 0; t < threads; ++t) {
            workspaces.push_back(workspace(memory + t * cells));
        }
        keep_blas_to_one_thread();
        // In causal attention the last windows of a head are the long ones: they come first.
        share_tasks(tasks, threads, [&](std::size_t task, std::size_t thread) {
            const std::size_t first = (windows - 1 - task % windows) * height_;
            evaluate(task / windows, first, workspaces[thread]);
            finish_streams();
        });
        if (first_empty_row_ != no_row) {
            throw ConfigError("row " + std::to_string(options_.first_row + first_empty_row_) +
                              " of the scores hides every key, so there is nothing to share out: "
                              "mend the mask, or choose nan or zero for empty rows");
        }
    }

private:
    static constexpr std::size_t no_group = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t no_row = std::numeric_limits<std::size_t>::max();
    static constexpr T minus_infinity = -std::numeric_limits<T>::infinity();

    bool masks() const { return options_.mask.causal || hides_cells(); }
    bool hides_cells() const { return options_.mask.hidden != nullptr; }
    bool softens() const {
        return kept_.row_max || kept_.exponentials || kept_.row_sum || kept_.weights ||
               kept_.context;
    }

    static bool lays_out(const AttentionShape& shape) {
        return shape.query_len >= fewest_laid_out_rows && shape.key_len >= vector_row_length;
    }

    /// What one thread works with.
    struct Workspace {
        T* strip;           ///< (height, key_len): the rows in which scores become weights
        bool* hidden;       ///< the mask of one row
        T* keys;            ///< the panels of the keys
        T* values;          ///< and of the values
        std::size_t group;  ///< whose keys and values these are
    };

    Workspace workspace(T* memory) const {
        T* const hidden = memory + height_ * distance_;
        T* const keys = hidden + distance_;
        return {memory, reinterpret_cast<bool*>(hidden), keys, keys + key_cells(), no_group};
    }

    std::size_t workspace_cells() const {
        const std::size_t value_cells =
            panels_ ? panels_->size(shape_.key_len, shape_.value_dim) : 0;
        return (height_ + 1) * distance_ + key_cells() + row_distance(value_cells);
    }

    std::size_t key_cells() const {
        return panels_ ? row_distance(panels_->size(shape_.head_dim, shape_.key_len)) : 0;
    }

    /// How many keys row `q` sees, up to its last one. Cells hidden before that are true in
    /// `hidden`; returns whether there are any.
    std::size_t visible_keys(std::size_t group, std::size_t q, bool* hidden, bool& hides) const {
        const MaskView& mask = options_.mask;
        const std::size_t batch = group / shape_.heads;
        std::size_t visible = shape_.key_len;
        if (mask.causal) {
            const auto last = static_cast<std::ptrdiff_t>(q) + mask.causal_offset;
            visible = last < 0 ? 0 : std::min(visible, static_cast<std::size_t>(last) + 1);
        }
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
    void evaluate(std::size_t group, std::size_t first, Workspace& work) {
        const std::size_t keys = shape_.key_len;
        const std::size_t count = std::min(height_, shape_.query_len - first);
        const std::size_t row = group * shape_.query_len + first;

        // Find the keys that this window needs.
        std::size_t seen = keys;
        if (shortens_[group]) {
            seen = 1;
            bool hides = false;
            for (std::size_t q = first + count; q-- > first && seen < keys;) {
                seen = std::max(seen, visible_keys(group, q, work.hidden, hides));
            }
        }
        // Compare its queries with them.
        const bool all_scores = kept_.scores || kept_.scaled_scores;
        compare(group, row, count, all_scores ? keys : seen, work);
        // Turn each row of scores into weights. What is kept leaves the cache.
        for (std::size_t q = 0; q < count; ++q) {
            soften(group, first + q, work.strip + q * distance_, seen, work.hidden);
        }
        // Mix the values.
        if (kept_.context) mix(group, row, count, seen, work);
    }

    /// The scores of `count` queries from `row` on with the first `keys` keys.
    void compare(std::size_t group, std::size_t row, std::size_t count, std::size_t keys,
                 Workspace& work) {
        const std::size_t dim = shape_.head_dim;
        const T* const key = key_ + group * shape_.key_len * dim;
        if (panels_ == nullptr) {
            multiply_rows(query_ + row * dim, dim, key, work.strip, distance_, count, dim, keys,
                          Second::transposed);
            return;
        }
        if (work.group != group) {
            panels_->pack(key, dim, shape_.key_len, true, work.keys);
            if (kept_.context) {
                panels_->pack(value_ + group * shape_.key_len * shape_.value_dim, shape_.key_len,
                              shape_.value_dim, false, work.values);
            }
            work.group = group;
        }
        panels_->multiply(query_ + row * dim, dim, count, {work.keys, dim, shape_.key_len}, dim,
                          keys, work.strip, distance_);
    }

    void mix(std::size_t group, std::size_t row, std::size_t count, std::size_t keys,
             Workspace& work) {
        const std::size_t dim = shape_.value_dim;
        T* const context = kept_.context + row * dim;
        if (panels_ == nullptr) {
            multiply_rows(work.strip, distance_, value_ + group * shape_.key_len * dim, context,
                          dim, count, keys, dim, Second::as_stored);
            return;
        }
        panels_->multiply(work.strip, distance_, count, {work.values, shape_.key_len, dim}, keys,
                          dim, context, dim);
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

        const auto kept_row = [&](T* kept) { return kept ? kept + place * keys : cells; };
        T* const scaled = kept_row(kept_.scaled_scores);
        const bool scales = scaled != cells || options_.scale.number != 1;
        T* const masked = kept_.masked_scores ? kept_row(kept_.masked_scores)
                          : hides             ? cells
                                              : scaled;
        T largest = minus_infinity;
        for (std::size_t at = 0; at < keys; at += stretch) {
            if (kept_.scores) {
                stream_row(cells + at, kept_.scores + place * keys + at, part(keys, at));
            }
            if (scales) {
                vectorized::scale_row(rows_, cells + at, options_.scale, scaled + at,
                                      part(kept_.scaled_scores ? keys : visible, at));
            }
            if (hides) {
                rows_.hide(scaled + at, hidden + at, masked + at, part(visible, at));
            } else if (masked != scaled) {
                std::copy_n(scaled + at, part(visible, at), masked + at);
            }
            if (!softens()) continue;
            const T number = rows_.maximum(masked + at, part(visible, at));
            if (number > largest || std::isnan(number)) largest = number;
        }
        if (kept_.masked_scores) std::fill(masked + visible, masked + keys, minus_infinity);
        if (!softens()) return;

        // What the hidden keys after the last visible one contribute: 0, or nan to a row of nan.
        const T rest = std::exp(minus_infinity - largest);
        T* const exponentials = kept_row(kept_.exponentials);
        const T sum = rows_.exponentials(masked, largest, exponentials, visible) +
                      (visible < keys ? rest : T(0));
        if (kept_.exponentials) std::fill(exponentials + visible, exponentials + keys, rest);
        if (kept_.row_max) kept_.row_max[place] = largest;
        if (kept_.row_sum) kept_.row_sum[place] = sum;
        share(place, exponentials, largest, rest, sum, cells, visible, width);
    }

    /// The exponentials of a row as weights, the last step. Every cell from `visible` on is alike.
    void share(std::size_t place, const T* exponentials, T largest, T rest, T sum, T* cells,
               std::size_t visible, std::size_t width) {
        const bool empty = largest == minus_infinity;
        const bool zero = empty && options_.empty_row == EmptyRow::zero;
        if (empty && options_.empty_row == EmptyRow::error) report_empty_row(place);
        const std::size_t shared = zero ? 0 : visible;
        const T hidden_weight = zero ? T(0) : rest / sum;
        std::fill(cells + shared, cells + width, hidden_weight);
        T* const kept = kept_.weights ? kept_.weights + place * shape_.key_len : nullptr;
        for (std::size_t at = 0; at < width; at += stretch) {
            rows_.normalize(exponentials + at, sum, cells + at, part(shared, at));
            if (kept) stream_row(cells + at, kept + at, part(width, at));
        }
        if (kept) std::fill(kept + width, kept + shape_.key_len, hidden_weight);
    }

    void report_empty_row(std::size_t place) {
        std::size_t known = first_empty_row_;
        while (place < known && !first_empty_row_.compare_exchange_weak(known, place)) {
        }
    }

    const T* query_;
    const T* key_;
    const T* value_;
    const AttentionShape& shape_;
    const SteppedOptions& options_;
    const KeptSteps<T>& kept_;
    const RowOperations<T>& rows_;
    const PanelOperations<T>* panels_;  ///< null where BLAS multiplies
    std::size_t height_;
    std::size_t distance_;
    std::size_t groups_;
    /// Whether rows of the group may end at their last visible key: a hidden value that is inf or
    /// nan makes 0 times it nan, and such a group is evaluated whole.
    std::vector<bool> shortens_;
    std::atomic<std::size_t> first_empty_row_ = no_row;
};

}  // namespace

void stepped_attention(const float* query, const float* key, const float* value,
                       const AttentionShape& shape, const SteppedOptions& options,
                       const KeptSteps<float>& kept) {
    Windows<float>(query, key, value, shape, options, kept).evaluate();
}

void stepped_attention(const double* query, const double* key, const double* value,
                       const AttentionShape& shape, const SteppedOptions& options,
                       const KeptSteps<double>& kept) {
    Windows<double>(query, key, value, shape, options, kept).evaluate();
}

}  // namespace attn

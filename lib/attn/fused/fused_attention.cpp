#include "attn/fused/fused_attention.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "attn/fused/dispatch.hpp"
#include "attn/simd/parallel.hpp"
#include "attn/tensor/error.hpp"

namespace attn {

namespace {

void check_key_lengths(const FusedShape& shape, const FusedMask& mask) {
    if (!mask.key_lengths) return;
    for (std::size_t b = 0; b < shape.batch; ++b) {
        if (mask.key_lengths[b] > shape.key_len) {
            throw ShapeError("key length " + std::to_string(mask.key_lengths[b]) +
                             " of batch entry " + std::to_string(b) + " exceeds the " +
                             std::to_string(shape.key_len) + " keys: pass at most that many");
        }
    }
}

double multiply_adds(const FusedShape& shape, const FusedMask& mask) {
    const double cells = static_cast<double>(shape.batch * shape.heads) *
                         static_cast<double>(shape.query_len) * static_cast<double>(shape.key_len);
    return cells * static_cast<double>(shape.head_dim + shape.value_dim) *
           (mask.causal ? 0.5 : 1.0);
}

/// The part of the work that starts at query `first` of one head.
template <class Real>
fused::QueryBlock<Real> query_block(const Real* query, const Real* key, const Real* value,
                                    Real* context, const FusedShape& shape,
                                    const FusedOptions& options, std::size_t batch,
                                    std::size_t head, std::size_t first, std::size_t queries) {
    const FusedMask& mask = options.mask;
    const std::size_t group = batch * shape.heads + head;
    const std::size_t key_length = mask.key_lengths ? mask.key_lengths[batch] : shape.key_len;
    const std::ptrdiff_t last_visible = static_cast<std::ptrdiff_t>(first) + mask.causal_offset;
    const std::ptrdiff_t seen_by_last = last_visible + static_cast<std::ptrdiff_t>(queries);

    fused::QueryBlock<Real> block{};
    block.query = query + (group * shape.query_len + first) * shape.head_dim;
    block.key = key + group * shape.key_len * shape.head_dim;
    block.value = value + group * shape.key_len * shape.value_dim;
    block.context = context + (group * shape.query_len + first) * shape.value_dim;
    block.queries = queries;
    block.keys = key_length;
    if (mask.causal) {
        block.keys = seen_by_last < 0 ? 0 : std::min<std::size_t>(key_length, seen_by_last);
    }
    block.head_dim = shape.head_dim;
    block.value_dim = shape.value_dim;
    block.scale = static_cast<Real>(options.scale);
    block.empty_row =
        options.empty_row == FusedEmptyRow::nan ? std::numeric_limits<Real>::quiet_NaN() : 0;
    block.causal = mask.causal;
    block.last_visible = last_visible;
    if (mask.hidden) {
        block.hidden = mask.hidden + batch * mask.batch_stride + head * mask.head_stride +
                       first * mask.query_stride;
    }
    block.query_stride = mask.query_stride;
    block.key_stride = mask.key_stride;
    return block;
}

template <class Real>
void attend(const Real* query, const Real* key, const Real* value, Real* context,
            const FusedShape& shape, const FusedOptions& options) {
    check_key_lengths(shape, options.mask);
    const fused::Kernels kernels = fused::choose_kernels(options.architecture);
    const fused::Kernel<Real>& kernel = fused::kernel_for<Real>(kernels);

    // Share out blocks of queries, in causal attention the long ones first. They are of nearly as
    // many vectors each: a narrow last one would keep few sums going while it meets the most keys.
    const EvenParts blocks{shape.query_len, kernel.lanes,
                           (shape.query_len + kernel.query_block - 1) / kernel.query_block};
    const std::size_t tasks = shape.batch * shape.heads * blocks.count;
    const std::size_t threads =
        worthwhile_threads(options.threads, multiply_adds(shape, options.mask), tasks);
    const std::size_t scratch_size = kernel.scratch_size(shape.head_dim, shape.value_dim);
    thread_local Scratch scratch;
    Real* const memory = scratch.reserve<Real>(threads * scratch_size);
    share_tasks(tasks, threads, [&](std::size_t task, std::size_t thread) {
        const std::size_t group = task / blocks.count;
        const std::size_t number = blocks.count - 1 - task % blocks.count;
        const std::size_t first = blocks.begin(number);
        fused::QueryBlock<Real> block =
            query_block(query, key, value, context, shape, options, group / shape.heads,
                        group % shape.heads, first, blocks.begin(number + 1) - first);
        block.scratch = memory + thread * scratch_size;
        kernel.attend(block);
    });
}

}  // namespace

void fused_attention(const float* query, const float* key, const float* value, float* context,
                     const FusedShape& shape, const FusedOptions& options) {
    attend(query, key, value, context, shape, options);
}

void fused_attention(const double* query, const double* key, const double* value, double* context,
                     const FusedShape& shape, const FusedOptions& options) {
    attend(query, key, value, context, shape, options);
}

}  // namespace attn

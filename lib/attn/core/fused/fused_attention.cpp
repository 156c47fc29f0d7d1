#include "attn/core/fused/fused_attention.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/simd/parallel.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {

namespace {

double multiply_adds(const AttentionShape& shape, const MaskView& mask) {
    const auto keys = static_cast<double>(shape.key_len);
    double seen = mask.causal ? 0.5 * keys : keys;
    if (mask.causal && mask.window) {
        seen = std::min(seen, static_cast<double>(mask.causal_offset - mask.window_offset + 1));
    }
    return static_cast<double>(shape.batch * shape.heads) * static_cast<double>(shape.query_len) *
           seen * static_cast<double>(shape.head_dim + shape.value_dim);
}

/// Returns the part of the work that starts at query `first` of one head.
template <class Real>
QueryBlock<Real> query_block(const Real* query, const Real* key, const Real* value, Real* context,
                             const AttentionShape& shape, const FusedOptions& options,
                             std::size_t batch, std::size_t head, std::size_t first,
                             std::size_t queries) {
    const MaskView& mask = options.mask;
    const std::size_t group = batch * shape.heads + head;
    const std::size_t kv_group = shape.kv_group(group);
    const auto within = [&](std::ptrdiff_t k) {
        return static_cast<std::size_t>(
            std::clamp(k, std::ptrdiff_t{0}, static_cast<std::ptrdiff_t>(shape.key_len)));
    };
    const auto first_query = static_cast<std::ptrdiff_t>(first);

    QueryBlock<Real> block{};
    block.query = query + (group * shape.query_len + first) * shape.head_dim;
    block.key = key + kv_group * shape.key_len * shape.head_dim;
    block.value = value + kv_group * shape.key_len * shape.value_dim;
    block.context = context + (group * shape.query_len + first) * shape.value_dim;
    block.queries = queries;
    block.causal = mask.causal;
    block.last_visible = first_query + mask.causal_offset;
    block.window = mask.window;
    block.first_visible = first_query + mask.window_offset;
    const auto seen_by_last = block.last_visible + static_cast<std::ptrdiff_t>(queries);
    block.keys = mask.causal ? within(seen_by_last) : shape.key_len;
    block.first_key = mask.window ? std::min(within(block.first_visible), block.keys) : 0;
    block.head_dim = shape.head_dim;
    block.value_dim = shape.value_dim;
    block.scale = static_cast<Real>(options.scale);
    block.cap = static_cast<Real>(options.softcap);
    block.empty_row =
        options.empty_row == EmptyRow::nan ? std::numeric_limits<Real>::quiet_NaN() : 0;
    block.sink =
        options.sink.empty() ? minus_infinity<Real> : static_cast<Real>(options.sink[head]);
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
            const AttentionShape& shape, const FusedOptions& options, const BiasView<Real>& bias,
            const Real* keep) {
    if (options.empty_row == EmptyRow::error) {
        throw ConfigError(
            "fused attention fills rows whose keys are all hidden, but cannot report them: choose "
            "nan or zero for empty rows");
    }
    const BlockOperations<Real>& kernel =
        simd::kernels_for(options.instruction_set).of<Real>().blocks;

    // Distribute blocks of queries to threads, in causal attention the long ones first. All have
    // about the same number of vectors: a narrow last block would use few accumulators for the
    // largest number of keys.
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
        QueryBlock<Real> block =
            query_block(query, key, value, context, shape, options, group / shape.heads,
                        group % shape.heads, first, blocks.begin(number + 1) - first);
        block.bias = bias.row(group, first);
        block.bias_query_stride = bias.query_stride;
        block.bias_key_stride = bias.key_stride;
        if (keep) block.keep = keep + (group * shape.query_len + first) * shape.key_len;
        block.keep_stride = shape.key_len;
        block.scratch = memory + thread * scratch_size;
        kernel.attend(block);
    });
}

}  // namespace

void fused_attention(const float* query, const float* key, const float* value, float* context,
                     const AttentionShape& shape, const FusedOptions& options,
                     const BiasView<float>& bias, const float* keep) {
    attend(query, key, value, context, shape, options, bias, keep);
}

void fused_attention(const double* query, const double* key, const double* value, double* context,
                     const AttentionShape& shape, const FusedOptions& options,
                     const BiasView<double>& bias, const double* keep) {
    attend(query, key, value, context, shape, options, bias, keep);
}

}  // namespace attn

#include "attn/walk/prefill.hpp"

#include <algorithm>

#include "attn/plan/draw_list.hpp"
#include "attn/plan/words.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/slice.hpp"
#include "attn/walk/walk.hpp"

namespace attn {
namespace {

/// The same rows of a list of one entry for each token.
template <class Entry>
void keep(std::vector<Entry>& entries, std::size_t first, std::size_t count) {
    if (entries.size() < first + count) return;
    const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(first);
    entries = std::vector<Entry>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

Array<bool> first_columns(const Array<bool>& cells, std::size_t count) {
    Shape shape = cells.shape();
    const std::size_t columns = shape.back();
    shape.back() = count;
    Array<bool> kept = empty_array<bool>(shape);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        kept.data()[i] = cells.data()[i / count * columns + i % count];
    }
    return kept;
}

/// The rows of a chunk and the columns up to its end, of a bias that has one for each.
Tensor bias_of_chunk(const Tensor& bias, const PrefillChunk& chunk) {
    const Shape shape = bias.shape();
    std::string indices;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const bool rows = axis + 2 == shape.size() && shape[axis] > 1;
        const bool columns = axis + 1 == shape.size() && shape[axis] > 1;
        const std::size_t first = rows ? chunk.first : 0;
        const std::size_t end = rows || columns ? chunk.first + chunk.count : shape[axis];
        indices += (indices.empty() ? "" : ",") + std::to_string(first) + ":" + std::to_string(end);
    }
    return slice(bias, indices);
}

/// The plan of one chunk: its queries, and the keys up to its end.
Plan plan_of(const Plan& whole, const PrefillChunk& chunk) {
    Plan plan = whole;
    plan.query_len = chunk.count;
    plan.past_len = chunk.first;
    plan.key_len = chunk.first + chunk.count;
    plan.config.prefill.reset();
    plan.config.past.reset();
    if (chunk.first > 0) plan.config.past = static_cast<std::int64_t>(chunk.first);
    plan.config.query_len = static_cast<std::int64_t>(chunk.count);
    plan.config.causal_align = CausalAlign::end;
    if (plan.biases() && plan.config.position_bias->given) {
        plan.config.position_bias->given = bias_of_chunk(*plan.config.position_bias->given, chunk);
    }
    keep(plan.config.positions, chunk.first, chunk.count);
    for (auto& tokens : plan.query_tokens) keep(tokens, chunk.first, chunk.count);
    for (auto& tokens : plan.key_tokens) keep(tokens, 0, plan.key_len);
    if (plan.key_padding.size() > 0) {
        plan.key_padding = first_columns(plan.key_padding, plan.key_len);
    }
    return plan;
}

/// The rows of a chunk of what a walk starts from; what has no tokens is the same for all.
Tensor rows_of_chunk(const Tensor& tensor, const PrefillChunk& chunk) {
    std::string indices;
    for (const std::string& axis : tensor.axes()) {
        const bool tokens = axis == "token" || axis == "query" || axis == "key";
        indices += indices.empty() ? "" : ",";
        indices +=
            tokens ? std::to_string(chunk.first) + ":" + std::to_string(chunk.first + chunk.count)
                   : ":";
    }
    return slice(tensor, indices);
}

}  // namespace

std::vector<Ledger> walk_chunks(const Plan& plan, const Ledger& whole, const StepTable& table) {
    std::vector<Ledger> ledgers;
    const DrawList drawn = draw_list(plan);
    for (const PrefillChunk& chunk : prefill_chunks(plan)) {
        Ledger given;
        for (const DrawnTensor& row : drawn) {
            if (const Tensor* tensor = whole.find(row.name)) {
                given.record(row.name, rows_of_chunk(*tensor, chunk));
            }
        }
        if (chunk.first > 0) {
            // The cache holds the heads once: what repeats them comes later.
            given.record("past_key", ledgers.back().latest(Chain::keys, "repeated_key"));
            given.record("past_value", ledgers.back().latest(Chain::values, "repeated_value"));
        }
        Plan part = plan_of(plan, chunk);
        part.config.output_projection = plan.config.output_projection && whole.has("w_output");
        ledgers.push_back(walk(part, given, table));
    }
    return ledgers;
}

std::vector<Ledger> chunks_of_walk(const Plan& plan, const Ledger& whole, const StepTable& table) {
    const bool is_right = std::ranges::all_of(table, &std::string::empty, &Step::mistake);
    if (!plan.config.prefill || !is_right) return {};
    const auto context = std::ranges::find(table, Chain::contexts, &Step::chain);
    return walk_chunks(plan, whole, StepTable(table.begin(), context + 1));
}

}  // namespace attn

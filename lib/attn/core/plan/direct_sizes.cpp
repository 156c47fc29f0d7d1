#include <algorithm>

#include "attn/core/plan/given_sizes.hpp"

namespace attn {
namespace {

/// Merges two adjacent axes.
void join_axis(std::vector<std::int64_t>& lengths, std::size_t axis) {
    const auto at = lengths.begin() + static_cast<std::ptrdiff_t>(axis);
    at[1] *= at[0];
    lengths.erase(at);
}

/// Merges axes of groups of heads that share a key: `query` (B, T, G, R, D) with `key` (B, T, G,
/// D), or (B, G, R, T, D) with (B, G, T, D), become (B, H, T, D) and (B, G, T, D).
void join_groups(std::vector<std::int64_t>& query, std::vector<std::int64_t>& key) {
    if (key[1] == query[1] && key[2] != query[2]) {
        join_axis(query, 1);
        return;
    }
    join_axis(query, 2);
    std::swap(query[1], query[2]);
    std::swap(key[1], key[2]);
}

/// True if a tensor with an axis of heads has that number of them.
bool counts_heads(const Ledger& user_tensors, std::int64_t number) {
    const Tensor* bias = user_tensors.find("position_bias");
    const Tensor* slopes = user_tensors.find("slopes");
    return (bias != nullptr && bias->dimension() == 3 && lengths_of(*bias).front() == number) ||
           (slopes != nullptr && lengths_of(*slopes) == std::vector{number});
}

}  // namespace

void take_direct_sizes(const Ledger& user_tensors, const SpecifiedSettings& specified,
                       WalkConfig& config) {
    config.projection = Projection::none;
    config.input = RandomInput{};
    std::vector<std::int64_t> query = lengths_of(user_tensors["query"]);
    std::vector<std::int64_t> key = lengths_of(user_tensors["key"]);
    const std::vector<std::int64_t> value = lengths_of(user_tensors["value"]);
    const bool is_grouped = query.size() == 5 && key.size() == 4;
    if (is_grouped) join_groups(query, key);
    std::int64_t samples = query.size() > 2 ? query.front() : 0;
    std::int64_t tokens = query[query.size() - 2], keys = key[key.size() - 2];
    constexpr std::int64_t one = 1;
    std::int64_t heads =
        std::max(query.size() == 4 && !specified.heads ? query[1] : config.heads, one);
    if (query.size() == 3 && !specified.heads && counts_heads(user_tensors, samples))
        heads = samples;
    std::vector<std::int64_t> cells;  // lengths of a (query, key) tensor, which locate the heads
    for (const char* name : {"scores", "weights"}) {
        if (!user_tensors.has(name)) continue;
        // A tensor with features that only has such a name gives no information.
        std::vector<std::int64_t> lengths = lengths_of(user_tensors[name]);
        if (is_grouped && lengths.size() == 5) join_axis(lengths, 1);
        const std::ptrdiff_t first = key.size() > 2 ? 1 : 0;
        if (std::find(key.begin() + first, key.end() - 1, lengths.back()) != key.end() - 1) {
            cells = lengths;
        }
    }
    if (cells.size() > 1) keys = cells.back();
    if (cells.size() == 4) {
        samples = cells[0];
        tokens = cells[2];
        if (!specified.heads) heads = std::max(cells[1], one);
    }
    if (cells.size() == 3 && query.size() == 2 && !specified.heads) heads = std::max(cells[0], one);
    // The merged heads, and tensors computed from them, have a row for each token.
    std::vector<std::int64_t> merged;
    for (const char* name : {"output", "context", "merged"}) {
        if (query.size() == 3 && user_tensors.has(name)) merged = lengths_of(user_tensors[name]);
    }
    const auto counts = [&](std::int64_t number) { return !specified.heads || number == heads; };
    const bool tokens_first = query.size() == 3 && query[0] != query[1] && counts(query[1]) &&
                              (cells.size() == 3 ? cells[0] == query[1] && cells[1] == query[0]
                                                 : merged.size() == 2 && merged[0] == query[0]);
    if (tokens_first) {
        heads = query[1];
        if (key.size() == 3 && key[1] < heads && !config.kv_heads) config.kv_heads = key[1];
        tokens = query[0];
        keys = key[0];
        samples = 0;
    }
    const std::int64_t in_sample =
        merged.size() == 3 && merged[2] % std::max(value.back(), one) == 0
            ? merged[2] / std::max(value.back(), one)
            : 0;
    const bool is_batched = in_sample > 1 && counts(in_sample) && merged[0] * in_sample == samples;
    if (is_batched) heads = in_sample;
    bool joined = is_batched || (query.size() == 3 && samples % heads == 0 && cells.size() == 3 &&
                                 cells[0] == samples);
    if (query.size() == 3 && cells.empty() && !joined && !tokens_first) {
        // (head, token, feature) if all heads together are as wide as the input of the output
        // projection.
        const Tensor* w = config.parameters.find("w_output");
        const std::size_t side = config.weight_layout == WeightLayout::in_out ? 0 : 1;
        const std::int64_t all = w != nullptr && w->dimension() == 2 ? lengths_of(*w)[side] : 0;
        const std::int64_t each = std::max(value.back(), one);
        if (all > 0 && all % each == 0 && all / each == samples) heads = samples;
        joined = heads == samples;
    }
    if (joined) samples /= heads;
    const auto features = [&](const char* name, std::int64_t of_heads, std::int64_t rows) {
        auto size = static_cast<std::int64_t>(user_tensors[name].size());
        for (const std::int64_t each : {samples, of_heads, rows}) size /= std::max(each, one);
        return size;
    };
    if (samples != 0 && !config.batch) config.batch = samples;
    config.heads = heads;
    config.query_len = tokens;
    config.head_dim = features("query", heads, tokens);
    if (keys != tokens && !config.memory && !config.past) {
        config.memory = RandomInput{};
        config.key_len = keys;
    }
    if (key.size() == 4 && key[1] < heads && !config.kv_heads) config.kv_heads = key[1];
    config.value_dim = features("value", config.kv_heads.value_or(heads), keys);
}

}  // namespace attn

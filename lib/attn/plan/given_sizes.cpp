#include <cmath>

#include "attn/plan/draw_list.hpp"
#include "attn/plan/words.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

// Sizes that nobody set, as the shapes of given parameters tell them; what no setting may be.

namespace attn {
namespace {

/// A text's vocabulary may be smaller than the table it is looked up in.
void take_vocabulary(Source& source, const Tensor& table) {
    auto* tokens = std::get_if<Tokens>(&source);
    if (tokens == nullptr || table.dimension() < 2) return;
    const auto rows = static_cast<std::int64_t>(table.shape()[0]);
    const bool by_text = !tokens->vocabulary.empty() &&
                         tokens->vocab_size == static_cast<std::int64_t>(tokens->vocabulary.size());
    if (!tokens->vocab_size || (by_text && rows > *tokens->vocab_size)) tokens->vocab_size = rows;
}

/// Keys given directly, as many as the queries unless there is a memory.
void give_keys_a_memory(WalkConfig& config) {
    if (config.memory || config.projection != Projection::none ||
        !std::holds_alternative<RandomInput>(config.input)) {
        return;
    }
    const auto length_of = [&](const char* name) -> std::optional<std::int64_t> {
        const Tensor* tensor = config.parameters.find(name);
        if (tensor == nullptr || tensor->dimension() < 2) return std::nullopt;
        return static_cast<std::int64_t>(tensor->shape()[tensor->dimension() - 2]);
    };
    const auto queries = config.query_len ? config.query_len : length_of("query");
    const auto keys = length_of("key") ? length_of("key") : length_of("value");
    if (queries && keys && queries != keys) config.memory = config.input;
}

}  // namespace

std::int64_t given_kv_heads(const WalkConfig& config, WeightLayout layout) {
    const Tensor* query = config.parameters.find("w_query");
    const Tensor* key = config.parameters.find("w_key");
    if (query == nullptr || key == nullptr || query->dimension() != key->dimension()) {
        return config.heads;
    }
    const bool headed = query->dimension() == 3;
    if (!headed && query->dimension() != 2) return config.heads;
    const std::size_t axis = !headed && layout == WeightLayout::in_out ? 1 : 0;
    const auto queries = static_cast<std::int64_t>(query->shape()[axis]);
    const auto keys = static_cast<std::int64_t>(key->shape()[axis]);
    const bool shared = keys > 0 && keys < queries && keys * config.heads % queries == 0;
    return shared ? keys * config.heads / queries : config.heads;
}

void take_given_sizes(Plan& plan) {
    WalkConfig& config = plan.config;
    give_keys_a_memory(config);
    for (const DrawnTensor& row : draw_list(plan)) {
        const Tensor* given = config.parameters.find(row.name);
        if (given == nullptr || given->dimension() < row.extents.size()) continue;
        const Shape shape = given->shape();
        const std::size_t leading = shape.size() - row.extents.size();
        for (std::size_t i = 0; i < row.extents.size(); ++i) {
            const Extent& extent = row.extents[i];
            if (extent.setting == nullptr || config.*extent.setting) continue;
            const std::size_t length = shape[leading + i];
            if (length % extent.times != 0) {
                throw ShapeError("the given " + row.name + " has " + std::to_string(length) +
                                 " features for the heads, which do not divide into " +
                                 std::to_string(extent.times) +
                                 ": pass another $heads or $weight-layout"_told);
            }
            config.*extent.setting = static_cast<std::int64_t>(length / extent.times);
        }
    }
    if (const Tensor* table = config.parameters.find("embedding")) {
        take_vocabulary(config.input, *table);
    }
    const Tensor* table = config.parameters.find("memory_embedding");
    if (table && config.memory) take_vocabulary(*config.memory, *table);
}

void refuse_unknown_values(const WalkConfig& config) {
    const auto is_known = [](auto... choices) { return ((word(choices) != "?") && ...); };
    refuse_unless(
        is_known(*config.dtype, *config.compute_dtype, config.projection, config.rng,
                 config.torch_build, config.variant, config.softmax_axis, config.empty_row,
                 config.causal_align, config.sink.value_or(SinkLogit::zero),
                 config.weight_layout.value_or(WeightLayout::out_in)),
        "dtype, compute-dtype (float32 or float64) or another choice has a value beyond its words");
    refuse_unless(!std::isnan(config.scale.number), "scale must be a number, not nan");
    refuse_unless(config.layer >= 0, "layer must not be negative: layers count from 0");
    const std::optional<Tensor>& mask = config.mask.given;
    refuse_unless(!mask || mask->dtype() == DType::boolean,
                  "the given mask must be of bool, true where a key is hidden");
    refuse_unless(!config.position_bias || !config.position_bias->given ||
                      config.position_bias->given->is_floating(),
                  "the given position-bias must be of float32 or float64");
}

}  // namespace attn

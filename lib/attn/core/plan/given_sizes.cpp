#include "attn/core/plan/given_sizes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attn/core/plan/beginnings.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Returns `$heads 3, by the shape of the weights`.
std::string by_shape(const char* setting, const std::string& value, const std::string& name) {
    return std::string(setting_prefix) + setting + " " + value + ", by the shape of " + name;
}

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
}

/// Converts a number of a file to an integer; 0 if it is not a valid count.
std::int64_t whole(double number) {
    return std::abs(number) < 1e15 ? static_cast<std::int64_t>(number) : 0;
}

/// Reads the settings that `probe` writes next to its tensors.
void take_settings(const Ledger& given, const SpecifiedSettings& specified, WalkConfig& config) {
    const auto number = [&given](const char* name) {
        const Tensor* tensor = given.find(name);
        const bool is_one = tensor != nullptr && tensor->size() == 1;
        return is_one ? std::optional(tensor->at(0)) : std::nullopt;
    };
    const auto heads = number("heads"), causal = number("causal");
    if (!specified.heads && heads) config.heads = whole(*heads);
    if (!specified.mask && causal) config.mask.causal = *causal != 0;
    const Tensor* lengths = given.find("lengths");
    if (lengths == nullptr || lengths->size() == 0) return;
    if (!specified.mask) config.mask.padding = true;
    if (!config.lengths.empty()) return;
    for (const double each : lengths->numbers()) config.lengths.push_back(whole(each));
}

/// Enlarges a text's vocabulary to the number of rows of a given table.
void take_vocabulary(Source& source, const Tensor& table) {
    auto* tokens = std::get_if<Tokens>(&source);
    if (tokens == nullptr || table.dimension() < 2) return;
    const auto rows = static_cast<std::int64_t>(table.shape()[0]);
    const bool by_text = !tokens->vocabulary.empty() &&
                         tokens->vocab_size == static_cast<std::int64_t>(tokens->vocabulary.size());
    if (!tokens->vocab_size || (by_text && rows > *tokens->vocab_size)) tokens->vocab_size = rows;
}

/// Adds a memory for keys that are given directly: as many as queries by default.
void give_keys_a_memory(WalkConfig& config) {
    if (config.memory || config.projection != Projection::none ||
        !std::holds_alternative<RandomInput>(config.input)) {
        return;
    }
    const auto length_of = [&](const std::string& name,
                               std::size_t from_end = 2) -> std::optional<std::int64_t> {
        const Tensor* tensor = config.parameters.find(name);
        if (tensor == nullptr || tensor->dimension() < 2) return std::nullopt;
        return lengths_of(*tensor)[tensor->dimension() - from_end];
    };
    const std::string step = beginning_of(config);
    const bool is_begun = is_beginning(step);
    const auto queries = config.query_len ? config.query_len : length_of(is_begun ? step : "query");
    const auto keys = is_begun           ? length_of(step, 1)
                      : length_of("key") ? length_of("key")
                                         : length_of("value");
    if (queries && keys && queries != keys) config.memory = config.input;
}

/// Sets the layout of weights that fit x in one layout only. Returns the assumptions.
std::vector<std::string> take_layout(WalkConfig& config) {
    const auto* x = std::get_if<Tensor>(&config.input);
    if (config.weight_layout || x == nullptr || x->dimension() < 2) return {};
    if (config.projection == Projection::mha) return {};  // its layout is fixed
    const std::int64_t features = lengths_of(*x).back();
    for (const char* name : {"w_query", "w_qkv", "w_key", "w_value"}) {
        const Tensor* w = config.parameters.find(name);
        if (w == nullptr || w->dimension() < 2 || (config.memory && name[2] != 'q')) continue;
        // The side of a matrix that multiplies x is as long as x has features.
        const std::vector<std::int64_t> lengths = lengths_of(*w);
        const bool in_out = lengths[lengths.size() - 2] == features;
        if (in_out == (lengths.back() == features)) continue;
        const bool is_usual = in_out == (config.rng != Rng::torch);
        config.weight_layout = in_out ? WeightLayout::in_out : WeightLayout::out_in;
        if (is_usual) return {};
        return {by_shape("weight-layout", std::string(word(*config.weight_layout)), name)};
    }
    return {};
}

/// Returns parameters with an axis of heads as matrices and vectors: Flax's kernels (feature, head,
/// feature of the head), its output with the axes in another order, biases (head, feature of the
/// head), in layout in-out; with matrices stacked by heads, only the output. All others are
/// unchanged.
Ledger laid_flat(const Ledger& given, const SpecifiedSettings& specified, WalkConfig& config) {
    const Tensor* x = given.find("x") ? given.find("x") : std::get_if<Tensor>(&config.input);
    const Tensor* query = given.find("w_query");
    if (x == nullptr || x->dimension() == 0 || query == nullptr || query->dimension() != 3) {
        return given;
    }
    const Shape shape = query->shape();
    const std::size_t features = x->shape().back();
    const bool is_flax = shape[0] == features && shape[1] != shape[0];
    const bool in_out = is_flax || (shape[1] == features && shape[2] != features);
    const std::size_t heads = shape[is_flax ? 1 : 0];
    Ledger flat;
    for (const auto& [name, tensor] : given.entries()) {
        Shape sides = tensor.shape();
        const bool is_output = name == "w_output" && sides.size() == 3;
        const bool is_kernel = is_flax && name.starts_with("w_") && sides.size() == 3;
        const bool is_bias = is_flax && name.starts_with("b_") && sides.size() == 2;
        const bool heads_first = is_output && (is_flax || sides[0] == heads);
        if (!is_output && !is_kernel && !is_bias) {
            flat.record(name, tensor);
            continue;
        }
        if (name == "w_key" && sides[1] != heads && !config.kv_heads) {
            config.kv_heads = static_cast<std::int64_t>(sides[1]);
        }
        const std::size_t joined = heads_first || is_bias ? 0 : 1;
        sides[joined] *= sides[joined + 1];
        sides.erase(sides.begin() + static_cast<std::ptrdiff_t>(joined) + 1);
        Shape strides = row_strides(sides);
        if (is_output && heads_first != in_out) {
            std::swap(sides[0], sides[1]);
            std::swap(strides[0], strides[1]);
        }
        flat.record(name, strided(tensor, sides, strides));
    }
    if (!is_flax) return flat;
    config.weight_layout = WeightLayout::in_out;
    if (!specified.heads) config.heads = static_cast<std::int64_t>(heads);
    return flat;
}

/// True if a walk begins with these: query, key and value, or scores or weights, without any
/// parameter of a projection.
bool begins_after_x(const Ledger& given, const WalkConfig& config) {
    const bool has_all = given.has("query") && given.has("key") && given.has("value");
    if (!has_all && (given.has("x") || given_beginning(given).empty())) return false;
    return std::ranges::none_of(parameter_names(config),
                                [&given](const std::string& name) { return given.has(name); });
}

}  // namespace

std::vector<std::int64_t> lengths_of(const Tensor& tensor) {
    const Shape shape = tensor.shape();
    return {shape.begin(), shape.end()};
}

bool is_causal(const Tensor& mask) {
    const Shape shape = mask.shape();
    if (shape.size() < 2 || shape.back() < 2) return false;
    const std::size_t tokens = shape.back();
    if (mask.size() != tokens * tokens || shape[shape.size() - 2] != tokens) return false;
    for (std::size_t i = 0; i < mask.size(); ++i) {
        const bool later = i % tokens > i / tokens;
        if (mask.at(i) != mask.at(later ? 1 : 0)) return false;
    }
    const double seen = mask.at(0), hidden = mask.at(1);
    const bool is_truth = (seen == 0 && hidden == 1) || (seen == 1 && hidden == 0);
    return is_truth || (seen == 0 && hidden <= -100);
}

void take_names(const Ledger& given, const SpecifiedSettings& specified, WalkConfig& config) {
    const Tensor* first = nullptr;
    for (const char* name : {"w_value", "w_key", "w_query"}) {
        if (given.has(name)) first = given.find(name);
    }
    const bool has_heads = first != nullptr && first->dimension() == 3;
    if (!specified.projection && given.has("w_qkv") && !given.has("w_query")) {
        config.projection = Projection::fused;
    } else if (!specified.projection && has_heads) {
        config.projection = Projection::stacked;
    }
    const bool projects = config.projection != Projection::none;
    for (const char* name : {"b_query", "b_key", "b_value", "b_qkv"}) {
        if (projects && given.has(name)) config.bias = true;
    }
    if (given.has("b_output")) config.output_projection = config.output_bias = true;
    if (given.has("w_output")) config.output_projection = true;
    if (given.has("sink") && !config.sink) config.sink = SinkLogit::given;
    if (given.has("g_query") && !config.qk_norm.over && !config.latent.rank) {
        config.qk_norm.over = NormOver::head;
    }
    if (given.has("sink") && !specified.heads && given["sink"].dimension() == 1) {
        config.heads = lengths_of(given["sink"]).front();
    }
    if (!specified.heads && has_heads &&
        (config.projection == Projection::stacked || config.projection == Projection::per_head)) {
        config.heads = lengths_of(*first).front();
    }
}

void take_given(const Ledger& stored, const SpecifiedSettings& specified, WalkConfig& config) {
    const Ledger given = laid_flat(stored, specified, config);
    take_settings(given, specified, config);
    take_names(given, specified, config);
    // With added positions the input is the token embedding; x is the sum.
    const bool adds = config.position_embedding && given.has("token_embedding");
    for (const auto& [name, tensor] : given.entries()) {
        if (name == (adds ? "token_embedding" : "x")) {
            config.input = tensor;
            config.query_len.reset();
        } else if (name == "memory") {
            config.memory = tensor;
            config.key_len.reset();
        } else if (name == "mask") {
            if (config.mask.any()) continue;
            Array<bool> hidden = empty_array<bool>(tensor.shape());
            for (std::size_t i = 0; i < tensor.size(); ++i) hidden.data()[i] = tensor.at(i) != 0;
            config.mask.given = Tensor(tensor.axes(), std::move(hidden));
        } else if (!one_of(name, {"x", "token_embedding", "heads", "causal", "lengths"})) {
            config.parameters.record(name, tensor);
        }
    }
}

void take_direct(Ledger& given, const SpecifiedSettings& specified, WalkConfig& config) {
    if (!specified.source && !specified.projection && begins_after_x(given, config)) {
        config.projection = Projection::none;
    }
    if (config.projection != Projection::none) return;
    const std::string beginning = given_beginning(given);
    if (!specified.source &&
        (given.has("query") || given.has("key") || given.has("value") || !beginning.empty())) {
        config.input = RandomInput{};
    }
    if (!std::holds_alternative<RandomInput>(config.input)) return;
    const bool has_batch = config.batch.has_value(), has_kv_heads = config.kv_heads.has_value();
    bool is_first = true;
    const std::string first = beginning.empty() ? "query" : beginning;
    for (const std::string& name : {first, std::string("key"), std::string("value")}) {
        const Tensor* tensor = given.find(name);
        if (tensor == nullptr) continue;
        // The first of them determines the heads; keys and values may be shared.
        const bool sets_heads = std::exchange(is_first, false) && !specified.heads;
        const std::vector<std::int64_t> lengths = lengths_of(*tensor);
        if (lengths.size() < 3 || lengths.size() > 4) continue;
        const bool is_lone = specified.heads && config.heads == 1 && lengths[0] != 1;
        const bool batched =
            lengths.size() == 4 || has_batch || tensor->has_axis("batch") || is_lone;
        const std::size_t heads_at = batched ? 1 : 0;
        if (batched && !config.batch) config.batch = lengths[0];
        if (heads_at + 3 > lengths.size()) continue;
        const std::int64_t heads = lengths[heads_at];
        if (sets_heads) config.heads = heads;
        if (heads != config.heads && !has_kv_heads && name != first) {
            config.kv_heads = heads;
        }
        if (config.heads == 1 && heads == 1) {
            given.record(name, slice(*tensor, batched ? ":,0" : "0"));
        }
    }
}

std::vector<std::string> take_shapes(const Ledger& user_tensors, const SpecifiedSettings& specified,
                                     WalkConfig& config) {
    std::vector<std::string> assumed = take_layout(config);
    const auto* x = std::get_if<Tensor>(&config.input);
    // A tensor with one axis more than samples and a matrix has an axis of heads.
    for (const char* name : {"weights", "scores", "scaled_scores", "masked_scores", "query"}) {
        const Tensor* cells = user_tensors.find(name);
        if (specified.heads || x == nullptr || x->dimension() < 2 || cells == nullptr) continue;
        const std::size_t samples = x->dimension() - 2;
        if (cells->dimension() != samples + 3) continue;
        const std::int64_t first = lengths_of(*cells)[samples];
        const std::int64_t second = lengths_of(*cells)[samples + 1];
        const std::int64_t tokens = lengths_of(*x)[samples];
        const bool tokens_first =
            name == std::string("query") && first == tokens && second != tokens;
        config.heads = tokens_first ? second : first;
        assumed.push_back(
            by_shape("heads", std::to_string(config.heads), std::string("the ") + name));
        break;
    }
    const Tensor* mask = user_tensors.find("mask");
    if (mask != nullptr && !specified.mask && !config.mask.any() && is_causal(*mask)) {
        config.mask.causal = true;
        assumed.push_back("$mask causal, by your mask"_message);
    }
    return assumed;
}

std::vector<std::string> size_remarks(const WalkConfig& config, const Plan& plan) {
    std::vector<std::string> lines;
    const auto add = [&](const char* setting, const auto& member, std::int64_t usual,
                         const char* name) {
        const std::int64_t size = *(plan.config.*member);
        if (config.*member || size == usual || !config.parameters.has(name)) return;
        lines.push_back(by_shape(setting, std::to_string(size), name));
    };
    const auto times = static_cast<std::int64_t>(plan.softmaxes());
    const std::int64_t head_dim = *plan.config.head_dim, heads = plan.config.heads;
    const bool fills = head_dim * heads * times == *plan.config.embed_dim;
    add("kv-heads", &WalkConfig::kv_heads, heads, "w_key");
    add("head-dim", &WalkConfig::head_dim, fills ? head_dim : 0,
        plan.one_weight() ? "w_qkv" : "w_query");
    add("value-dim", &WalkConfig::value_dim, times * head_dim, "w_value");
    return lines;
}

std::int64_t given_kv_heads(const WalkConfig& config, WeightLayout layout) {
    const Tensor* query = config.parameters.find("w_query");
    const Tensor* key = config.parameters.find("w_key");
    if (query == nullptr || key == nullptr || query->dimension() != key->dimension()) {
        return config.heads;
    }
    const bool headed = query->dimension() == 3;
    if (!headed && query->dimension() != 2) return config.heads;
    const std::size_t axis = !headed && layout == WeightLayout::in_out ? 1 : 0;
    const std::int64_t queries = lengths_of(*query)[axis], keys = lengths_of(*key)[axis];
    const bool shared =
        keys > 0 && keys < queries && config.heads <= queries && keys * config.heads % queries == 0;
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
                                 ": pass another $heads or $weight-layout"_message);
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
                 config.causal_align, config.sink.value_or(SinkLogit::zero), config.dropout.place,
                 config.weight_layout.value_or(WeightLayout::out_in)),
        "dtype, compute-dtype (floating) or another choice has an unknown value");
    refuse_unless(!std::isnan(config.scale.number), "scale must be a number, not nan");
    refuse_unless(config.layer >= 0, "layer must not be negative: layers count from 0");
    const std::array<Init, 3> init = config.init.value_or(std::array<Init, 3>{});
    refuse_unless(std::ranges::all_of(init, [](Init how) { return how <= Init::identity; }) &&
                      config.scale.by <= ScaleChoice::By::number &&
                      config.qk_norm.over <= NormOver::l2 &&
                      config.rotary.pairing.value_or(Pairing::half) <= Pairing::interleaved,
                  "init, scale, qk-norm or rope has an unknown value");
    refuse_unless(config.x_norm_eps >= 0 && std::isfinite(config.x_norm_eps),
                  "norm-eps must be a number from 0 on");
    for (const MaskKind& kind : mask_kinds()) {
        if (kind.numbers == nullptr || !kind.chosen(config.mask)) continue;
        const std::vector<std::int64_t> numbers = kind.numbers(config.mask);
        refuse_unless(
            *std::ranges::min_element(numbers) >= kind.least,
            mask_text(kind, config.mask) + " has a number below " + std::to_string(kind.least));
    }
    const std::optional<Tensor>& mask = config.mask.given;
    refuse_unless(!mask || mask->dtype() == DType::boolean,
                  "the given mask must be of bool, true where a key is hidden");
}

}  // namespace attn

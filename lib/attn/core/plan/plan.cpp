#include "attn/core/plan/plan.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/plan/beginnings.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/given_sizes.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/memory.hpp"
#include "attn/core/plan/resolve.hpp"
#include "attn/core/plan/score_bias.hpp"
#include "attn/core/plan/tokenize.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Repeats a single sequence of ids for the whole batch.
void repeat_lone_sequence(Source& source, std::size_t batch) {
    auto* tokens = std::get_if<Tokens>(&source);
    if (tokens == nullptr || tokens->sequences.size() != 1) return;
    tokens->sequences.resize(batch, tokens->sequences.front());
    if (tokens->labels.size() == 1) tokens->labels.resize(batch, tokens->labels.front());
}

void resolve_dimensions(Plan& plan) {
    WalkConfig& config = plan.config;
    const auto text = [](auto number) { return std::to_string(number); };
    const auto heads = static_cast<std::int64_t>(plan.heads);
    if (!config.head_dim) {
        if (config.embed_dim) {
            const auto embed = static_cast<std::int64_t>(positive(*config.embed_dim, "embed-dim"));
            refuse_unless(
                embed % heads == 0,
                "embed-dim " + text(embed) + " does not divide into " + text(heads) +
                    (plan.differs() ? " heads, two for each differential head" : " heads") +
                    ": pass $head-dim"_message +
                    (std::holds_alternative<Tensor>(config.input)
                         ? ""
                         : ", or an $embed-dim that is a multiple of "_message + text(heads)));
            config.head_dim = embed / heads;
        } else {
            config.head_dim = 4;
        }
    }
    plan.head_dim = positive(*config.head_dim, "head-dim");
    refuse_unless(static_cast<double>(heads) * static_cast<double>(*config.head_dim) < 1e15,
                  "heads " + text(heads) + " times head-dim " + text(*config.head_dim) +
                      " is beyond any memory: make them smaller");
    if (!config.embed_dim) config.embed_dim = heads * *config.head_dim;
    plan.embed_dim = positive(*config.embed_dim, "embed-dim");
    config.value_dim =
        config.value_dim.value_or(static_cast<std::int64_t>(plan.softmaxes()) * *config.head_dim);
    plan.value_dim = positive(*config.value_dim, "value-dim");
    config.output_dim = config.output_dim.value_or(*config.embed_dim);
    plan.output_dim = positive(*config.output_dim, "output-dim");
    if (plan.memory_dim == 0) plan.memory_dim = plan.embed_dim;
    resolve_latent(plan);
}

/// Fewer key and value heads need a projection that computes them separately.
void refuse_grouped_heads(const Plan& plan) {
    const std::string kv_heads = "kv-heads " + std::to_string(*plan.config.kv_heads);
    refuse_unless(plan.heads % plan.kv_heads == 0,
                  kv_heads + " does not divide heads " + std::to_string(plan.config.heads) +
                      ": each key and value head is read by the same number of query heads, so "
                      "pass a divisor, such as 1");
    if (!plan.shares_keys()) return;
    const Projection projection = plan.config.projection;
    refuse_unless(projection != Projection::mha,
                  kv_heads +
                      ": nn.MultiheadAttention has as many key and value heads as heads: "
                      "use $projection split or fused"_message);
    refuse_unless(projection != Projection::fused_by_head && projection != Projection::per_head,
                  kv_heads + ": projection " + std::string(word(projection)) +
                      " makes a query, a key and a value for each head in turn: use $projection "
                      "split, fused or stacked"_message);
    refuse_unless(projection != Projection::none || !plan.has_x(),
                  kv_heads +
                      ": without a projection query, key and value are x itself, with the "
                      "same heads: use $projection split"_message);
}

/// Resolves the storage and draws of parameters, independent of their sizes.
void resolve_drawing(Plan& plan) {
    WalkConfig& config = plan.config;
    const bool numpy = config.rng != Rng::torch;
    const bool fused =
        config.projection == Projection::fused || config.projection == Projection::fused_by_head;
    const bool mha = config.projection == Projection::mha;
    const std::size_t of_each = plan.softmaxes();
    plan.heads = of_each * positive(config.heads, "heads");
    plan.has_head = plan.heads > 1 || fused || mha || config.projection == Projection::stacked ||
                    plan.has_latent() || !config.attentions.empty();

    std::size_t spent = 0;
    for (const std::vector<Burn>* burns : {&config.burn_before, &config.burn}) {
        for (const Burn& burn : *burns) {
            refuse_unless(burn.count <= 100'000'000 - spent,
                          "burn discards more than 100000000 numbers: make it smaller");
            spent += burn.count;
        }
    }
    refuse_unless(
        std::ranges::is_permutation(config.draw_order, std::string("kqv")),
        "draw-order '" + config.draw_order + "' must name q, k and v once each, for example kqv");
    refuse_unless(!(fused || mha) || config.draw_order == "qkv",
                  "draw-order has no effect with one fused weight: leave it out");
    const Init usual = numpy ? Init::normal : Init::linear;
    const std::array<Init, 3> inits = config.init.value_or(std::array{usual, usual, usual});
    refuse_unless(!fused || (inits[0] == inits[1] && inits[1] == inits[2]),
                  "one fused weight cannot be drawn in three ways: name one init");
    refuse_unless(
        !mha || !config.init,
        "nn.MultiheadAttention has its own (Xavier) initialisation: leave $init out"_message);
    refuse_unless(!mha || !numpy,
                  "nn.MultiheadAttention is drawn by PyTorch only: pass $rng torch"_message);
    config.init = inits;

    refuse_unless(
        !mha || config.weight_layout != WeightLayout::in_out,
        "nn.MultiheadAttention stores its weights (out, in): leave $weight-layout out"_message);
    const WeightLayout layout = numpy && !mha ? WeightLayout::in_out : WeightLayout::out_in;
    config.weight_layout = config.weight_layout.value_or(layout);
    config.kv_heads = config.kv_heads.value_or(given_kv_heads(config, *config.weight_layout));
    plan.kv_heads = plan.absorbs() ? 1 : of_each * positive(*config.kv_heads, "kv-heads");
    refuse_grouped_heads(plan);

    refuse_unless(config.projection != Projection::matrix || plan.heads == 1,
                  "projection matrix has one head, not " + std::to_string(plan.heads) +
                      ": use stacked, per-head or split");
}

void resolve_projection(Plan& plan) {
    WalkConfig& config = plan.config;
    if (config.projection == Projection::mha) {
        refuse_unless(plan.embed_dim == plan.heads * plan.head_dim &&
                          plan.value_dim == plan.head_dim && plan.output_dim == plan.embed_dim,
                      "nn.MultiheadAttention needs head-dim and value-dim to be embed-dim / heads: "
                      "leave them (and $output-dim) out"_message);
        config.output_projection = true;
        config.output_bias = config.bias;
    }
    refuse_unless(!plan.one_weight() || plan.memory_dim == plan.embed_dim,
                  "one fused weight needs memory with as many features as x (" +
                      std::to_string(plan.embed_dim) + ", not " + std::to_string(plan.memory_dim) +
                      "): use $projection split"_message);
    if (config.projection == Projection::none) {
        refuse_unless(!config.bias,
                      "without a projection there is no bias: leave $bias out"_message);
        if (plan.has_x()) {
            refuse_unless(plan.embed_dim == plan.heads * plan.head_dim &&
                              plan.memory_dim == plan.embed_dim && plan.value_dim == plan.head_dim,
                          "without a projection query, key and value are x itself: embed-dim " +
                              std::to_string(plan.embed_dim) +
                              " must be heads times head-dim, and value-dim the same");
        }
    }
    check_differential(plan);
    refuse_unless(
        !config.output_bias || config.output_projection,
        "an output bias needs the output projection: pass $output-projection too"_message);
    const bool loose =
        config.projection == Projection::stacked || config.projection == Projection::per_head;
    plan.merges = config.merge.value_or(!loose || config.output_projection);
    refuse_unless(plan.merges || !config.output_projection || !plan.has_head,
                  "the output projection reads merged heads: leave out $no-merge"_message);
    config.merge = plan.merges;
}

void resolve_mask_and_softmax(Plan& plan) {
    const WalkConfig& config = plan.config;
    if (!config.lengths.empty()) {
        refuse_unless(config.lengths.size() == plan.batch,
                      std::to_string(config.lengths.size()) + " lengths for a batch of " +
                          std::to_string(plan.batch) + ": give one for each sequence");
        for (const std::int64_t length : config.lengths) {
            refuse_unless(length >= 0 && length <= static_cast<std::int64_t>(plan.key_len),
                          "length " + std::to_string(length) + " is not between 0 and " +
                              std::to_string(plan.key_len) + ", the number of keys");
        }
    }
    for (const MaskKind& kind : mask_kinds()) {
        if (kind.resolve && kind.chosen(config.mask)) kind.resolve(plan);
    }
    refuse_unless(!plan.fused() || config.softmax_axis == SoftmaxAxis::key,
                  "$variant fused runs softmax over the keys only, block by block: leave "
                  "$softmax-axis out, or use $variant vectorized"_message);
    refuse_unless(!plan.fused() || config.empty_row != EmptyRow::error,
                  "$variant fused cannot stop at an empty row: use $empty-row nan or zero"_message);
    refuse_unless(!config.sigmoid || !plan.fused(),
                  "$variant fused runs softmax block by block: leave $weights-by out, or use "
                  "$variant vectorized"_message);
    refuse_unless(
        !config.sigmoid || config.softmax_axis == SoftmaxAxis::key,
        "a sigmoid is applied to one score and has no axis: leave $softmax-axis out"_message);
    refuse_unless(
        !config.sigmoid || !plan.has_sink(),
        "a sink is part of the sum of softmax, and sigmoids have no sum: leave $sink out"_message);
    refuse_unless(!config.sigmoid || !plan.config.differential.depth,
                  "differential attention subtracts one softmax from another: leave $weights-by "
                  "out"_message);
    refuse_unless(!plan.has_sink() || config.softmax_axis == SoftmaxAxis::key,
                  "a sink is part of a softmax over the keys: leave $softmax-axis out"_message);
    refuse_unless(config.softmax_axis != SoftmaxAxis::head || plan.has_head,
                  "softmax over heads needs a head axis: pass $heads 2 or more"_message);
    refuse_unless(config.softmax_axis != SoftmaxAxis::batch || plan.has_batch,
                  "softmax over the batch needs a batch axis: pass $batch"_message);
}

ScaleFactor scale_factor(const Plan& plan) {
    using Operation = ScaleFactor::Operation;
    const ScaleChoice& scale = plan.config.scale;
    if (scale.by == ScaleChoice::By::none) return {};
    const double more = plan.score_factor();
    if (scale.by == ScaleChoice::By::number) return {Operation::multiply, scale.number * more};
    const bool by_head = scale.by == ScaleChoice::By::head_dim;
    const std::size_t size = by_head ? plan.head_dim : plan.embed_dim;
    return {Operation::divide, std::sqrt(static_cast<double>(size)) / more};
}

}  // namespace

std::vector<std::string> parameter_names(WalkConfig config) {
    Plan plan;
    plan.config = std::move(config);
    resolve_drawing(plan);
    std::vector<std::string> names;
    for (const DrawnTensor& row : draw_list(plan)) {
        if (row.is_parameter()) names.push_back(row.name);
    }
    return names;
}

namespace {

Tensor floating(const Tensor& tensor) {
    if (tensor.is_floating()) return tensor;
    Array<double> values = empty_array<double>(tensor.shape());
    for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = tensor.at(i);
    return {tensor.axes(), std::move(values)};
}

/// Converts given integers to floating point, so that a walk can compute with them.
void make_floating(WalkConfig& config) {
    const Ledger given = config.parameters;
    for (const auto& [name, tensor] : given.entries()) {
        if (tensor.dtype() == DType::boolean && name.starts_with("w_")) {
            throw ConfigError("the given " + name + " must have numbers, not booleans");
        }
        if (!tensor.is_floating()) config.parameters.record(name, floating(tensor));
    }
    if (config.position_bias && config.position_bias->given) {
        config.position_bias->given = floating(*config.position_bias->given);
    }
}

/// Returns the plan up to its sizes.
Plan sized(WalkConfig config) {
    Plan plan;
    plan.config = std::move(config);
    plan.dtype =
        plan.config.dtype.value_or(plan.config.rng == Rng::torch ? DType::float32 : DType::float64);
    plan.compute_dtype = plan.config.compute_dtype.value_or(plan.dtype);
    plan.config.dtype = plan.dtype;
    plan.config.compute_dtype = plan.compute_dtype;
    refuse_unknown_values(plan.config);
    make_floating(plan.config);
    leave_out_before(beginning_of(plan.config), plan.config);
    refuse_unless(plan.config.redraw >= 0 && plan.config.redraw <= 1000,
                  "redraw must be between 0 and 1000, not " + std::to_string(plan.config.redraw));
    refuse_unless(plan.config.threads >= 0, "threads must not be negative");
    resolve_drawing(plan);
    take_given_sizes(plan);
    resolve_sequences(plan);
    resolve_dimensions(plan);
    resolve_projection(plan);
    require_inputs(plan);
    return plan;
}

}  // namespace

Plan resolve_unnamed(WalkConfig config) {
    Plan plan = sized(std::move(config));
    resolve_positions(plan);
    resolve_mask_and_softmax(plan);
    resolve_score_changes(plan);
    resolve_dropout(plan);
    if (plan.config.prefill) refuse_prefill(plan);
    plan.scale = scale_factor(plan);
    plan.arithmetic = {plan.config.torch_build == TorchBuild::avx2};
    plan.arithmetic.threads = static_cast<std::size_t>(plan.config.threads);
    plan.attention_arithmetic = plan.arithmetic;
    plan.attention_arithmetic.single_chain = plan.config.single_chain;
    return plan;
}

Plan resolve(WalkConfig config) {
    Plan plan = resolve_unnamed(std::move(config));
    repeat_lone_sequence(plan.config.input, plan.batch);
    if (plan.config.memory) repeat_lone_sequence(*plan.config.memory, plan.batch);
    plan.query_tokens =
        token_names(plan.config.input, plan.config.names, plan.batch, plan.query_len);
    plan.key_tokens = plan.config.memory
                          ? token_names(*plan.config.memory, plan.config.memory_names, plan.batch,
                                        plan.new_keys())
                          : plan.query_tokens;
    for (std::vector<std::string>& tokens : plan.key_tokens) {
        tokens.insert(tokens.begin(), plan.past_len, "past ");
        for (std::size_t k = 0; k < plan.past_len; ++k) tokens[k] += std::to_string(k);
    }
    return plan;
}

}  // namespace attn

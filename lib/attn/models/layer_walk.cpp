#include "attn/models/layer_walk.hpp"

#include <cmath>
#include <utility>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/models/layer.hpp"

namespace attn::models {
namespace {

void set_positions_and_mask(const Architecture& a, const LayerKind& kind, WalkConfig& config) {
    config.mask.causal = a.causal;
    if (kind.window) config.mask.window = static_cast<std::int64_t>(*kind.window);
    if (a.alibi) config.position_bias.emplace().kind = PositionBias::Kind::alibi;
    if (!kind.pairing) return;
    config.rotary = {kind.pairing, kind.theta, static_cast<std::int64_t>(kind.rotary_dim),
                     kind.scaling};
}

}  // namespace

void set_layer(const Model& model, std::size_t layer, WalkConfig& config) {
    const Architecture& a = model.architecture;
    refuse_unless(layer < a.layers.size(), model.label + " has no layer " + std::to_string(layer));
    const auto has = [&](const char* name) { return model.has(in_layer(layer, name)); };
    const auto size = [](std::size_t number) { return static_cast<std::int64_t>(number); };
    config.layer = size(layer);
    config.heads = size(a.heads);
    config.kv_heads = size(a.kv_heads);
    config.head_dim = size(a.head_dim);
    config.embed_dim = size(a.embed_dim);
    config.projection = Projection::split;
    config.weight_layout = WeightLayout::out_in;
    config.bias = has("b_query");
    config.output_projection = true;
    config.output_bias = has("b_output");
    if (has("g_attention")) {
        config.x_norm = a.norm;
        config.x_norm_eps = a.norm_eps;
    }
    if (a.qk_norm) {
        config.qk_norm.over = a.qk_norm;
        config.qk_norm.eps = a.norm_eps;
    }
    const double default_value = 1 / std::sqrt(static_cast<double>(a.head_dim));
    const double scale = a.scale * a.layers[layer].scale;
    if (std::abs(scale / default_value - 1) > 1e-12)
        config.scale = {ScaleChoice::By::number, scale};
    set_positions_and_mask(a, a.layers[layer], config);
    config.softcap = a.attention_softcap;
    if (has("sink")) config.sink = SinkLogit::given;
}

void give_parameters(const Model& model, std::size_t layer, WalkConfig& config,
                     const std::function<Tensor(const Tensor&)>& result) {
    const auto give = [&](const char* name, const Array<double>& numbers) {
        if (numbers.size() > 0)
            config.parameters.record(name, result(Tensor({"feature"}, numbers)));
    };
    for (const char* name : {"g_query", "g_key"}) {
        give(name, Norm<double>(model, in_layer(layer, name), "").gain);
    }
    const Norm<double> norm(model, in_layer(layer, "g_attention"), in_layer(layer, "b_attention"));
    give("g_x", norm.gain);
    give("b_x", norm.bias);
    const auto give_stored = [&](const char* name) {
        const std::string theirs = in_layer(layer, name);
        if (model.has(theirs)) config.parameters.record(name, result(model.read(theirs)));
    };
    for (const char* name :
         {"w_query", "b_query", "w_key", "b_key", "w_value", "b_value", "w_output", "b_output"}) {
        give_stored(name);
    }
    if (config.sink == SinkLogit::given) give_stored("sink");
}

LayerWalk::LayerWalk(WalkConfig config, const ModelMistake* mistake, std::vector<TableEdit> edits)
    : config_(std::move(config)), mistake_(mistake), edits_(std::move(edits)) {
    if (mistake_ == nullptr || !mistake_->why_not(config_).empty()) {
        mistake_ = nullptr;
    } else if (mistake_->change != nullptr) {
        mistake_->change(config_);
    }
}

void LayerWalk::prepare(std::size_t tokens, std::size_t texts) {
    if (plan_ && plan_->past_len > 0) return move_on(*plan_, past_, tokens);
    WalkConfig config = config_;
    config.query_len = static_cast<std::int64_t>(tokens);
    if (texts > 0) config.batch = static_cast<std::int64_t>(texts);
    if (past_ > 0) config.past = static_cast<std::int64_t>(past_);
    plan_ = resolve(std::move(config));
    StepTable table = step_table(*plan_);
    if (mistake_ != nullptr && mistake_->entry != nullptr) {
        table = mistake_->entry->apply(std::move(table), *plan_);
    }
    for (const TableEdit& edit : edits_) table = edit(std::move(table), *plan_);
    parameters_ = Ledger(chains_of(table));
    StepTable first;
    steps_.clear();
    for (Step& step : table) {
        if (!step.applies(*plan_)) continue;
        (step.kind == Step::Kind::parameter ? first : steps_).push_back(std::move(step));
    }
    require_memory(first, *plan_);
    require_memory(steps_, *plan_, Details::skipped);
    perform(first, first, *plan_, plan_->config.parameters, Details::skipped, parameters_);
}

Ledger LayerWalk::advance(Tensor x) {
    const bool of_texts = x.dimension() == 3;
    const std::size_t tokens = x.shape()[of_texts ? 1 : 0];
    prepare(tokens, of_texts ? x.shape()[0] : 0);
    Ledger given;
    given.record("x", std::move(x));
    if (past_ > 0) {
        given.record("past_key", past_key_);
        given.record("past_value", past_value_);
    }
    Ledger ledger = parameters_;
    perform(steps_, steps_, *plan_, given, Details::skipped, ledger);
    past_key_ = ledger.latest(Chain::keys, "repeated_key");
    past_value_ = ledger.latest(Chain::values, "repeated_value");
    past_ += tokens;
    return ledger;
}

}  // namespace attn::models

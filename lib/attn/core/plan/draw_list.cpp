#include "attn/core/plan/draw_list.hpp"

#include <algorithm>

#include "attn/core/plan/beginnings.hpp"
#include "attn/core/plan/merged.hpp"
#include "attn/core/plan/tokenize.hpp"

namespace attn {
namespace {

/// Builds the draw list of a plan.
class Lister {
public:
    explicit Lister(const Plan& plan) : plan_(plan), config_(plan.config) {}

    DrawList list() && {
        list_burns(config_.burn_before);
        if (plan_.has_x()) {
            list_source(config_.input,
                        {"ids", "embedding", plan_.adds_positions() ? "token_embedding" : "x"},
                        plan_.query_len, embed("feature"));
            list_position_table();
            if (config_.memory) {
                list_source(*config_.memory, {"memory_ids", "memory_embedding", "memory"},
                            plan_.key_len, memory_features("feature"));
            }
        }
        list_norm();
        const std::string first = plan_.one_weight() ? "w_qkv" : "w_query";
        // nn.MultiheadAttention draws its output projection first, and everything in one line.
        list_burns(config_.burn, config_.projection == Projection::mha ? first : "");
        list_projections(first);
        list_gains();
        const std::size_t after = list_.size();
        list_past();
        list_differential();
        if (plan_.has_sink()) {
            const bool drawn = *config_.sink == SinkLogit::normal;
            list_.push_back({"sink",
                             "sink",
                             {{"head", plan_.heads}},
                             drawn ? Initialisation::normal : Initialisation::zeros});
        }
        list_bias_table();
        if (config_.output_projection && config_.projection != Projection::mha) {
            const std::size_t width = merged_width(plan_);
            list_matrix("output", "w_output",
                        {"in", width, merged_heads(plan_),
                         width == plan_.value_dim ? &WalkConfig::value_dim : nullptr},
                        {"out", plan_.output_dim, 1, &WalkConfig::output_dim}, Init::linear,
                        config_.output_bias);
        }
        // A program draws in this order, too: other late draws come together with those of the
        // files.
        const std::size_t own = list_.size();
        list_attention_parameters(plan_, list_);
        for (std::size_t i = after; own < list_.size() && i < own; ++i) {
            list_[i].step = list_[own].name;
        }
        if (auto kept = kept_row(plan_)) list_.push_back(std::move(*kept));
        name_steps_of_burns();
        return std::move(list_);
    }

private:
    struct SourceNames {
        const char *ids, *embedding, *tensor;
    };

    /// One of query, key and value.
    struct Part {
        std::string name;
        Init init;
        std::size_t heads;
        Extent length, in, width;
    };

    static Initialisation initialisation(Distribution distribution) {
        return distribution == Distribution::normal ? Initialisation::normal
                                                    : Initialisation::uniform;
    }

    static Initialisation initialisation(Init init) {
        switch (init) {
            case Init::uniform:
                return Initialisation::uniform;
            case Init::normal:
                return Initialisation::normal;
            case Init::zeros:
            case Init::identity:
                return Initialisation::zeros;
            case Init::linear:
                break;
        }
        return Initialisation::linear_weight;
    }

    void list_burns(const std::vector<Burn>& burns, const std::string& step = "") {
        for (const Burn& burn : burns) {
            list_.push_back({"", step, {{"", burn.count}}, initialisation(burn.distribution)});
        }
    }

    Extent embed(const char* axis) const {
        return {axis, plan_.embed_dim, 1, &WalkConfig::embed_dim};
    }

    /// The number of features of a given memory is known.
    Extent memory_features(const char* axis) const {
        const bool given = config_.memory && std::holds_alternative<Tensor>(*config_.memory);
        return {axis, plan_.memory_dim, 1, given ? nullptr : &WalkConfig::embed_dim};
    }

    std::vector<Extent> for_each_batch(std::vector<Extent> extents) const {
        if (plan_.has_batch) extents.insert(extents.begin(), {"batch", plan_.batch});
        return extents;
    }

    void list_source(const Source& source, const SourceNames& names, std::size_t length,
                     const Extent& feature) {
        const Extent position{"token", length};
        DrawnTensor row{names.tensor, names.tensor, for_each_batch({position, feature})};
        if (const auto* tokens = std::get_if<Tokens>(&source)) {
            list_.push_back({names.ids, names.ids, for_each_batch({position})});
            list_.back().given_source = &source;
            const Extent rows{"vocab", static_cast<std::size_t>(tokens->vocab_size.value_or(0))};
            if (tokens->embedded) return list_embedded(std::move(row));
            row = {names.embedding, names.embedding, {rows, feature}, Initialisation::embedding};
            if (tokens->by_word) {
                row.seeds = &config_;
                row.words = words_of_rows(*tokens);
            }
            if (tokens->pad_id) row.zero_row = static_cast<std::size_t>(*tokens->pad_id);
        } else if (const auto* random = std::get_if<RandomInput>(&source)) {
            row.how = initialisation(random->distribution);
        } else {
            row.given_source = &source;
        }
        list_.push_back(std::move(row));
    }

    /// Lists tensors that a model computes from the ids, and x if earlier layers have computed it:
    /// they are given, so nothing is drawn.
    void list_embedded(DrawnTensor x) {
        x.how = Initialisation::zeros;
        for (const char* name : {"token_embedding", "position_embedding", "x"}) {
            if (!config_.parameters.has(name)) continue;
            x.name = x.step = name;
            list_.push_back(x);
        }
    }

    /// Lists the gain of x's norm, and the bias if one is given.
    void list_norm() {
        if (!config_.x_norm) return;
        list_.push_back({"g_x", "g_x", {embed("feature")}, Initialisation::ones});
        if (!config_.parameters.has("b_x")) return;
        list_.push_back({"b_x", "b_x", {embed("feature")}, Initialisation::zeros});
    }

    void list_position_table() {
        if (config_.position_embedding != PositionEmbedding::learned) return;
        const auto rows = static_cast<std::size_t>(config_.position_rows.value_or(0));
        list_.push_back({"position_table",
                         "position_table",
                         {{"position", rows, 1, &WalkConfig::position_rows}, embed("feature")},
                         Initialisation::embedding});
    }

    void list_projections(const std::string& first) {
        const std::size_t begin = list_.size();
        switch (config_.projection) {
            case Projection::none:
                if (plan_.has_x()) return;
                if (const std::string step = beginning_of(config_); !step.empty()) {
                    return list_beginning(step);
                }
                for (const char letter : config_.draw_order) list_directly(part_of(letter));
                break;
            case Projection::mha:
                for (DrawnTensor& row : multihead_rows(plan_.embed_dim, plan_.memory_dim,
                                                       plan_.memory_dim, config_.bias)) {
                    list_.push_back(std::move(row));
                }
                break;
            case Projection::fused:
            case Projection::fused_by_head:
                list_matrix("qkv", first, embed("in"), fused_features(), (*config_.init)[0],
                            config_.bias);
                break;
            case Projection::split:
                if (plan_.has_latent()) {
                    list_latents(first);
                    break;
                }
                [[fallthrough]];
            case Projection::matrix:
            case Projection::stacked:
            case Projection::per_head:
                for (const char letter : config_.draw_order) {
                    const Part part = part_of(letter);
                    list_matrix(part.name, first, part.in, part.width, part.init, config_.bias,
                                part.heads);
                }
                break;
        }
        for (std::size_t i = begin; i < list_.size(); ++i) {
            list_[i].times = static_cast<std::size_t>(config_.redraw) + 1;
        }
    }

    /// Lists the matrices of latent attention, and the gains of its norms.
    void list_latents(const std::string& first) {
        const auto size = [](const std::optional<std::int64_t>& setting) {
            return static_cast<std::size_t>(setting.value_or(0));
        };
        const Init init = (*config_.init)[0];
        const std::size_t rank = size(config_.latent.rank);
        const std::size_t turned = size(config_.rotary.dim);
        Extent source = embed("in");
        if (config_.latent.query_rank) {
            const std::size_t query_rank = size(config_.latent.query_rank);
            list_matrix("query_latent", first, source, {"out", query_rank}, init, false);
            source = {"in", query_rank};
        }
        list_matrix("query", first, source, {"out", plan_.head_dim, plan_.heads}, init, false);
        list_matrix("latent", first, memory_features("in"), {"out", rank + turned}, init, false);
        list_matrix("key_value", first, {"in", rank},
                    {"out", size(config_.head_dim) + plan_.value_dim, plan_.heads}, init, false);
        if (config_.latent.query_rank) list_gain("g_query_latent", source.size);
        list_gain("g_latent", rank);
    }

    void list_gain(const char* name, std::size_t features) {
        list_.push_back({name, name, {{"feature", features}}, Initialisation::ones});
    }

    /// Lists the vectors of lambda, and the gain of the norm after the differences.
    void list_differential() {
        if (!plan_.differs()) return;
        for (const char* name : {"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"}) {
            const Extent features{"feature", plan_.head_dim, 1, &WalkConfig::head_dim};
            list_.push_back({name, name, {features}, Initialisation::small_normal});
        }
        list_gain("g_context", plan_.value_dim);
    }

    Part part_of(char letter) const {
        const Extent query{"query", plan_.query_len, 1, &WalkConfig::query_len};
        const Extent key{"key", plan_.new_keys(), 1,
                         config_.memory ? &WalkConfig::key_len : &WalkConfig::query_len};
        const std::size_t heads = letter == 'q'   ? plan_.heads
                                  : letter == 'k' ? plan_.kv_heads
                                                  : plan_.value_heads();
        const std::size_t times = plan_.head_axis_on_weight() ? 1 : heads;
        const Extent head_dim{"out", plan_.head_dim, times, &WalkConfig::head_dim};
        const Extent value_dim{"out", plan_.value_dim, times, &WalkConfig::value_dim};
        const auto& init = *config_.init;
        if (letter == 'q') return {"query", init[0], heads, query, embed("in"), head_dim};
        if (letter == 'k') return {"key", init[1], heads, key, memory_features("in"), head_dim};
        return {"value", init[2], heads, key, memory_features("in"), value_dim};
    }

    /// Lists the gains of the norms of query and key.
    void list_gains() {
        if (!plan_.has_gains()) return;
        const bool all = config_.qk_norm.over == NormOver::all;
        for (const auto& [name, heads] :
             {std::pair("g_query", plan_.heads), {"g_key", plan_.kv_heads}}) {
            const Extent features{"feature", plan_.head_dim, all ? heads : 1,
                                  &WalkConfig::head_dim};
            list_.push_back({name, name, {features}, Initialisation::ones});
        }
    }

    /// Lists T5's table, even one given with cross-attention, whose bias is not added.
    void list_bias_table() {
        const char* const rows = "relative_attention_bias";
        const Tensor* table = config_.parameters.find(rows);
        const auto& bias = config_.position_bias;
        const bool adds = bias && bias->kind == PositionBias::Kind::t5;
        if (!adds && (table == nullptr || table->dimension() != 2 || !config_.memory)) return;
        const auto buckets = adds ? std::size_t(bias->buckets) : table->shape()[0];
        list_.push_back({rows, rows, {{"bucket", buckets}, {"head", plan_.heads}}});
        list_.back().how = adds ? Initialisation::embedding : Initialisation::zeros;
    }

    /// Discarded draws happen just before the next drawn tensor.
    void name_steps_of_burns() {
        std::string next;
        for (std::size_t i = list_.size(); i-- > 0;) {
            if (list_[i].step.empty()) list_[i].step = next;
            if (!list_[i].given_source) next = list_[i].step;
        }
    }

    /// Lists keys and values of earlier tokens, whose number is that of their file.
    void list_past() {
        for (const char letter : {'k', 'v'}) {
            const Part part = part_of(letter);
            const std::string name = "past_" + part.name;
            if (!config_.past && !config_.parameters.has(name)) continue;
            std::vector<Extent> extents{{"key", plan_.past_len, 1, &WalkConfig::past},
                                        {"feature", part.width.size, 1, part.width.setting}};
            if (plan_.has_head) extents.insert(extents.begin(), {"head", part.heads});
            list_.push_back(
                {name, name, for_each_batch(std::move(extents)), Initialisation::normal});
        }
    }

    /// Lists scores or weights that are given in place of query and key. A value is not drawn with
    /// them: it would be random.
    void list_beginning(const std::string& step) {
        if (step == "query") {
            list_directly(part_of('q'));
            list_directly(part_of('k'));
            return;
        }
        std::vector<Extent> extents{part_of('q').length, part_of('k').length};
        if (plan_.has_head) extents.insert(extents.begin(), {"head", plan_.heads});
        list_.push_back({step, step, for_each_batch(std::move(extents)), Initialisation::zeros});
        if (config_.parameters.has("value")) list_directly(part_of('v'));
    }

    void list_directly(const Part& part) {
        const Extent feature{"feature", part.width.size, 1, part.width.setting};
        std::vector<Extent> extents{part.length, feature};
        if (plan_.has_head) extents.insert(extents.begin(), {"head", part.heads});
        list_.push_back({part.name, "query", for_each_batch(std::move(extents)),
                         initialisation(std::get<RandomInput>(config_.input).distribution)});
    }

    /// Returns the features of query, key and value of all heads. They determine head_dim if values
    /// have the same width as keys.
    Extent fused_features() const {
        const auto times = static_cast<std::int64_t>(plan_.softmaxes());
        if (!config_.value_dim || config_.value_dim == times * config_.head_dim.value_or(0)) {
            return {"out", plan_.head_dim, plan_.heads + 2 * plan_.kv_heads, &WalkConfig::head_dim};
        }
        return {"out", plan_.qkv_features()};
    }

    /// Lists `w_NAME` and, with a bias, `b_NAME`: for all heads, or with an axis of heads.
    void list_matrix(const std::string& name, const std::string& step, const Extent& in,
                     const Extent& out, Init init, bool bias, std::size_t heads = 1) {
        const bool on_heads = name != "output" && plan_.head_axis_on_weight();
        const bool in_turn = on_heads && config_.projection == Projection::per_head;
        DrawnTensor weight{"w_" + name, step, {out, in}, Initialisation::linear_weight};
        if (*config_.weight_layout == WeightLayout::in_out) weight.extents = {in, out};
        weight.in = in.length();
        weight.out = out.length() * (on_heads && !in_turn ? heads : 1);
        weight.bias = bias;
        weight.turns = in_turn ? heads : 1;
        DrawnTensor offset = weight;
        offset.name = "b_" + name;
        offset.extents = {{"out", out.length()}};
        offset.how = Initialisation::linear_bias;
        if (init != Init::linear) weight.how = offset.how = initialisation(init);
        weight.diagonal = init == Init::identity;
        for (DrawnTensor* row : {&weight, &offset}) {
            if (on_heads) row->extents.insert(row->extents.begin(), {"head", heads});
        }
        list_.push_back(std::move(weight));
        if (bias) list_.push_back(std::move(offset));
    }

    const Plan& plan_;
    const WalkConfig& config_;
    DrawList list_;
};

}  // namespace

Axes DrawnTensor::axes() const {
    Axes axes;
    for (const Extent& extent : extents) axes.push_back(extent.axis);
    return axes;
}

Shape DrawnTensor::shape() const {
    Shape shape;
    for (const Extent& extent : extents) shape.push_back(extent.length());
    return shape;
}

bool DrawnTensor::is_parameter() const {
    const bool is_source =
        given_source || name == "x" || name == "token_embedding" || name == "memory";
    return !name.empty() && !is_source;
}

DrawList draw_list(const Plan& plan) { return Lister(plan).list(); }

const DrawnTensor* find_drawn(const DrawList& list, std::string_view name) {
    const auto row = std::ranges::find(list, name, &DrawnTensor::name);
    return row == list.end() ? nullptr : &*row;
}

}  // namespace attn

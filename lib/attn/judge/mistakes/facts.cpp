#include <algorithm>
#include <bit>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/projected.hpp"
#include "attn/core/plan/score_bias.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/core/steps/rotary.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/judge/mistakes/change.hpp"

// Numbers and facts of a plan for `needs` in the texts of mistakes. A fact is 1 or 0.

namespace attn {

double effect_of(const ScaleFactor& factor) {
    return factor.operation == ScaleFactor::Operation::divide ? 1 / factor.number : factor.number;
}

bool walk_has(const Plan& plan, std::string_view step) {
    return has_step(step_table(plan), plan, step);
}

std::size_t unturned(const Plan& plan) { return plan.head_dim - 2 * plan.rotary_pairs(); }

void count_from_zero(Plan& plan) {
    std::int64_t position = 0;
    for (std::int64_t& each : plan.config.positions) each = position++;
}

namespace {

// Weights.

/// True if query, key and value are x multiplied by weights, not made from a latent.
bool projects_x(const Plan& plan) { return walk_has(plan, "w_key") || walk_has(plan, "w_qkv"); }

/// Returns the number of output features of one stored matrix of query, key or value.
std::size_t stored_width(const Plan& plan, std::size_t part) {
    const Projected& projected = query_key_value()[part];
    return plan.head_axis_on_weight() ? projected.width(plan) : projected.all_features(plan);
}

bool square_weights(const Plan& plan) {
    return projects_x(plan) && plan.config.projection != Projection::fused_by_head &&
           stored_width(plan, 0) == plan.embed_dim && stored_width(plan, 1) == plan.memory_dim &&
           stored_width(plan, 2) == plan.memory_dim;
}

/// Returns the number of successive rows of query, or of key, in one weight.
std::size_t rows_of_part(const Plan& plan) {
    const bool by_head = plan.config.projection == Projection::fused_by_head;
    return by_head ? plan.head_dim : plan.heads * plan.head_dim;
}

bool equal_widths(const Plan& plan) {
    return plan.value_dim == plan.head_dim && plan.value_heads() == plan.heads;
}

/// True if the weights of two parts have the same shape.
template <std::size_t part, std::size_t other>
bool weighs_alike(const Plan& plan) {
    if (plan.one_weight()) return equal_widths(plan) && !plan.has_memory;
    const bool same_source = (part != 0 && other != 0) || plan.embed_dim == plan.memory_dim;
    const auto& parts = query_key_value();
    const bool same_heads =
        !plan.head_axis_on_weight() || parts[part].heads(plan) == parts[other].heads(plan);
    return same_source && same_heads && stored_width(plan, part) == stored_width(plan, other);
}

// Norms.

/// True if `holds` is true for a given gain.
template <class Holds>
bool has_gain(const Plan& plan, Holds holds) {
    for (const char* name : {"g_query", "g_key"}) {
        const Tensor* gain = plan.config.parameters.find(name);
        if (gain != nullptr && holds(*gain)) return true;
    }
    return false;
}

bool has_gain_beside_one(const Plan& plan) {
    return has_gain(plan, [](const Tensor& gain) {
        return !all_cells(gain, [](double number) { return number == 1; });
    });
}

/// True if heads are normalised before their rotation, with a gain that differs within a pair.
bool has_uneven_gain(const Plan& plan) {
    if (!plan.rotates() || plan.config.qk_norm.over != NormOver::head ||
        plan.config.qk_norm.place != QkNorm::Place::before) {
        return false;
    }
    return has_gain(plan, [&](const Tensor& gain) {
        const std::size_t pairs = gain.size() == plan.head_dim ? plan.rotary_pairs() : 0;
        for (std::size_t i = 0; i < pairs; ++i) {
            const auto [a, b] = feature_pair(*plan.config.rotary.pairing, i, 2 * pairs);
            if (gain.at(a) != gain.at(b)) return true;
        }
        return false;
    });
}

/// True if no gain that differs by feature is applied after the rotation.
bool gains_first_or_alike(const Plan& plan) {
    const Ledger& given = plan.config.parameters;
    return plan.config.qk_norm.place == QkNorm::Place::before ||
           !(given.has("g_query") || given.has("g_key"));
}

// Positions.

bool pads_in_front(const Plan& plan) {
    return !plan.has_memory && plan.key_padding.size() > 0 && plan.key_padding.data()[0];
}

/// True if counting the padding gives other positions, and the table has rows for them.
bool padding_counts(const Plan& plan) {
    Plan counted = plan;
    count_from_zero(counted);
    const bool has_row = plan.config.position_embedding != PositionEmbedding::learned ||
                         counted.config.positions.back() < *plan.config.position_rows;
    return counted.config.positions != plan.config.positions && has_row;
}

bool is_scaled_once(const Plan& plan) {
    const auto& scaling = plan.config.rotary.scaling;
    return scaling && scaling->kind != RopeScaling::Kind::dynamic;
}

bool scaling_matters(const Plan& plan) {
    return plan.config.rotary.scaling &&
           (is_scaled_once(plan) || plan.rotary_base() != plan.config.rotary.theta);
}

/// True if yarn's limits are not integers.
bool truncating_matters(const Plan& plan) {
    const auto& scaling = plan.config.rotary.scaling;
    if (!scaling || scaling->kind != RopeScaling::Kind::yarn) return false;
    RopeScaling other = *scaling;
    other.truncate = !other.truncate;
    const auto shares = [&](const RopeScaling& of) {
        const auto [first, last] = of.ramp(plan.rotary_base(), 2 * plan.rotary_pairs());
        std::vector<double> all;
        for (std::size_t i = 0; i < plan.rotary_pairs(); ++i) {
            all.push_back(std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0));
        }
        return all;
    };
    return shares(other) != shares(*scaling);
}

bool buckets_fit_both_directions(const Plan& plan) {
    const PositionBias& bias = *plan.config.position_bias;
    return bias.buckets % 4 == 0 && bias.max_distance > bias.buckets / 2;
}

// Masks.

bool fits_any_length(const Plan& plan) {
    return std::ranges::none_of(mask_kinds(), [&](const MaskKind& kind) {
        return kind.chosen(plan.config.mask) && !kind.fits_any_length;
    });
}

bool hides_a_row(const Plan& plan) {
    const std::vector<bool> hidden = hidden_cells(plan).cells;
    for (std::size_t row = 0; row < hidden.size(); row += plan.key_len) {
        const auto first = hidden.begin() + static_cast<std::ptrdiff_t>(row);
        if (std::all_of(first, first + static_cast<std::ptrdiff_t>(plan.key_len),
                        [](bool hides) { return hides; })) {
            return true;
        }
    }
    return false;
}

template <SoftmaxAxis axis>
bool goes_over(const Plan& plan) {
    return plan.config.softmax_axis == axis;
}

/// Numbers and facts in addition to the numbers of walk_number(), which rules can use, too.
const std::pair<std::string_view, PlanValue> facts_of_plan[]{
    {"B", [](const Plan& plan) { return plan.batch; }},
    {"Hc", [](const Plan& plan) { return plan.context_heads(); }},
    {"Gv", [](const Plan& plan) { return plan.value_heads(); }},
    {"Dk", [](const Plan& plan) { return plan.key_dim(); }},
    {"Dm", [](const Plan& plan) { return plan.mixed_dim(); }},
    {"Cm", [](const Plan& plan) { return plan.memory_dim; }},
    {"Co", [](const Plan& plan) { return plan.output_dim; }},
    {"n", [](const Plan& plan) { return std::bit_floor(plan.heads); }},
    {"norm_eps", [](const Plan& plan) { return plan.config.qk_norm.eps; }},
    {"x_norm_eps", [](const Plan& plan) { return plan.config.x_norm_eps; }},
    {"type_eps", [](const Plan& plan) { return epsilon(plan.compute_dtype); }},
    {"first_row",
     [](const Plan& plan) { return *std::ranges::min_element(plan.config.positions); }},
    {"first_position", [](const Plan& plan) { return plan.config.positions[0]; }},
    {"first_memory_position", [](const Plan& plan) { return plan.config.memory_positions[0]; }},
    {"block", rows_of_part},
    {"pairs", [](const Plan& plan) { return plan.rotary_pairs(); }},
    {"first_rotated", [](const Plan& plan) { return plan.first_rotated(plan.head_dim); }},
    {"base", [](const Plan& plan) { return plan.config.rotary.theta; }},
    {"rotary_factor", [](const Plan& plan) { return plan.rotary_factor(); }},
    {"scale", [](const Plan& plan) { return 1 / effect_of(plan.scale); }},
    {"scale_number", [](const Plan& plan) { return plan.config.scale.number; }},
    {"drop_p", [](const Plan& plan) { return plan.config.dropout.p; }},
    {"score_factor", [](const Plan& plan) { return plan.score_factor(); }},
    {"W", [](const Plan& plan) { return plan.config.mask.window.value_or(0); }},
    {"chunk", [](const Plan& plan) { return plan.config.mask.chunk.value_or(0); }},
    {"prefix", [](const Plan& plan) { return plan.config.mask.prefix.value_or(0); }},
    {"prefill", [](const Plan& plan) { return plan.config.prefill.value_or(0); }},
    {"documents", [](const Plan& plan) { return plan.config.mask.documents.size(); }},
    {"has_batch", [](const Plan& plan) { return plan.has_batch; }},
    {"zero_sink", [](const Plan& plan) { return plan.config.sink == SinkLogit::zero; }},
    {"projects_x", projects_x},
    {"one_weight", [](const Plan& plan) { return plan.one_weight(); }},
    {"head_axis_on_weight", [](const Plan& plan) { return plan.head_axis_on_weight(); }},
    {"stored_out_in",
     [](const Plan& plan) { return *plan.config.weight_layout == WeightLayout::out_in; }},
    {"square_weights", square_weights},
    {"query_weighs_as_key", weighs_alike<0, 1>},
    {"query_weighs_as_value", weighs_alike<0, 2>},
    {"key_weighs_as_value", weighs_alike<1, 2>},
    {"norms_of_heads", [](const Plan& plan) { return plan.config.qk_norm.over == NormOver::head; }},
    {"norms_first",
     [](const Plan& plan) { return plan.config.qk_norm.place == QkNorm::Place::before; }},
    {"gain_beside_one", has_gain_beside_one},
    {"uneven_gain", has_uneven_gain},
    {"gains_first_or_alike", gains_first_or_alike},
    {"adds_positions", [](const Plan& plan) { return plan.adds_positions(); }},
    {"learned_positions",
     [](const Plan& plan) { return plan.config.position_embedding == PositionEmbedding::learned; }},
    {"sinusoidal_positions",
     [](const Plan& plan) {
         return plan.config.position_embedding == PositionEmbedding::sinusoidal;
     }},
    {"pads_in_front", pads_in_front},
    {"padding_counts", padding_counts},
    {"half_pairs", [](const Plan& plan) { return plan.config.rotary.pairing == Pairing::half; }},
    {"interleaved_pairs",
     [](const Plan& plan) { return plan.config.rotary.pairing == Pairing::interleaved; }},
    {"scaled_once", is_scaled_once},
    {"scaling_matters", scaling_matters},
    {"truncating_matters", truncating_matters},
    {"scale_by_number",
     [](const Plan& plan) { return plan.config.scale.by == ScaleChoice::By::number; }},
    {"scale_by_embed_dim",
     [](const Plan& plan) { return plan.config.scale.by == ScaleChoice::By::embed_dim; }},
    {"fused_by_head",
     [](const Plan& plan) { return plan.config.projection == Projection::fused_by_head; }},
    {"scale_by_head_dim",
     [](const Plan& plan) { return plan.config.scale.by == ScaleChoice::By::head_dim; }},
    {"both_directions", buckets_fit_both_directions},
    {"table_of_t5", has_table_of_t5},
    {"padding", [](const Plan& plan) { return plan.config.mask.padding; }},
    {"pads_queries", pads_queries},
    {"causal_mask", [](const Plan& plan) { return plan.config.mask.causal; }},
    {"has_window", [](const Plan& plan) { return plan.config.mask.window.has_value(); }},
    {"has_chunk", [](const Plan& plan) { return plan.config.mask.chunk.has_value(); }},
    {"has_prefix", [](const Plan& plan) { return plan.config.mask.prefix.has_value(); }},
    {"any_length_mask", fits_any_length},
    {"hides_a_row", hides_a_row},
    {"softmax_over_query", goes_over<SoftmaxAxis::query>},
    {"softmax_over_head", goes_over<SoftmaxAxis::head>},
    {"softmax_over_batch", goes_over<SoftmaxAxis::batch>},
};

}  // namespace

PlanValue find_fact(std::string_view name) {
    const auto fact =
        std::ranges::find(facts_of_plan, name, [](const auto& each) { return each.first; });
    if (fact != std::end(facts_of_plan)) return fact->second;
    return walk_number(name);
}

}  // namespace attn

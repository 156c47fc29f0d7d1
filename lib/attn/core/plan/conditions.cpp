#include "attn/core/plan/conditions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "attn/core/plan/score_bias.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using By = ScaleChoice::By;

/// True if scores are divided by the square root of a size, as is usual.
bool divides_by_root(const Plan& plan, By by, std::size_t size) {
    const double root = std::sqrt(static_cast<double>(size)) / plan.score_factor();
    return plan.config.scale.by == by && divides(plan) &&
           std::abs(plan.scale.number - root) <= 1e-12 * root;
}

template <RopeScaling::Kind kind>
bool stretched_as(const Plan& plan) {
    return stretching(plan) != nullptr && stretching(plan)->kind == kind;
}

/// True if query, key and value have separate matrices.
bool has_matrices(const Plan& plan) { return projects(plan) && !plan.one_weight(); }
/// True if a product gives the query itself, without splitting or slicing.
bool is_direct(const Plan& plan) {
    return projects(plan) && !one_product(plan) && !splits_projected(plan);
}
/// Returns the same condition for key and value, which latents compute in another way.
template <bool (*holds)(const Plan&)>
bool unless_latents(const Plan& plan) {
    return holds(plan) && !plan.has_latent();
}

/// True if the padding of each sequence comes after its tokens.
bool pads_right(const Plan& plan) {
    const Array<bool>& pads = plan.key_padding;
    for (std::size_t i = 0; i + 1 < pads.size(); ++i) {
        const bool ends_row = (i + 1) % plan.key_len == 0;
        if (pads.data()[i] && !pads.data()[i + 1] && !ends_row) return false;
    }
    return pads.size() > 0;
}

template <Dropout::Place place>
bool drops_at(const Plan& plan) {
    return plan.drops(place);
}

struct NamedCondition {
    std::string_view name;
    bool (*holds)(const Plan&);
};
constexpr NamedCondition conditions[]{
    {"16 bits", [](const Plan& plan) { return is_16_bit(plan.compute_dtype); }},
    {"RMSNorm", [](const Plan& plan) { return plan.config.x_norm == NormKind::rms; }},
    {"absorbed", [](const Plan& plan) { return plan.absorbs(); }},
    {"alibi", is_alibi},
    {"bias", [](const Plan& plan) { return plan.config.bias; }},
    {"bias of the norm", [](const Plan& plan) { return plan.config.parameters.has("b_x"); }},
    {"blocks followed", [](const Plan& plan) { return plan.traces_blocks(); }},
    {"capped", [](const Plan& plan) { return plan.caps(); }},
    {"causal", [](const Plan& plan) { return plan.config.mask.is_causal(); }},
    {"differential", [](const Plan& plan) { return plan.differs(); }},
    {"dropout", [](const Plan& plan) { return plan.drops(); }},
    {"dropout on context", drops_at<Dropout::Place::context>},
    {"dropout on output", drops_at<Dropout::Place::output>},
    {"dropout on weights", drops_at<Dropout::Place::weights>},
    {"empty rows 0", [](const Plan& plan) { return plan.config.empty_row == EmptyRow::zero; }},
    {"fused", [](const Plan& plan) { return plan.fused(); }},
    {"gains of norms", [](const Plan& plan) { return plan.has_gains(); }},
    {"heads a power of two", [](const Plan& plan) { return std::has_single_bit(plan.heads); }},
    {"key is one product", unless_latents<is_direct>},
    {"key is split", unless_latents<splits_projected>},
    {"latents", [](const Plan& plan) { return plan.has_latent(); }},
    {"later keys apart", [](const Plan& plan) { return bucket_rule(plan).bidirectional; }},
    {"masked", [](const Plan& plan) { return plan.masks(); }},
    {"matrix of key", unless_latents<has_matrices>},
    {"matrix of query", has_matrices},
    {"matrix of value", unless_latents<has_matrices>},
    {"memory", [](const Plan& plan) { return plan.has_memory; }},
    {"merged", [](const Plan& plan) { return plan.has_head && plan.merges; }},
    {"norm of x", [](const Plan& plan) { return plan.config.x_norm.has_value(); }},
    {"norms of query and key", [](const Plan& plan) { return plan.norms(); }},
    {"norms over all heads",
     [](const Plan& plan) { return plan.config.qk_norm.over == NormOver::all && plan.has_head; }},
    {"norms to length 1",
     [](const Plan& plan) { return plan.config.qk_norm.over == NormOver::l2; }},
    {"one product", [](const Plan& plan) { return projects(plan) && one_product(plan); }},
    {"one weight", [](const Plan& plan) { return projects(plan) && plan.one_weight(); }},
    {"output bias", [](const Plan& plan) { return plan.config.output_bias; }},
    {"output projection", [](const Plan& plan) { return plan.config.output_projection; }},
    {"padded on the right", pads_right},
    {"past", [](const Plan& plan) { return plan.past_len > 0; }},
    {"position bias", [](const Plan& plan) { return plan.biases(); }},
    {"projected", projects},
    {"query is one product", is_direct},
    {"query is split", splits_projected},
    {"query latents", [](const Plan& plan) { return plan.config.latent.query_rank.has_value(); }},
    {"rope", [](const Plan& plan) { return plan.rotates(); }},
    {"rope as trained", [](const Plan& plan) { return stretching(plan) == nullptr; }},
    {"rope by a list", stretched_as<RopeScaling::Kind::longrope>},
    {"rope linear", stretched_as<RopeScaling::Kind::linear>},
    {"scaled", [](const Plan& plan) { return plan.scales(); }},
    {"scaled by a divisor", divides},
    {"scaled by sqrt(C)",
     [](const Plan& plan) { return divides_by_root(plan, By::embed_dim, plan.embed_dim); }},
    {"scaled by sqrt(D)",
     [](const Plan& plan) { return divides_by_root(plan, By::head_dim, plan.head_dim); }},
    {"several heads", [](const Plan& plan) { return plan.has_head; }},
    {"shared heads", [](const Plan& plan) { return plan.shares_keys(); }},
    {"sigmoid", [](const Plan& plan) { return plan.config.sigmoid; }},
    {"sink", [](const Plan& plan) { return plan.has_sink(); }},
    {"softmax over keys",
     [](const Plan& plan) { return plan.config.softmax_axis == SoftmaxAxis::key; }},
    {"stretched", [](const Plan& plan) { return plan.score_factor() != 1; }},
    {"t5", is_t5},
    {"value is one product", unless_latents<is_direct>},
    {"value is split", unless_latents<splits_projected>},
    {"x", [](const Plan& plan) { return plan.has_x(); }},
};
static_assert(std::ranges::is_sorted(conditions, {}, &NamedCondition::name));

}  // namespace

namespace {
bool has_kind(const Plan& plan, PositionBias::Kind kind) {
    return plan.biases() && plan.config.position_bias->kind == kind;
}
}  // namespace

bool is_alibi(const Plan& plan) { return has_kind(plan, PositionBias::Kind::alibi); }
bool is_t5(const Plan& plan) { return has_kind(plan, PositionBias::Kind::t5); }

const RopeScaling* stretching(const Plan& plan) {
    const std::optional<RopeScaling>& scaling = plan.config.rotary.scaling;
    return scaling && scaling->kind != RopeScaling::Kind::dynamic ? &*scaling : nullptr;
}

bool (*find_condition(std::string_view name))(const Plan&) {
    const auto known = find_named(conditions, name);
    return known == std::end(conditions) ? nullptr : known->holds;
}

void refuse_condition(std::string_view name) {
    std::vector<std::string> names;
    for (const NamedCondition& each : conditions) names.emplace_back(each.name);
    throw ConfigError("there is no condition '" + std::string(name) + "'" +
                      did_you_mean(std::string(name), names, ": there are " + joined(names, ", ")));
}

bool conditions_true(std::string_view list, const Plan& plan) {
    bool all = true;
    each_condition(list, [&](const ConditionWord& each) {
        const auto holds = find_condition(each.name);
        if (holds == nullptr) refuse_condition(each.name);
        all = all && holds(plan) != each.negated;
    });
    return all;
}

}  // namespace attn

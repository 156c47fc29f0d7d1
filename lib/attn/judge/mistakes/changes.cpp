#include <algorithm>
#include <cmath>

#include "attn/core/plan/score_bias.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// Changes of plans and masks, by the names that texts of mistakes use after `with` and `mask`.

namespace attn {
namespace {

struct MaskChange {
    std::string_view name;
    void (*make)(MaskChoice&, double number);
};
constexpr MaskChange mask_changes[]{
    {"causal", [](MaskChoice& mask, double) { mask.causal = true; }},
    {"no causal", [](MaskChoice& mask, double) { mask.causal = false; }},
    {"padding", [](MaskChoice& mask, double) { mask.padding = true; }},
    {"no padding", [](MaskChoice& mask, double) { mask.padding = false; }},
    {"no prefix", [](MaskChoice& mask, double) { mask.prefix.reset(); }},
    {"no documents", [](MaskChoice& mask, double) { mask.documents.clear(); }},
    {"no window", [](MaskChoice& mask, double) { mask.window.reset(); }},
    {"window",
     [](MaskChoice& mask, double size) { mask.window = static_cast<std::int64_t>(size); }},
    {"window +",
     [](MaskChoice& mask, double keys) { *mask.window += static_cast<std::int64_t>(keys); }},
    {"window -",
     [](MaskChoice& mask, double keys) { *mask.window -= static_cast<std::int64_t>(keys); }},
    {"window as chunk",
     [](MaskChoice& mask, double) {
         mask.chunk = mask.window;
         mask.window.reset();
     }},
    {"chunk as window", [](MaskChoice& mask, double) {
         mask.window = std::min(mask.window.value_or(*mask.chunk), *mask.chunk);
         mask.chunk.reset();
     }}};

void take_root_of_head_dim(Plan& plan, double) {
    plan.config.scale.by = ScaleChoice::By::head_dim;
    plan.scale = {ScaleFactor::Operation::divide, std::sqrt(static_cast<double>(plan.head_dim))};
}

void take_width_from_embedding(Plan& plan, double) {
    plan.head_dim = plan.embed_dim / plan.heads;
    plan.scale = {ScaleFactor::Operation::divide, std::sqrt(static_cast<double>(plan.head_dim))};
}

void take_width_that_does_not_rotate(Plan& plan, double) {
    const auto right = static_cast<double>(plan.head_dim);
    plan.head_dim = unturned(plan);
    plan.scale.number *= std::sqrt(static_cast<double>(plan.head_dim) / right);
}

void leave_magnitude_out(Plan& plan, double) {
    const bool divides = plan.scale.operation == ScaleFactor::Operation::divide;
    const double more = plan.score_factor();
    plan.scale.number *= divides ? more : 1 / more;
    plan.config.rotary.scaling.reset();
}

void read_one_weight_the_other_way(Plan& plan, double) {
    plan.config.projection = plan.config.projection == Projection::fused_by_head
                                 ? Projection::fused
                                 : Projection::fused_by_head;
}

void take_other_buckets(Plan& plan, double) {
    MaskChoice& mask = plan.config.mask;
    mask.causal = bucket_rule(plan).bidirectional;
    mask.prefix.reset();
}

template <SoftmaxAxis axis>
void soften_over(Plan& plan, double) {
    plan.config.softmax_axis = axis;
}

/// Replaces the first base by the second, and any other base by the first.
void exchange_base(double& theta, double first, double second) {
    theta = theta == first ? second : first;
}

struct PlanChange {
    std::string_view name;
    void (*make)(Plan&, double number);
};
constexpr PlanChange plan_changes[]{
    {"lengths exchanged", [](Plan& plan, double) { std::swap(plan.query_len, plan.key_len); }},
    {"counted from 0", [](Plan& plan, double) { count_from_zero(plan); }},
    {"the other order of one weight", read_one_weight_the_other_way},
    {"the other layout",
     [](Plan& plan, double) {
         WeightLayout& layout = *plan.config.weight_layout;
         layout = layout == WeightLayout::out_in ? WeightLayout::in_out : WeightLayout::out_in;
     }},
    {"eps of the type",
     [](Plan& plan, double) { plan.config.qk_norm.eps = epsilon(plan.compute_dtype); }},
    {"the other pairing",
     [](Plan& plan, double) {
         Pairing& pairing = *plan.config.rotary.pairing;
         pairing = pairing == Pairing::half ? Pairing::interleaved : Pairing::half;
     }},
    {"the base", [](Plan& plan, double base) { plan.config.rotary.theta = base; }},
    {"another usual base",
     [](Plan& plan, double) { exchange_base(plan.config.rotary.theta, 10000, 500000); }},
    {"the base of the other layers",  // Gemma 3: layers with a window have another base
     [](Plan& plan, double) { exchange_base(plan.config.rotary.theta, 10000, 1000000); }},
    {"no scaling of frequencies", [](Plan& plan, double) { plan.config.rotary.scaling.reset(); }},
    {"yarn's factor",
     [](Plan& plan, double factor) { plan.config.rotary.scaling->attention_factor = factor; }},
    {"yarn's factor squared",
     [](Plan& plan, double) {
         const double factor = plan.rotary_factor();
         plan.config.rotary.scaling->attention_factor = factor * factor;
     }},
    {"the other limits of yarn",
     [](Plan& plan, double) {
         bool& truncate = plan.config.rotary.scaling->truncate;
         truncate = !truncate;
     }},
    {"the root of head-dim", take_root_of_head_dim},
    {"the width of the embedding's share", take_width_from_embedding},
    {"the width that does not rotate", take_width_that_does_not_rotate},
    {"no magnitude of yarn", leave_magnitude_out},
    {"causal from the start",
     [](Plan& plan, double) { plan.config.causal_align = CausalAlign::start; }},
    {"buckets of the other direction", take_other_buckets},
    {"softmax over query", soften_over<SoftmaxAxis::query>},
    {"softmax over head", soften_over<SoftmaxAxis::head>},
    {"softmax over batch", soften_over<SoftmaxAxis::batch>},
    {"empty rows 0", [](Plan& plan, double) { plan.config.empty_row = EmptyRow::zero; }},
    {"the next layer", [](Plan& plan, double) { ++*plan.config.differential.depth; }}};

/// Finds the change with that name, or with a name before a number; null if there is none.
template <class Change, std::size_t n>
std::pair<const Change*, double> found(const Change (&all)[n], std::string_view remainder) {
    const auto known = std::ranges::find(all, remainder, &Change::name);
    if (known != std::end(all)) return {known, 0};
    const std::size_t blank = remainder.rfind(' ');
    if (blank == remainder.npos) return {nullptr, 0};
    const std::optional<double> number = parse_number(remainder.substr(blank + 1));
    const auto numbered = std::ranges::find(all, remainder.substr(0, blank), &Change::name);
    if (!number || numbered == std::end(all)) return {nullptr, 0};
    return {numbered, *number};
}

}  // namespace

std::function<void(MaskChoice&)> mask_change(std::string_view remainder) {
    std::vector<std::pair<const MaskChange*, double>> all;
    while (!remainder.empty()) {
        const std::string_view name = next_part(remainder, ",");
        all.push_back(found(mask_changes, name));
        if (all.back().first == nullptr) {
            throw ConfigError("there is no change of a mask '" + std::string(name) + "'");
        }
    }
    return [all](MaskChoice& mask) {
        for (const auto& [change, number] : all) change->make(mask, number);
    };
}

PlanEdit plan_change(std::string_view remainder) {
    const auto [change, number] = found(plan_changes, remainder);
    if (change == nullptr) {
        return [of_mask = mask_change(remainder)](Plan& plan) { of_mask(plan.config.mask); };
    }
    return [make = change->make, number = number](Plan& plan) { make(plan, number); };
}

}  // namespace attn

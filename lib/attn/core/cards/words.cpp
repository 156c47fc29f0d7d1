#include <algorithm>

#include "attn/core/cards/card_text.hpp"
#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/conditions.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/merged.hpp"
#include "attn/core/plan/projected.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/ground/text/json.hpp"

// The words in braces of attention files beyond those of all cards, whose meaning depends on the
// walk.

namespace attn {
namespace {

bool is_out_in(const Plan& plan) { return *plan.config.weight_layout == WeightLayout::out_in; }

/// Returns the row of the weight matrix for feature `out`: in w_qkv, that of its part.
std::string row_of(const std::string& out, const Plan& plan, const Projected* part) {
    if (part == nullptr || !plan.one_weight()) return out;
    const std::string first = std::to_string(plan.fused_features(part->number).front());
    if (plan.config.projection != Projection::fused_by_head) return first + " + " + out;
    const std::string width = std::to_string(part->width(plan));
    return out + " / " + width + " * " + std::to_string(2 * plan.head_dim + plan.value_dim) +
           " + " + first + " + " + out + " % " + width;
}

/// Returns the indices of a weight matrix in the walk's layout, or only `out` for a bias: `o,c`,
/// `o`.
std::string stored(std::string_view word, const PlannedStep& of) {
    const Plan& plan = of.plan;
    const std::string out(word.substr(0, 1));
    const std::string head = out == "f" && plan.head_axis_on_weight() ? "h," : "";
    const std::string row = row_of(out, plan, part_of(of.step.name));
    if (word == out) return head + row;
    return head + (is_out_in(plan) ? row + ",c" : "c," + row);
}

/// Returns a product in the usual notation: `x @ w_query^T + b_query`.
std::string product(const PlannedStep& of) {
    const Plan& plan = of.plan;
    const Projected* const part = part_of(of.step.name);
    const bool is_output = of.step.name == "output";
    const std::string source = is_output         ? of.latest(Chain::contexts)
                               : part != nullptr ? part->source(plan)
                                                 : plan.projected_x();
    const std::string name = part == nullptr ? of.step.name : part->name;
    const bool cuts = part != nullptr && plan.one_weight();
    const bool has_bias = is_output ? plan.config.output_bias : plan.config.bias;
    return source + " @ " + (cuts ? name + " rows of w_qkv" : "w_" + name) +
           (is_out_in(plan) ? "^T" : "") +
           (has_bias ? " + " + (cuts ? "its part of b_qkv" : "b_" + name) : "");
}

/// Returns the condition for hidden cells; empty if a mask takes its cells from a file.
std::string hides(const Plan& plan) {
    std::string all;
    for (const MaskKind& kind : mask_kinds()) {
        if (!kind.chosen(plan.config.mask)) continue;
        const std::string where = kind.rule(plan);
        if (where.empty()) return {};
        all += (all.empty() ? "" : " or ") + where;
    }
    return all;
}

std::string letters_of(const Axes& axes) {
    std::string letters;
    for (const std::string& axis : axes)
        letters += (letters.empty() ? "" : ",") + axis.substr(0, 1);
    return letters;
}

std::optional<std::string> standard_word(std::string_view word, const PlannedStep& of) {
    const Plan& plan = of.plan;
    const Projected* const part = part_of(of.step.name);
    if (word == "input") return part != nullptr ? part->source(plan) : plan.projected_x();
    if (word.starts_with("w_") || word.starts_with("b_")) {
        return std::string(word.substr(0, 2)) + part->parameter(plan);
    }
    if (word == "o,c" || word == "f,c" || word == "o" || word == "f") return stored(word, of);
    if (word == "h,") return plan.has_head ? "h," : "";
    if (word == "width") return std::to_string(merged_width(plan));
    if (word == "q,k") return letters_of(mask_axes(plan));
    if (word == "hides") return hides(plan);
    return word == "product" ? std::optional(product(of)) : std::nullopt;
}

/// Returns the places of a part's features in qkv, grouped by part or by head; in x they are
/// grouped by head.
std::optional<std::string> place_word(std::string_view word, const PlannedStep& of) {
    const Plan& plan = of.plan;
    if (word == "origin") {
        if (plan.config.parameters.has(of.step.name)) return of.step.name + " as given";
        const auto& drawn = std::get<RandomInput>(plan.config.input);
        return of.step.name +
               (drawn.distribution == Distribution::normal ? " ~ N(0, 1)" : " ~ U[0, 1)");
    }
    if (word != "place") return standard_word(word, of);
    const Projected& part = *part_of(of.step.name);
    const bool by_head = plan.config.projection == Projection::fused_by_head;
    const std::size_t block = by_head ? 2 * plan.head_dim + plan.value_dim : part.width(plan);
    const std::string first =
        projects(plan) ? std::to_string(plan.fused_features(part.number).front()) + " + " : "";
    return first + (plan.has_head ? "h * " + std::to_string(block) + " + f" : "f");
}

/// Returns the key features in the row computed from a latent, and the places of a head's parts.
std::optional<std::string> latent_word(std::string_view word, const PlannedStep& of) {
    const Plan& plan = of.plan;
    const std::string pair = std::to_string(pair_width(plan)),
                      still = std::to_string(still_dim(plan));
    if (word == "rank") return std::to_string(plan.latent_rank());
    if (word == "still") return still;
    if (word == "pair") return pair;
    if (word == "memory") return projected_of('k').source(plan);
    if (word == "^T") return is_out_in(plan) ? "^T" : "";
    const std::string key = "h * " + pair + " + g", value = "h * " + pair + " + " + still + " + f";
    if (word == "key,f") return is_out_in(plan) ? key + ", f" : "f, " + key;
    if (word == "value,c") return is_out_in(plan) ? value + ", c" : "c, " + value;
    return standard_word(word, of);
}

std::optional<std::string> x_norm_word(std::string_view word, const PlannedStep& of) {
    if (word == "eps") return json_number(of.plan.config.x_norm_eps);
    const bool has_bias = of.plan.config.parameters.has("b_x");
    if (word == "b_x") return has_bias ? "b_x" : "";
    if (word != "gained") return std::nullopt;
    return has_bias ? " * g_x[c] + b_x[c]" : " * g_x[c]";
}

std::optional<std::string> scale_word(std::string_view word, const PlannedStep& of) {
    if (word == "stretch") return json_number(of.plan.score_factor());
    return word == "number" ? std::optional(json_number(of.plan.scale.number)) : std::nullopt;
}

std::optional<std::string> cache_word(std::string_view word, const PlannedStep& of) {
    if (word != "given") return std::nullopt;
    return of.plan.config.parameters.has(of.step.name) ? "as given" : "~ N(0, 1)";
}

std::optional<std::string> differential_word(std::string_view word, const PlannedStep& of) {
    if (word == "init") return json_number(of.plan.lambda_init());
    return word == "rest" ? std::optional(json_number(1 - of.plan.lambda_init())) : std::nullopt;
}

std::optional<std::string> dropout_word(std::string_view word, const PlannedStep& of) {
    const std::string share = json_number(of.plan.config.dropout.share());
    if (word == "share") return share;
    if (word != "origin") return std::nullopt;
    const bool is_given = of.plan.config.parameters.has(of.step.name);
    return of.step.name + (is_given ? " as given" : " ~ Bernoulli(" + share + ")");
}

std::optional<std::string> qk_norm_word(std::string_view word, const PlannedStep& of) {
    return word == "eps" ? std::optional(json_number(of.plan.config.qk_norm.eps)) : std::nullopt;
}

/// The cells of a softmax row and its per-row number, its axis, the sink.
struct SoftmaxIndices {
    explicit SoftmaxIndices(const PlannedStep& of)
        : along(word(of.plan.config.softmax_axis).substr(0, 1)) {
        // Leave out axes before the one of softmax: the rule is the same for all of them.
        std::string axes = "bhqk";
        if (!of.plan.has_head) axes = "bqk";
        const std::size_t first = of.has("sink") && of.plan.has_head
                                      ? axes.size() - 3
                                      : std::min(axes.find(along), axes.size() - 2);
        for (const char letter : axes.substr(first)) {
            cell += (cell.empty() ? "" : ",") + std::string(1, letter);
            if (letter != along.front()) row += (row.empty() ? "" : ",") + std::string(1, letter);
        }
    }
    std::string along, cell, row;
};

std::optional<std::string> softmax_word(std::string_view word, const PlannedStep& of) {
    const SoftmaxIndices at(of);
    if (word == "along") return at.along;
    if (word == "cell") return at.cell;
    if (word == "row") return at.row;
    if (word == "sink") return sink_cell(of.plan);
    if (word == "origin") {
        const SinkLogit logit = *of.plan.config.sink;
        return logit == SinkLogit::zero    ? "sink = 0 for each head"
               : logit == SinkLogit::given ? "a parameter: learned in training, given here"
                                           : "a parameter: learned in training, drawn here";
    }
    if (word == "over") return std::string(attn::word(of.plan.config.softmax_axis));
    if (word != "exponential") return std::nullopt;
    return filled(
        has_own_exponentials(of) ? "exponentials[{cell}]" : "exp(scores[{cell}] - row_max[{row}])",
        of, softmax_word);
}

/// Returns the head index if a rule needs it, and the keys up to the end of block `j`.
std::optional<std::string> block_word(std::string_view word, const PlannedStep& of) {
    if (word == "h,") return of.plan.has_head ? "h," : "";
    if (word == "sink") return sink_cell(of.plan);
    if (word == "last") return std::to_string(block_count(of.plan) - 1);
    const bool drops = of.plan.drops(Dropout::Place::weights);
    if (word == "weights") return drops ? "dropout(softmax(scores))" : "softmax(scores)";
    if (word == "keep") return drops ? "keep" : "";
    if (word == " * keep")
        return !drops ? "" : of.plan.has_head ? " * keep[h,q,k]" : " * keep[q,k]";
    if (word == " / share") return drops ? " / " + json_number(of.plan.config.dropout.share()) : "";
    if (word != "keys") return std::nullopt;
    return "0..min((j + 1) * " + std::to_string(of.plan.key_block()) + ", Tk)";
}

constexpr std::pair<std::string_view, CardWords> words_by_file[]{
    {"standard", standard_word}, {"inputs", input_word},
    {"qkv", place_word},         {"given", place_word},
    {"latents", latent_word},    {"x-norm", x_norm_word},
    {"rope", rope_word},         {"position-bias", bucket_word},
    {"scale", scale_word},       {"cache", cache_word},
    {"sink", softmax_word},      {"differential", differential_word},
    {"qk-norm", qk_norm_word},   {"softmax", softmax_word},
    {"fused", block_word},       {"dropout", dropout_word}};

}  // namespace

const Projected* part_of(std::string_view step) {
    const auto known =
        std::ranges::find(query_key_value(), step.substr(step.find('_') + 1), &Projected::name);
    return known == query_key_value().end() ? nullptr : &*known;
}

std::string sink_cell(const Plan& plan) { return plan.has_head ? "sink[h]" : "sink[0]"; }

CardWords words_of_file(std::string_view name) {
    const auto known =
        std::ranges::find(words_by_file, name, [](const auto& each) { return each.first; });
    return known == std::end(words_by_file) ? nullptr : known->second;
}

}  // namespace attn

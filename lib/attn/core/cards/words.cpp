#include <algorithm>

#include "attn/core/cards/card_text.hpp"
#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/merged.hpp"
#include "attn/core/plan/projected.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/ground/text/json.hpp"

// The words in braces that the files of attention know beside those of all cards: what they stand
// for depends on the walk.

namespace attn {
namespace {

/// The indices of a weight matrix as the walk stores it.
std::string stored(const Plan& plan, const std::string& out) {
    return *plan.config.weight_layout == WeightLayout::out_in ? out + ",c" : "c," + out;
}

/// Where any kind of mask hides; nothing if one has its cells from a file.
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
    if (word == "input") {
        // query of projected_query, and of query.
        const std::string part = of.step.name.substr(of.step.name.find('_') + 1);
        return projected_of(part.front()).source(plan);
    }
    if (word == "o,c") return stored(plan, "o");
    if (word == "f,c") return stored(plan, "f");
    if (word == "width") return std::to_string(merged_width(plan));
    if (word == "q,k") return letters_of(mask_axes(plan));
    if (word == "hides") return hides(plan);
    if (word != "product") return std::nullopt;
    return product_formula(plan, of.latest(Chain::contexts), "w_output",
                           plan.config.output_bias ? "b_output" : "");
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

std::optional<std::string> qk_norm_word(std::string_view word, const PlannedStep& of) {
    return word == "eps" ? std::optional(json_number(of.plan.config.qk_norm.eps)) : std::nullopt;
}

/// The cells that softmax runs over and the one number for all of them, its axis, the sink.
struct SoftmaxIndices {
    explicit SoftmaxIndices(const PlannedStep& of)
        : along(word(of.plan.config.softmax_axis).substr(0, 1)) {
        // Axes before the one that it goes along are the same everywhere, and left out.
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

/// The index of the head if a rule has to name it, the keys up to the end of block `j`.
std::optional<std::string> block_word(std::string_view word, const PlannedStep& of) {
    if (word == "h") return of.plan.has_head ? "h," : "";
    if (word == "sink") return sink_cell(of.plan);
    if (word == "last") return std::to_string(block_count(of.plan) - 1);
    if (word != "keys") return std::nullopt;
    return "0..min((j + 1) * " + std::to_string(of.plan.key_block()) + ", Tk)";
}

constexpr std::pair<std::string_view, CardWords> words_by_file[]{
    {"standard", standard_word},
    {"scale", scale_word},
    {"cache", cache_word},
    {"sink", softmax_word},
    {"differential", differential_word},
    {"qk-norm", qk_norm_word},
    {"softmax", softmax_word},
    {"fused", block_word}};

}  // namespace

std::string sink_cell(const Plan& plan) { return plan.has_head ? "sink[h]" : "sink[0]"; }

CardWords words_of_file(std::string_view name) {
    const auto known =
        std::ranges::find(words_by_file, name, [](const auto& each) { return each.first; });
    return known == std::end(words_by_file) ? nullptr : known->second;
}

}  // namespace attn

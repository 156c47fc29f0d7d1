#include <algorithm>

#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/projected.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// The words in braces in rules of mistakes: numbers and names of the plan.

namespace attn {
namespace {

std::string text(std::size_t number) { return std::to_string(number); }

/// Returns `sqrt(D)`, or the number that a walk was given.
std::string scale_number(const Plan& plan) {
    const auto by = plan.config.scale.by;
    const double more = plan.score_factor();
    if (by == ScaleChoice::By::number) return json_number(plan.config.scale.number * more);
    const std::string root = by == ScaleChoice::By::head_dim ? "sqrt(D)" : "sqrt(C)";
    return more == 1 ? root : "(" + root + " / " + json_number(more) + ")";
}

/// Returns the scale after its operator: one for a factor, another for a divisor.
std::string scale(const Plan& plan, const char* of_factor, const char* of_root,
                  const std::string& number) {
    if (plan.config.scale.by == ScaleChoice::By::none) return {};
    return (plan.config.scale.by == ScaleChoice::By::number ? of_factor : of_root) + number;
}

/// The features of a tensor that are rotated.
struct Rotated {
    Rotated(const Plan& plan, const std::string& step, bool whole) {
        const bool is_key = step == "rotated_key" || step == "present_key";
        const std::size_t width = projected_of(is_key ? 'k' : 'q').width(plan);
        first = whole ? 0 : plan.first_rotated(width);
        pairs = whole ? width / 2 : plan.rotary_pairs();
        half = plan.config.rotary.pairing == Pairing::half;
        place = first == 0 ? "f" : "(f - " + text(first) + ")";
    }

    std::size_t first, pairs;
    bool half;
    std::string place;  ///< of a feature among the rotated ones

    std::optional<std::string> word(std::string_view name) const {
        const std::string in_halves = "(" + place + " % " + text(pairs) + ")";
        const std::string in_pairs = "floor(" + place + " / 2)";
        if (name == "first") return text(first);
        if (name == "middle") return text(first + pairs);
        if (name == "end") return text(first + 2 * pairs);
        if (name == "pairs") return text(pairs);
        if (name == "place") return place;
        if (name == "is_first") return place + (half ? " < " + text(pairs) : " % 2 == 0");
        if (name == "pair") return half ? in_halves : in_pairs;
        if (name == "other") return half ? in_pairs : in_halves;
        if (name == "apart") return half ? text(pairs) : "1";
        return std::nullopt;
    }
};

/// Condition for keys after a query if each chunk sees the keys of the whole input. A walk of one
/// chunk has the right mask.
std::string later_than_all_chunks(const Plan& plan) {
    if (!plan.config.prefill) return "k > q + offset";
    const std::string size = std::to_string(*plan.config.prefill);
    return "k > q + Tq - min((floor(q / " + size + ") + 1) * " + size + ", Tq)";
}

/// Returns the prefix of the names of the angles that rotate a step.
std::string angle_prefix(const Plan& plan, const std::string& step) {
    return step == "rotated_key" && plan.has_memory ? "memory_" : "";
}

/// Words in addition to the numbers of find_fact().
struct NamedWord {
    std::string_view name;
    std::string (*of)(const Plan& plan);
};
const NamedWord words_of_plan[]{
    {"half", [](const Plan& plan) { return text(plan.head_dim / 2); }},
    // The indices of samples and heads in a rule if there are several, and the cell of a sink.
    {"b", [](const Plan& plan) { return std::string(plan.has_batch ? "b," : ""); }},
    {"h", [](const Plan& plan) { return std::string(plan.has_head ? "h," : ""); }},
    {"head", [](const Plan& plan) { return std::string(plan.has_head ? "h" : "0"); }},
    {"sink", sink_cell},
    {"and sink",
     [](const Plan& plan) {
         return plan.has_sink() ? " + exp(" + sink_cell(plan) + ")" : std::string();
     }},
    {"projected x", [](const Plan& plan) { return plan.projected_x(); }},
    {"of three",  // the part of a block of rows in one weight, head by head
     [](const Plan& plan) {
         const bool by_head = plan.config.projection == Projection::fused_by_head;
         return std::string(by_head ? " % 3" : "");
     }},
    {"finished key",
     [](const Plan& plan) {
         return std::string(walk_has(plan, "projected_key") ? "projected_key" : "key");
     }},
    // The scale of the scores and its inverse, and its root for each of query and key.
    {"scale", [](const Plan& plan) { return scale(plan, " * ", " / ", scale_number(plan)); }},
    {"unscaled", [](const Plan& plan) { return scale(plan, " / ", " * ", scale_number(plan)); }},
    {"root",
     [](const Plan& plan) {
         return scale(plan, " * ", " / ", "sqrt(" + scale_number(plan) + ")");
     }},
    {"kept share", [](const Plan& plan) { return json_number(plan.config.dropout.share()); }},
    // Rotations: positions, and the inputs of the frequencies.
    {"memory", [](const Plan& plan) { return std::string(plan.has_memory ? "memory_" : ""); }},
    {"factor",
     [](const Plan& plan) {
         const double factor = plan.rotary_factor();
         return factor == 1 ? std::string() : " * " + json_number(factor);
     }},
    {"base", [](const Plan& plan) { return json_number(plan.rotary_base()); }},
    {"padded queries",
     [](const Plan& plan) { return where_true(plan.key_padding, plan.has_batch ? "bq" : "q"); }},
    {"padded tokens",
     [](const Plan& plan) { return where_true(plan.key_padding, plan.has_batch ? "bt" : "t"); }},
    {"later than all chunks", later_than_all_chunks},
};

/// Returns a word for this step: the source of query, key or value, the tensor that is split into
/// its heads, its heads, features per head and tokens, or the names of the angles and positions
/// that rotate it.
std::optional<std::string> word_of_step(std::string_view name, const Plan& plan,
                                        const std::string& step) {
    if (name == "heads") return text(projected_of(step.front()).heads(plan));
    if (name == "width") return text(projected_of(step.front()).width(plan));
    if (name == "tokens") return text(step == "query" ? plan.query_len : plan.new_keys());
    if (name == "source") return part_of(step)->source(plan);
    if (name == "unsplit") {
        const std::string whole = "projected_" + step;
        return walk_has(plan, whole) ? whole : part_of(step)->source(plan);
    }
    if (name == "angles") return angle_prefix(plan, step);
    if (name == "p") return angle_prefix(plan, step) + "positions";
    if (!plan.rotates()) return std::nullopt;
    constexpr std::string_view whole = "whole ";
    const bool is_whole = name.starts_with(whole);
    return Rotated(plan, step, is_whole).word(is_whole ? name.substr(whole.size()) : name);
}

}  // namespace

std::string in_words(std::string_view pattern, const std::string& step, const Plan& plan) {
    return filled(pattern, [&](std::string_view name) -> std::optional<std::string> {
        const auto known = std::ranges::find(words_of_plan, name, &NamedWord::name);
        if (known != std::end(words_of_plan)) return known->of(plan);
        if (std::optional<std::string> word = word_of_step(name, plan, step)) return word;
        // An expression such as `{2 * pairs}` has an operator.
        const bool is_expression = name.find_first_of("*+-/(") != name.npos;
        const PlanValue number = is_expression ? plan_value(name) : find_fact(name);
        return number ? std::optional(json_number(number(plan))) : std::nullopt;
    });
}

}  // namespace attn

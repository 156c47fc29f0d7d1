#include <algorithm>

#include "attn/core/cards/card_text.hpp"
#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/starts.hpp"
#include "attn/core/plan/conditions.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/merged.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

// The words after `when` and `shape` in attention files.

namespace attn {
namespace {

/// True if there is a sink; before there is a table, if the plan has one.
bool adds_sink(const PlannedStep& of) {
    return of.table.empty() ? of.plan.has_sink() : of.has("sink");
}

/// Returns the outline of one number per row of softmax.
Outline row_outline(const Plan& plan) {
    Outline outline = score_outline(plan);
    const auto axis = std::ranges::find(outline.axes, word(plan.config.softmax_axis));
    outline.shape.erase(outline.shape.begin() + (axis - outline.axes.begin()));
    outline.axes.erase(axis);
    return outline;
}

bool goes_over_keys(const Plan& plan) { return plan.config.softmax_axis == SoftmaxAxis::key; }
bool has_plain_rows(const PlannedStep& of) { return goes_over_keys(of.plan) && !adds_sink(of); }
bool is_plain_softmax(const PlannedStep& of) {
    return has_plain_rows(of) && !has_own_exponentials(of);
}

// Conditions on x: whether it is computed from ids, and from which other rows.

template <std::size_t which>
bool has_ids(const Plan& plan) {
    return starts[which].has_ids(plan);
}
/// True if the rows of x are only those of its ids.
bool looks_x_up(const Plan& plan) {
    return has_ids<0>(plan) && !x_is_embedded(plan) && !plan.adds_positions();
}
bool is_x_as_it_is(const Plan& plan) {
    return plan.has_x() && !has_ids<0>(plan) && !plan.adds_positions();
}
bool has_memory(const Plan& plan) { return starts[1].exists(plan); }
bool is_memory_as_it_is(const Plan& plan) { return has_memory(plan) && !has_ids<1>(plan); }
bool has_token_rows(const Plan& plan) {
    if (x_is_embedded(plan)) return plan.config.parameters.has("token_embedding");
    return plan.has_x() && plan.adds_positions();
}
bool has_position_rows(const Plan& plan) {
    return x_is_embedded(plan) ? reads_positions(plan) : plan.adds_positions();
}

bool counts_x(const Plan& plan) { return plan.rotates() || plan.adds_positions(); }
bool counts_memory(const Plan& plan) { return plan.rotates() && plan.has_memory; }

/// Returns the outline of position rows: in the walk of a model, one per token of each sequence.
Outline position_row_outline(const Plan& plan) {
    if (!x_is_embedded(plan)) return {{"token", "feature"}, {plan.query_len, plan.embed_dim}};
    return {plan.per_batch_axes("token", "feature"),
            plan.per_batch_shape(plan.query_len, plan.embed_dim)};
}

/// A condition that only the walk's text uses.
struct TextCondition {
    std::string_view name;
    When when;
};
constexpr TextCondition text_conditions[]{
    {"embedded", x_is_embedded},
    {"ids", has_ids<0>},
    {"learned positions", learns_positions},
    {"memory as it is", is_memory_as_it_is},
    {"memory looked up", has_ids<1>},
    {"memory_ids", has_ids<1>},
    {"memory_positions", counts_memory},
    {"plain rows", has_plain_rows},
    {"plain softmax", is_plain_softmax},
    {"position rows", has_position_rows},
    {"positions", counts_x},
    {"sink", adds_sink},
    {"token rows", has_token_rows},
    {"x as it is", is_x_as_it_is},
    {"x given", is_given_x},
    {"x looked up", looks_x_up},
};
static_assert(std::ranges::is_sorted(text_conditions, {}, &TextCondition::name));

/// Returns the number of rows of an embedding table.
std::size_t rows_for(const Tokens* tokens) {
    return tokens == nullptr ? 0 : static_cast<std::size_t>(tokens->vocab_size.value_or(0));
}

using Size = std::size_t (*)(const Plan&);

/// A size of the plan with its name.
struct NamedSize {
    std::string_view name;
    Size of;
};
const NamedSize named_sizes[]{
    {"1", [](const Plan&) { return std::size_t{1}; }},
    {"B", [](const Plan& plan) { return plan.batch; }},
    {"C", [](const Plan& plan) { return plan.embed_dim; }},
    {"context_heads", [](const Plan& plan) { return plan.context_heads(); }},
    {"D", [](const Plan& plan) { return plan.head_dim; }},
    {"key_dim", [](const Plan& plan) { return plan.key_dim(); }},
    {"G", [](const Plan& plan) { return plan.kv_heads; }},
    {"H", [](const Plan& plan) { return plan.heads; }},
    {"blocks", block_count},
    {"merged", [](const Plan& plan) { return merged_heads(plan) * merged_width(plan); }},
    {"ids", [](const Plan& plan) { return rows_for(tokens_of(starts[0], plan)); }},
    {"memory_ids", [](const Plan& plan) { return rows_for(tokens_of(starts[1], plan)); }},
    {"memory_dim", [](const Plan& plan) { return plan.memory_dim; }},
    {"mixed_dim", [](const Plan& plan) { return plan.mixed_dim(); }},
    {"key_and_value", pair_width},
    {"latent", [](const Plan& plan) { return plan.latent_rank(); }},
    {"latent_and_rotary",
     [](const Plan& plan) { return plan.latent_rank() + 2 * plan.rotary_pairs(); }},
    {"new_keys", [](const Plan& plan) { return plan.new_keys(); }},
    {"output_dim", [](const Plan& plan) { return plan.output_dim; }},
    {"pairs", [](const Plan& plan) { return plan.rotary_pairs(); }},
    {"positions", [](const Plan& plan) { return plan.config.positions.size(); }},
    {"memory_positions", [](const Plan& plan) { return plan.config.memory_positions.size(); }},
    {"P", [](const Plan& plan) { return plan.past_len; }},
    {"qkv", [](const Plan& plan) { return plan.qkv_features(); }},
    {"query_latent",
     [](const Plan& plan) { return static_cast<std::size_t>(*plan.config.latent.query_rank); }},
    {"rotary", [](const Plan& plan) { return 2 * plan.rotary_pairs(); }},
    {"Tk", [](const Plan& plan) { return plan.key_len; }},
    {"Tq", [](const Plan& plan) { return plan.query_len; }},
    {"Dv", [](const Plan& plan) { return plan.value_dim; }},
    {"value_heads", [](const Plan& plan) { return plan.value_heads(); }},
};

/// The default length of an axis in a shape.
constexpr std::pair<std::string_view, std::string_view> axis_lengths[]{
    {"batch", "B"},      {"vocab", "ids"},       {"pair", "pairs"}, {"head", "H"},
    {"query", "Tq"},     {"key", "Tk"},          {"token", "Tq"},   {"feature", "D"},
    {"block", "blocks"}, {"new_key", "new_keys"}};

[[noreturn]] void refuse(const std::string& what, std::string_view word,
                         const std::vector<std::string>& known) {
    throw ConfigError("there is no " + what + " '" + std::string(word) + "'" +
                      did_you_mean(std::string(word), known, ": there are " + joined(known, ", ")));
}

Size size_called(std::string_view name) {
    const auto known = std::ranges::find(named_sizes, name, &NamedSize::name);
    if (known != std::end(named_sizes)) return known->of;
    std::vector<std::string> names;
    for (const NamedSize& each : named_sizes) names.emplace_back(each.name);
    refuse("size", name, names);
}

}  // namespace

bool has_own_exponentials(const PlannedStep& of) {
    const auto step = std::ranges::find(of.table, "exponentials", &Step::name);
    return step != of.table.end() && step->of_user();
}

void add_conditions(std::string_view list, std::vector<Condition>& all) {
    each_condition(list, [&](const ConditionWord& word) {
        const auto own = find_named(text_conditions, word.name);
        if (own != std::end(text_conditions)) {
            all.push_back({own->when, word.negated});
        } else if (const auto of_plan = find_condition(word.name)) {
            all.push_back({of_plan, word.negated});
        } else {
            refuse_condition(word.name);
        }
    });
}

std::function<Outline(const Plan&)> outline_in(std::string_view text) {
    if (text == "softmax rows") return row_outline;
    if (text == "position bias") return position_bias_outline;
    if (text == "position rows") return position_row_outline;
    if (text == "heads") {  // an axis even in walks with one head
        return [](const Plan& plan) { return Outline{{"head"}, {plan.heads}}; };
    }
    if (text == "mask") {
        return [](const Plan& plan) { return Outline{mask_axes(plan), mask_shape(plan)}; };
    }
    struct Axis {
        std::string_view name;
        Size first, second;  ///< the product of both

        std::size_t length(const Plan& plan) const {
            return first(plan) * (second == nullptr ? 1 : second(plan));
        }
    };
    std::vector<Axis> all;
    all.reserve(4);
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        const std::size_t colon = std::min(part.find(':'), part.size());
        const std::string_view name = part.substr(0, colon);
        const auto axis =
            std::ranges::find(axis_lengths, name, [](const auto& each) { return each.first; });
        if (axis == std::end(axis_lengths)) {
            std::vector<std::string> names;
            for (const auto& each : axis_lengths) names.emplace_back(each.first);
            refuse("axis", name, names);
        }
        const std::string_view sizes = colon == part.size() ? axis->second : part.substr(colon + 1);
        const std::size_t times = sizes.find('*');
        all.push_back({axis->first, size_called(sizes.substr(0, times)),
                       times == sizes.npos ? nullptr : size_called(sizes.substr(times + 1))});
    }
    return [all = std::move(all)](const Plan& plan) {
        Outline outline;
        for (const Axis& axis : all) {
            // Batch and head are axes only if there are several.
            if (axis.name == "batch" && !plan.has_batch) continue;
            if (axis.name == "head" && !plan.has_head) continue;
            // The keys computed from x are all keys, unless there is a past.
            const bool is_new = axis.name == "new_key";
            outline.axes.emplace_back(!is_new ? axis.name : plan.past_len > 0 ? "token" : "key");
            outline.shape.push_back(axis.length(plan));
        }
        return outline;
    };
}

}  // namespace attn

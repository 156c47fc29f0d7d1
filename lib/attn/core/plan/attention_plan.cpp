#include <algorithm>
#include <cmath>
#include <numbers>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/merged.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// True if the sizes of a plan are known: the names of its parameters are needed earlier.
bool is_sized(const Plan& plan) { return plan.head_dim > 0; }

/// A number that rules of all walks may name.
struct WalkNumber {
    std::string_view name;
    double (*of)(const Plan&);
};
double of_size(std::size_t size) { return static_cast<double>(size); }
constexpr WalkNumber walk_numbers[]{
    {"H", [](const Plan& plan) { return of_size(plan.heads); }},
    {"G", [](const Plan& plan) { return of_size(plan.kv_heads); }},
    {"D", [](const Plan& plan) { return of_size(plan.head_dim); }},
    {"Dv", [](const Plan& plan) { return of_size(plan.value_dim); }},
    {"C", [](const Plan& plan) { return of_size(plan.embed_dim); }},
    {"Tq", [](const Plan& plan) { return of_size(plan.query_len); }},
    {"Tk", [](const Plan& plan) { return of_size(plan.key_len); }},
    {"P", [](const Plan& plan) { return of_size(plan.past_len); }},
    {"offset", [](const Plan& plan) { return static_cast<double>(causal_offset(plan)); }},
    {"group", [](const Plan& plan) { return of_size(plan.queries_per_key()); }},
    {"pi", [](const Plan&) { return std::numbers::pi; }},
    {"scale", [](const Plan& plan) {
         const bool divides = plan.scale.operation == ScaleFactor::Operation::divide;
         return divides ? plan.scale.number : 1 / plan.scale.number;
     }}};

/// Returns the axis and the length of a letter that all rules share.
std::optional<Extent> known_axis(const std::string& letter, const Plan& plan) {
    if (letter == "b") return Extent{"batch", plan.batch};
    if (letter == "h") return Extent{"head", plan.heads};
    if (letter == "q") return Extent{"query", plan.query_len};
    if (letter == "k") return Extent{"key", plan.key_len};
    if (letter == "t") return Extent{"token", plan.query_len};
    if (letter == "f") return Extent{"feature", plan.head_dim};
    if (letter == "c") return Extent{"in", plan.embed_dim};
    if (letter == "i" && plan.rotates()) return Extent{"pair", plan.rotary_pairs()};
    return std::nullopt;
}

std::shared_ptr<const Tensor> tensor_of(const AttentionParameter& parameter, const Axes& axes,
                                        const Shape& shape, const Plan& plan) {
    const RuleScope scope{[](const std::string& name) -> const Tensor& {
                              throw ConfigError("a parameter begins as numbers, not as " + name);
                          },
                          rule_settings(plan)};
    const Rule rule("", parameter.name, parameter.letters, parameter.value);
    return std::make_shared<const Tensor>(evaluate_rule(rule, axes, shape, plan.dtype, scope));
}

}  // namespace

double (*walk_number(std::string_view name))(const Plan&) {
    const auto* const known = std::ranges::find(walk_numbers, name, &WalkNumber::name);
    return known == std::end(walk_numbers) ? nullptr : known->of;
}

bool is_walk_number(const std::string& name) {
    return name == "cap" || walk_number(name) != nullptr;
}

std::map<std::string, double> rule_settings(const Plan& plan) {
    std::map<std::string, double> settings;
    for (const WalkNumber& each : walk_numbers) settings[std::string(each.name)] = each.of(plan);
    if (plan.caps()) settings["cap"] = plan.config.softcap;
    for (const auto& file : plan.config.attentions) {
        for (const AttentionNumber& each : file->settings) {
            const auto& specified = plan.config.attention_settings;
            const auto own =
                std::ranges::find(specified, each.name, &std::pair<std::string, double>::first);
            settings[each.name] = own != specified.end() ? own->second : file->at(each.line, [&] {
                const double value = number_of(each.value, settings);
                if (std::isfinite(value)) return value;
                throw ConfigError("the setting " + each.name + " would be " + brief(value));
            });
        }
    }
    return settings;
}

std::optional<Extent> axis_of(const std::string& letter, const AttentionFile& file,
                              const Plan& plan) {
    const auto own = std::ranges::find(file.axes, letter, &AttentionNumber::name);
    if (own == file.axes.end()) return known_axis(letter, plan);
    if (!is_sized(plan)) return Extent{letter, 0};
    return file.at(own->line, [&] {
        const double length = number_of(own->value, rule_settings(plan));
        if (!(length >= 1 && length <= 1e8 && length == std::floor(length))) {
            throw ConfigError("the axis " + letter + " would have " + brief(length) +
                              " places: a whole number from 1 to 100000000");
        }
        return Extent{letter, static_cast<std::size_t>(length)};
    });
}

void list_attention_parameters(const Plan& plan, DrawList& list) {
    for (const auto& file : plan.config.attentions) {
        for (const AttentionParameter& each : file->parameters) {
            DrawnTensor row{each.name, each.name, {}, each.how};
            row.shift = each.shift;
            row.spread = each.spread;
            for (const std::string& letter : each.letters) {
                const std::optional<Extent> axis = axis_of(letter, *file, plan);
                if (!axis) {
                    file->refuse(each.line, "the range of " + letter +
                                                " is unknown: give it, as in axis " + letter +
                                                " < H * Dv");
                }
                row.extents.push_back(*axis);
            }
            const Shape shape = row.shape();
            row.in = shape.empty() ? 1 : shape.back();
            row.out = row.in == 0 ? 0 : element_count(shape) / row.in;
            if (each.value != nullptr && is_sized(plan)) {
                file->at(each.line, [&] { row.value = tensor_of(each, row.axes(), shape, plan); });
            }
            list.push_back(std::move(row));
        }
    }
}

namespace {

/// Returns the length of the letter at that distance from the end in the last step that extends
/// contexts with a letter for heads; `known` if its file declares no such axis.
std::size_t merged_size(const Plan& plan, std::size_t from_end, std::size_t known) {
    for (const auto& file : plan.config.attentions) {
        for (const AttentionStep& step : file->steps_of(plan)) {
            const std::vector<std::string>& letters = step.rule.indices;
            const bool has_heads = letters.size() > 2 && letters[letters.size() - 3] != "b";
            if (step.extends != "contexts" || !has_heads || !is_sized(plan)) continue;
            const std::string& letter = letters[letters.size() - from_end];
            const bool is_own =
                std::ranges::find(file->axes, letter, &AttentionNumber::name) != file->axes.end();
            if (is_own) known = axis_of(letter, *file, plan)->length();
        }
    }
    return known;
}

}  // namespace

std::size_t merged_heads(const Plan& plan) { return merged_size(plan, 3, plan.context_heads()); }
std::size_t merged_width(const Plan& plan) { return merged_size(plan, 1, plan.value_dim); }

std::string other_forms(const Plan& plan) {
    std::vector<std::string> others;
    for (const auto& file : plan.config.attentions) {
        const std::string walked = file->walked_form(plan.config.form);
        for (const std::string& form : file->forms) {
            if (form != walked) others.push_back("$form "_message + form);
        }
    }
    return joined(others, " or ");
}

}  // namespace attn

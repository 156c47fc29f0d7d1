#include "attn/judge/compare/other_shapes.hpp"

#include <cmath>
#include <set>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

std::optional<Plan> reshaped(const Plan& plan, const OtherShape& shape) {
    WalkConfig config = plan.config;
    const bool is_given = config.example || config.mask.given || config.memory ||
                          config.models_own || !config.parameters.entries().empty() ||
                          (config.position_bias && config.position_bias->given);
    if (is_given) return std::nullopt;
    config.input = RandomInput{};
    config.names.clear();
    config.feature_names.clear();
    config.positions.clear();
    config.query_len = 3;
    config.embed_dim = static_cast<std::int64_t>(plan.embed_dim);
    try {
        shape.change(config);
        return resolve(config);
    } catch (const Error&) {
        return std::nullopt;  // a setting fixes the sizes
    }
}

OtherShape with_length(std::int64_t tokens) {
    return {"$seq-len "_message + std::to_string(tokens),
            [=](WalkConfig& config) { config.query_len = tokens; }};
}

namespace {

/// Adds a walk in which parameters that begin as an expression have other values: with gain = 1, a
/// form that omits the gain computes the same numbers.
void add_other_parameters(const Plan& plan, std::vector<OtherShape>& all) {
    const Ledger given = draw(plan);
    std::vector<std::string> names;
    Ledger others;
    for (const auto& file : plan.config.attentions) {
        for (const AttentionParameter& each : file->parameters) {
            if (each.value == nullptr) continue;
            Array<double> cells = cast(given[each.name], DType::float64).as<double>();
            for (std::size_t i = 0; i < cells.size(); ++i) {
                double& cell = cells.data()[i];  // slightly smaller, with the same sign
                const double less = 0.01 / (1 + static_cast<double>(i % 7));
                cell = cell == 0 ? less : cell * (1 - less);
            }
            const Tensor other(given[each.name].axes(), std::move(cells));
            others.record(each.name, cast(other, plan.dtype));
            names.push_back(each.name);
        }
    }
    if (names.empty()) return;
    all.push_back({"another " + joined(names),
                   [=](WalkConfig& config) {
                       config.parameters = others;
                       config.query_len = static_cast<std::int64_t>(plan.query_len);
                   },
                   false});
}

}  // namespace

std::vector<OtherShape> shapes_of(const Plan& plan) {
    std::vector<OtherShape> all{with_length(1), with_length(2), with_length(7), with_length(12)};
    const auto size = [](std::size_t number) { return static_cast<std::int64_t>(number); };
    const std::int64_t heads = size(plan.heads), kv_heads = size(plan.kv_heads);
    const std::int64_t width = size(plan.embed_dim) / heads, value_dim = size(plan.value_dim);
    const bool has_groups = kv_heads != heads;
    std::set<std::pair<std::int64_t, std::int64_t>> tried{{heads, kv_heads}};
    const auto try_heads = [&](std::int64_t of_queries, std::int64_t of_keys) {
        if (!tried.emplace(of_queries, of_keys).second) return;
        std::vector<std::string> words;
        if (of_queries != heads) words.push_back("$heads "_message + std::to_string(of_queries));
        if (of_keys != (has_groups ? kv_heads : of_queries))
            words.push_back("$kv-heads "_message + std::to_string(of_keys));
        all.push_back({joined(words, " "), [=](WalkConfig& config) {
                           config.heads = of_queries;
                           if (of_keys != of_queries || config.kv_heads) config.kv_heads = of_keys;
                           config.embed_dim = width * of_queries;
                       }});
    };
    if (heads > 1) {
        try_heads(heads + (has_groups ? kv_heads : 1), has_groups ? kv_heads : heads + 1);
        // The smallest number at which `h // group` and `h % group` differ.
        try_heads(4, 4);
        try_heads(4, 2);
    }
    if (has_groups) {
        try_heads(heads, 1);
        try_heads(heads, heads);
    }
    all.push_back({"$value-dim "_message + std::to_string(value_dim + 1),
                   [=](WalkConfig& config) { config.value_dim = value_dim + 1; }});
    for (const std::int64_t wider : {width + 1, width + 2}) {  // odd, unless features are in pairs
        all.push_back(
            {"$embed-dim "_message + std::to_string(wider * heads), [=](WalkConfig& config) {
                 config.embed_dim = wider * heads;
                 if (config.head_dim) *config.head_dim += wider - width;
             }});
    }
    const std::map<std::string, double> settings = rule_settings(plan);
    for (const auto& file : plan.config.attentions) {
        for (const AttentionNumber& each : file->settings) {
            const double number = settings.at(each.name);
            const bool is_size = each.value->kind == RuleNode::Kind::number;
            if (!is_size || number != std::floor(number) || std::abs(number) > 1e9) continue;
            all.push_back(
                {"$set "_message + each.name + "=" + std::to_string(std::lround(number + 1)),
                 [=, name = each.name](WalkConfig& config) {
                     std::erase_if(config.attention_settings,
                                   [&](const auto& specified) { return specified.first == name; });
                     config.attention_settings.emplace_back(name, number + 1);
                 }});
        }
    }
    add_other_parameters(plan, all);
    return all;
}

}  // namespace attn

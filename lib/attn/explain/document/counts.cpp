#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/document/document.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// Returns `12,288`.
std::string with_commas(double number) {
    std::string digits = fmt::format("{:.0f}", number);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return digits;
}

/// Returns the largest number of terms of a sum in a completed rule.
double most_places(const RuleNode& sum) {
    const RuleNode &first = *sum.parts[0], &end = *sum.parts[1];
    if (first.kind == Kind::number && end.kind == Kind::number) return end.number - first.number;
    double most = 0;
    for (const RuleAxis& axis : axes_of(*sum.parts.back(), sum.index)) {
        most = std::max(most, static_cast<double>(axis.length()));
    }
    return most;
}

/// Returns the number of products of two tensor elements in one cell, for sums at their longest.
double products_in(const RuleNode& node) {
    const bool multiplies =
        is_operation(node, "*") && reads_cells(*node.parts[0]) && reads_cells(*node.parts[1]);
    if (node.kind == Kind::choose) {  // only one side is computed
        return products_in(*node.parts[0]) +
               std::max(products_in(*node.parts[1]), products_in(*node.parts[2]));
    }
    double products = multiplies ? 1 : 0;
    for (const RuleTree& part : node.parts) products += products_in(*part);
    return node.kind == Kind::reduce ? products * most_places(node) : products;
}

/// Counts by name, and their sum.
struct Counts {
    double all = 0;
    std::vector<std::string> names{};

    void add(const std::string& name, double count) {
        if (count == 0) return;
        all += count;
        names.push_back(name + " " + with_commas(count));
    }
    std::string line(const std::string& of_what) const {
        if (names.empty()) return {};
        return with_commas(all) + " " + of_what + ": " + joined(names) + "\n";
    }
};

/// Counts the keys and values that later tokens need; none for attention files, whose caches may
/// differ.
Counts cached(const Plan& plan) {
    Counts counts;
    if (!plan.config.attentions.empty()) return counts;
    const auto tokens = static_cast<double>(plan.batch * plan.key_len);
    const auto add = [&](const char* name, std::size_t features) {
        counts.add(name, tokens * static_cast<double>(features));
    };
    if (plan.has_latent()) {
        add("latent", plan.latent_rank());
        add("rotary key", 2 * plan.rotary_pairs());
    } else {
        add("key", plan.kv_heads * plan.head_dim);
        add("value", plan.kv_heads * plan.value_dim);
    }
    return counts;
}

}  // namespace

std::string counts_text(const Plan& plan, const StepTable& table) {
    Counts parameters, products;
    for (const Step& step : table) {
        if (!step.applies(plan) || step.kind == Step::Kind::detail) continue;
        const auto cells = static_cast<double>(element_count(step.outline(plan).shape));
        if (step.kind == Step::Kind::parameter) parameters.add(step.name, cells);
        const std::optional<Rule> rule = rule_of({plan, table, step});
        if (rule) products.add(step.name, cells * products_in(*rule->value));
    }
    return parameters.line("parameters") + products.line("products") +
           cached(plan).line("numbers in a cache");
}

}  // namespace attn

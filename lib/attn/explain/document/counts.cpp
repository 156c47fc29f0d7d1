#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attn/explain/document/cost.hpp"
#include "attn/explain/document/document.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Returns `12,288`.
std::string with_commas(double number) {
    std::string digits = fmt::format("{:.0f}", number);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return digits;
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
    Counts parameters, made;
    for (const Step& step : table) {
        if (!step.applies(plan) || step.kind == Step::Kind::detail) continue;
        const auto cells = static_cast<double>(element_count(step.outline(plan).shape));
        if (step.kind == Step::Kind::parameter) parameters.add(step.name, cells);
        made.add(step.name, products_of({plan, table, step}));
    }
    return parameters.line("parameters") + made.line("products") +
           cached(plan).line("numbers in a cache");
}

void add_costs(Document& document, const Plan& plan, const StepTable& table) {
    WalkCost cost;
    try {
        cost = cost_of(plan, table);
    } catch (const Error&) {
        return;  // sizes that the walk fixes, or a backward pass that it has already or cannot have
    }
    for (Section& section : document.sections) {
        const auto found = std::ranges::find(cost.steps, section.name, &StepCost::step);
        const bool has_any =
            found != cost.steps.end() && !(*found)[StepCost::products].terms().empty();
        if (has_any) section.cost = (*found)[StepCost::products].text();
    }
}

}  // namespace attn

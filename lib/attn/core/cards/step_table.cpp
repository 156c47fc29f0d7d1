#include "attn/core/cards/step_table.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "attn/core/cards/card_text.hpp"
#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/beginnings.hpp"
#include "attn/ground/text/json.hpp"

namespace attn {

const StepTable& step_table() {
    static const StepTable& table = *new StepTable(cards_of_text());
    return table;
}

namespace {

const StepTable& in_order(const Plan& plan) {
    if (plan.config.qk_norm.place == QkNorm::Place::before) return step_table();
    static const StepTable norms_last = [] {
        StepTable table = step_table();
        const auto place_of = [&](const char* name) {
            return std::ranges::find(table, name, &Step::name);
        };
        std::rotate(place_of("g_query"), place_of("normed_key") + 1, place_of("rotated_key") + 1);
        return table;
    }();
    return norms_last;
}

}  // namespace

const StepTable& step_table(const Plan& plan) {
    const WalkConfig& config = plan.config;
    const std::string beginning = beginning_of(config);
    if (config.rules.empty() && config.attentions.empty() && beginning.empty()) {
        return in_order(plan);
    }
    // Kept, because others hold references to a table; a walk has one set of rules and files.
    static std::map<std::vector<std::string>, StepTable> tables;
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    const StepTable& table = in_order(plan);
    std::vector<std::string> key = config.rules;
    key.push_back(&table == &step_table() ? "" : "norms last");
    if (!beginning.empty()) {
        key.push_back(beginning + (config.parameters.has("value") ? " value" : ""));
    }
    if (!config.attentions.empty()) {
        key.push_back(config.form);
        for (const auto& file : config.attentions) key.push_back(file->text);
        for (const auto& [name, number] : config.attention_settings) {
            key.push_back(name + " " + json_number(number));
        }
    }
    if (!config.attentions.empty() || !beginning.empty()) {
        // The order of steps, their presence and their axes depend on the walk.
        std::string applies = plan.has_batch ? "batch " : "";
        for (const Step& step : table) applies += step.applies(plan) ? '1' : '0';
        key.push_back(applies);
    }
    const auto known = tables.find(key);
    if (known != tables.end()) return known->second;
    StepTable new_table = table;
    if (!beginning.empty()) begin_at(beginning, new_table, plan);
    if (!config.attentions.empty()) new_table = with_attentions(std::move(new_table), plan);
    if (!config.rules.empty()) new_table = with_rules(std::move(new_table), plan, config.rules);
    return tables.emplace(std::move(key), std::move(new_table)).first->second;
}

MemoryNeeds memory_needs(const Plan& plan) { return memory_needs(step_table(plan), plan); }

Ledger walk(const Plan& plan, const Ledger& given) { return walk(plan, given, step_table(plan)); }

}  // namespace attn

#include <algorithm>
#include <map>
#include <mutex>

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/mistake.hpp"

// Mistakes of an attention file: another rule for one of its steps.

namespace attn {
namespace {

/// Returns why a form cannot have the mistake: it lacks the step, or a tensor that the rule reads.
std::string why_not_in(const AttentionFile& file, const AttentionMistake& specified,
                       const Plan& plan) {
    const StepTable& table = step_table(plan);
    const bool is_own = std::ranges::any_of(
        file.steps, [&](const AttentionStep& each) { return each.rule.step == specified.step; });
    if (!has_step(table, plan, specified.step)) return "this walk has no step " + specified.step;
    if (is_own && find_step(table, specified.step).file.empty()) {
        return "another form makes " + specified.step + ": pass $form"_message;
    }
    const RuleNames names = rule_names({plan, table, find_step(table, specified.step)});
    for (const std::string& name : tensors_read(specified.rule)) {
        if (name == specified.step) continue;
        try {
            names.step(name);
        } catch (const ConfigError&) {
            return "this walk has no step " + name;
        }
    }
    return {};
}

Mistake entry_of(const std::shared_ptr<const AttentionFile>& file,
                 const AttentionMistake& specified) {
    Mistake entry;
    entry.id = specified.id;
    entry.step = specified.step;
    entry.title = specified.title;
    entry.effect = specified.effect;
    entry.fix_torch = specified.torch;
    entry.fix_numpy = specified.numpy.empty() ? specified.torch : specified.numpy;
    entry.lesson = specified.lesson;
    entry.of_file = true;
    entry.not_applicable = [file, specified](const Plan& plan) {
        return why_not_in(*file, specified, plan);
    };
    entry.apply = [file, specified](StepTable table, const Plan& plan) {
        const auto step = std::ranges::find(table, specified.step, &Step::name);
        if (step == table.end()) return table;
        file->at(specified.line, [&] {
            require_own_letters(specified.rule, step->outline(plan));
            follow_rule(*step, {plan, table, *step}, specified.rule);
        });
        return table;
    };
    return entry;
}

}  // namespace

const std::vector<Mistake>& mistakes_of(const std::shared_ptr<const AttentionFile>& file) {
    // Kept, because findings point to them.
    static std::map<std::string, std::vector<Mistake>> all;
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    const auto [entries, is_new] = all.try_emplace(file->text);
    for (const AttentionMistake& each : file->mistakes) {
        if (is_new) entries->second.push_back(entry_of(file, each));
    }
    return entries->second;
}

std::vector<const Mistake*> mistakes_in(const Plan& plan) {
    std::vector<const Mistake*> all;
    for (const auto& file : plan.config.attentions) {
        for (const Mistake& each : mistakes_of(file)) all.push_back(&each);
    }
    for (const Mistake& each : mistakes()) all.push_back(&each);
    return all;
}

const Mistake& find_mistake(std::string_view id, const Plan& plan) {
    for (const Mistake* each : mistakes_in(plan)) {
        if (each->of_file && each->id == id) return *each;
    }
    return find_mistake(id);
}

std::optional<Ledger> walk_with(const Mistake& mistake, const Plan& plan, const Ledger& given) {
    try {
        return walk(plan, given, mistake.apply(step_table(plan), plan));
    } catch (const Error&) {
        if (plan.config.attentions.empty()) throw;
        return std::nullopt;
    }
}

std::string Mistake::why_not(const Plan& plan) const {
    const std::string own = not_applicable(plan);
    if (!own.empty() || of_file || plan.config.attentions.empty()) return own;
    const StepTable& table = step_table(plan);
    // Without heads to split, the projection is the query (key, value) itself.
    const bool is_split = has_step(table, plan, step) || !step.starts_with("projected_");
    const std::string name = is_split ? step : step.substr(step.find('_') + 1);
    if (!has_step(table, plan, name)) return "this attention has no step " + step;
    const Step& new_step = find_step(table, name);
    return new_step.file.empty() ? "" : new_step.file + " makes " + name + " by its own rule";
}

}  // namespace attn

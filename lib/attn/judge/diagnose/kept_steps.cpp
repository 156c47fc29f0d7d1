#include <algorithm>
#include <map>
#include <mutex>

#include "attn/core/walk/step_rule.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"
#include "attn/judge/mistakes/change.hpp"

// Forms of a step that other code keeps and no walk has: weights averaged over the heads, the state
// of a running softmax, scores in units of log2.

namespace attn {
namespace {

bool averages(const Plan& plan) { return plan.has_head && plan.context_heads() == plan.heads; }
bool sums_keys(const Plan& plan) { return plan.config.softmax_axis == SoftmaxAxis::key; }
bool keeps_sums(const Plan& plan) {
    return sums_keys(plan) && plan.context_heads() == plan.heads && plan.value_dim > 0;
}

/// Returns a step divided by log(2).
KeptStep in_log2(const std::string& step, bool (*applies)(const Plan&) = nullptr) {
    const std::string name = step + "_base_two",
                      letters = step.ends_with("scores") ? "[q,k]" : "[q]";
    return {.name = name,
            .of = step,
            .after = step,
            .rule = PlanRule(name + letters + " = " + step + letters + " / log(2)"),
            .words = "numbers in units of log2 (for exp2)",
            .applies = applies};
}

const std::vector<KeptStep>& kept_steps() {
    static const std::vector<KeptStep> all{
        {.name = "scaled_query",
         .of = "query",
         .after = "rotated_query",
         .called = "q_scaled scaled_q query_scaled scaled_queries q_scale",
         .rule = PlanRule("scaled_query[t,f] = queries[t,f]{scale}"),
         .words = "scaled before the product with the keys",
         .by_name = true,
         .applies = &Plan::scales},
        in_log2("scaled_scores"),
        in_log2("masked_scores"),
        in_log2("row_max", sums_keys),
        {.name = "log_sum_exp",
         .of = "row_sum",
         .after = "row_sum",
         .called = "lse logsumexp softmax_lse log_sum_exps row_lse l lse_i m_i m",
         .rule = PlanRule("log_sum_exp[q] = row_max[q] + log(row_sum[q])"),
         .words = "row_max + log(row_sum), for the backward pass of online softmax",
         .applies = sums_keys},
        in_log2("log_sum_exp", sums_keys),
        {.name = "averaged_weights",
         .of = "weights",
         .after = "weights",
         .called = "avg_weights mean_weights avg_attn attn_mean attn_avg weights_mean",
         .rule = PlanRule("averaged_weights[q,k] = mean h: weights[h,q,k]"),
         .words = "the mean over the heads, which need_weights returns by default",
         .without = "head",
         .harmless = "weights-averaged",
         .applies = averages},
        {.name = "softmaxed_average",
         .of = "averaged_weights",
         .after = "averaged_weights",
         .rule = PlanRule("softmaxed_average[q,k] = exp(averaged_weights[q,k]) / (sum j: "
                          "exp(averaged_weights[q,j]))"),
         .words = "the mean over the heads, through softmax again",
         .without = "head",
         .harmless = "mean-of-heads-softmaxed-again",
         .is_mistake = true,
         .applies = averages},
        {.name = "unnormalized_context",
         .of = "context",
         .after = "row_sum",
         .called = "numerator unnormalized unnormalised",
         .rule = PlanRule("unnormalized_context[q,f] = sum k: exponentials[q,k] * values[k,f]"),
         .words = "the sum before its division by row_sum",
         .by_name = true,
         .applies = keeps_sums},
    };
    return all;
}

/// Returns the axes of the original step, except for the one that was summed.
Outline outline_of(const KeptStep& kept, const Plan& plan) {
    const KeptStep* const of = kept_step(kept.of);
    if (of != nullptr) return outline_of(*of, plan);
    Outline outline = find_step(step_table(plan), kept.of).outline(plan);
    const auto axis = std::ranges::find(outline.axes, kept.without);
    if (axis == outline.axes.end()) return outline;
    outline.shape.erase(outline.shape.begin() + (axis - outline.axes.begin()));
    outline.axes.erase(axis);
    return outline;
}

bool is_kept_in(const KeptStep& kept, const Plan& plan) {
    const StepTable& table = step_table(plan);
    const auto is_there = [&](const std::string& name) {
        if (const KeptStep* const other = kept_step(name)) return is_kept_in(*other, plan);
        const Chain chain = chain_called(name);
        if (chain == Chain::none) return has_step(table, plan, name);
        return std::ranges::any_of(
            table, [&](const Step& step) { return step.chain == chain && step.applies(plan); });
    };
    const std::vector<std::string> read = tensors_read(kept.rule(plan));
    const bool has_sums = std::ranges::count(read, "exponentials") == 0 || is_there("row_sum");
    return is_there(kept.of) && std::ranges::all_of(read, is_there) && has_sums &&
           (!kept.applies || kept.applies(plan));
}

Step card_of(const KeptStep& kept) {
    Step card;
    card.name = kept.name;
    card.called = kept.called;
    card.kind = Step::Kind::detail;
    card.shown = false;
    card.applies = [&kept](const Plan& plan) { return is_kept_in(kept, plan); };
    card.outline = [&kept](const Plan& plan) { return outline_of(kept, plan); };
    card.rule = [&kept](const PlannedStep& of) { return kept.rule(of.plan); };
    card.reads = [&kept](const Plan& plan) {
        std::vector<Input> inputs;
        for (const std::string& name : tensors_read(kept.rule(plan))) {
            const Chain chain = chain_called(name);
            inputs.push_back(chain == Chain::none ? Input(name) : Input(chain));
        }
        return inputs;
    };
    card.compute = by_rule(card);
    return card;
}

StepTable with_kept(StepTable table) {
    for (const KeptStep& kept : kept_steps()) {
        const auto before = std::ranges::find(table, kept.after, &Step::name);
        table.insert(before + 1, card_of(kept));
    }
    return table;
}

}  // namespace

std::size_t place_of(const StepTable& table, const std::string& step) {
    return static_cast<std::size_t>(std::ranges::find(table, step, &Step::name) - table.begin());
}

const KeptStep* kept_step(const std::string& name) {
    const auto found = std::ranges::find(kept_steps(), name, &KeptStep::name);
    return found != kept_steps().end() ? &*found : nullptr;
}

std::vector<std::string> kept_of(const std::string& step) {
    std::vector<std::string> names;
    for (const KeptStep& kept : kept_steps()) {
        if (kept.of == step && !kept.by_name) names.push_back(kept.name);
    }
    return names;
}

const StepTable& kept_table() {
    static const StepTable table = with_kept(step_table());
    return table;
}

const StepTable& kept_table(const Plan& plan) {
    static std::map<const StepTable*, StepTable> tables;
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    const auto [at, is_new] = tables.try_emplace(&step_table(plan));
    if (is_new) at->second = with_kept(step_table(plan));
    return at->second;
}

}  // namespace attn

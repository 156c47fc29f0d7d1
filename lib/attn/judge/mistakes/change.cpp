#include "attn/judge/mistakes/change.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// `sqrt(D)`, or the number that a walk was given.
std::string scale_number(const Plan& plan) {
    const auto by = plan.config.scale.by;
    const double more = plan.score_factor();
    if (by == ScaleChoice::By::number) return json_number(plan.config.scale.number * more);
    const std::string root = by == ScaleChoice::By::head_dim ? "sqrt(D)" : "sqrt(C)";
    return more == 1 ? root : "(" + root + " / " + json_number(more) + ")";
}

/// The meaning of a name in the braces of a text.
std::optional<std::string> meaning(std::string_view name, const Plan& plan) {
    const auto factor = [&](const char* of_number, const char* of_root, auto number) {
        if (plan.config.scale.by == ScaleChoice::By::none) return std::string();
        return (plan.config.scale.by == ScaleChoice::By::number ? of_number : of_root) + number;
    };
    if (name == "B") return std::to_string(plan.batch);
    if (name == "Hc") return std::to_string(plan.context_heads());
    if (name == "r") return std::to_string(2 * plan.rotary_pairs());
    if (name == "base") return json_number(plan.rotary_base());
    if (name == "eps") return json_number(plan.config.qk_norm.eps);
    if (name == "W") return std::to_string(*plan.config.mask.window);
    if (name == "scale") return factor(" * ", " / ", scale_number(plan));
    if (name == "unscaled") return factor(" / ", " * ", scale_number(plan));
    if (name == "root") return factor(" * ", " / ", "sqrt(" + scale_number(plan) + ")");
    return std::nullopt;
}

}  // namespace

Text::Text(std::string pattern) {
    if (pattern.find('{') == pattern.npos) {
        text_ = [pattern = std::move(pattern)](const Plan&) { return pattern; };
        return;
    }
    text_ = [pattern = std::move(pattern)](const Plan& plan) {
        return filled(pattern, [&](std::string_view name) { return meaning(name, plan); });
    };
}

Need::Need(std::function<bool(const Plan&)> holds, std::string reason)
    : why_not_([holds = std::move(holds), reason = std::move(reason)](const Plan& plan) {
          return holds(plan) ? std::string() : operator""_told(reason.data(), reason.size());
      }) {}

Need::Need(std::initializer_list<Need> all)
    : why_not_([needs = std::vector<Need>(all)](const Plan& plan) {
          for (const Need& need : needs) {
              if (std::string reason = need(plan); !reason.empty()) return reason;
          }
          return std::string();
      }) {}

Need with_step(std::string step, std::string reason) {
    return {[step = std::move(step)](const Plan& plan) { return walk_has(plan, step); },
            std::move(reason)};
}

Need without_step(std::string step, std::string reason) {
    return {[step = std::move(step)](const Plan& plan) { return !walk_has(plan, step); },
            std::move(reason)};
}

Need rows_beside_positions() {
    return {[](const Plan& plan) { return causal_offset(plan) != 0; },
            "rows and positions are the same"};
}

Fix::Fix(const std::string& line) : torch(line) {
    // Names that differ in NumPy, and names that stand for themselves there.
    static const std::vector<std::pair<std::string, std::string>> numpy_words{
        {fill_with_inf, "np.where(hidden, -np.inf, scores)"},
        {"F.softmax(scores, dim=-1)", "softmax(scores)"},
        {"torch.cat(", "np.concatenate("},
        {"torch.", "np."},
        {"math.", "np."},
        {"config.", ""},
        {".transpose(", ".swapaxes("},
        {".view(", ".reshape("},
        {".size(-1)", ".shape[-1]"},
        {"keepdim=", "keepdims="},
        {"dim=", "axis="}};
    numpy = replaced_all(line, numpy_words);
}

Mistake& entry(std::vector<Mistake>& list, std::string id, std::string step, std::string title,
               std::string effect, const Fix& fix, std::string lesson, Need needs, TableEdit apply,
               std::string same_as) {
    return list.emplace_back(Mistake{std::move(id), std::move(step), std::move(title),
                                     std::move(effect), fix.torch, fix.numpy, std::move(lesson),
                                     std::move(same_as), std::move(needs), std::move(apply)});
}

TableEdit without_sink(const std::vector<std::string>& steps) {
    const TableEdit unread = [steps](StepTable table, const Plan&) {
        for (Step& step : table) {
            if (std::ranges::count(steps, step.name) == 0) continue;
            step.compute = [before = step.compute](const Plan& plan, const Ledger& ledger) {
                return before(plan, ledger.without("sink"));
            };
        }
        return table;
    };
    return all_of({unread, with_plan(steps, [](Plan& plan) { plan.config.sink.reset(); })});
}

bool projects_x(const Plan& plan) { return walk_has(plan, "w_key") || walk_has(plan, "w_qkv"); }

void other_layout(Plan& plan) {
    plan.config.weight_layout = *plan.config.weight_layout == WeightLayout::out_in
                                    ? WeightLayout::in_out
                                    : WeightLayout::out_in;
}

Outline score_cells(const Plan& plan) {
    return {plan.per_head_axes("query", "key"), plan.per_head_shape(plan.query_len, plan.key_len)};
}

namespace {

/// Spread over all scores: an axis of length 1 serves every index.
Grid spread(const Plan& plan, const Tensor& mask) {
    const Outline outline = score_cells(plan);
    const Tensor cells =
        evaluate_rule("mask[q,k] = mask[q,k]", outline.axes, outline.shape, plan.compute_dtype,
                      {[&](const std::string&) -> const Tensor& { return mask; }, {}});
    const Array<bool>& hidden = cells.as<bool>();
    return {std::vector<bool>(hidden.begin(), hidden.end())};
}

}  // namespace

Grid hidden_cells(const Plan& plan) { return spread(plan, Visibility(plan).mask()); }

Grid hidden_cells(const Plan& plan, const Mistake& mistake) {
    const StepTable table = mistake.apply(step_table(plan), plan);
    return spread(plan, find_step(table, "mask").compute(plan, Ledger(chains_of(table))));
}

double effect_of(const ScaleFactor& factor) {
    return factor.operation == ScaleFactor::Operation::divide ? 1 / factor.number : factor.number;
}

bool walk_has(const Plan& plan, std::string_view step) {
    return has_step(step_table(plan), plan, step);
}

}  // namespace attn

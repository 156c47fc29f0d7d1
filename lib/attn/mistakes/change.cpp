#include "attn/mistakes/change.hpp"

#include <algorithm>
#include <cmath>

#include "attn/cards/step_table.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/plan/projected.hpp"
#include "attn/plan/visibility.hpp"
#include "attn/rules/evaluate.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/xtensor.hpp"
#include "attn/text/json.hpp"

namespace attn {

std::string needs_mask(const Plan& plan) { return plan.masks() ? "" : "nothing is masked"; }

std::string needs_padding(const Plan& plan) {
    return plan.config.mask.padding ? "" : "there is no padding mask";
}

std::string needs_scale(const Plan& plan) { return plan.scales() ? "" : "nothing is scaled"; }

std::string needs_square(const Plan& plan) {
    return plan.query_len == plan.key_len ? "" : "there are not as many keys as queries";
}

NotApplicable needs_rope() {
    return unless([](const Plan& plan) { return plan.rotates(); },
                  "nothing rotates: there is no $rope"_told);
}

NotApplicable rope_and(std::function<bool(const Plan&)> possible, std::string reason) {
    return first_of({needs_rope(), unless(std::move(possible), std::move(reason))});
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

namespace {

/// `sqrt(D)`, or the number that a walk was given.
std::string scale_number(const Plan& plan) {
    const auto by = plan.config.scale.by;
    const double more = plan.score_factor();
    if (by == ScaleChoice::By::number) return json_number(plan.config.scale.number * more);
    const std::string root = by == ScaleChoice::By::head_dim ? "sqrt(D)" : "sqrt(C)";
    return more == 1 ? root : "(" + root + " / " + json_number(more) + ")";
}

std::string scaled_as(const Plan& plan, const char* by_number, const char* by_root,
                      const std::string& number) {
    if (plan.config.scale.by == ScaleChoice::By::none) return "";
    return (plan.config.scale.by == ScaleChoice::By::number ? by_number : by_root) + number;
}

}  // namespace

std::string scale_rule(const Plan& plan) {
    return scaled_as(plan, " * ", " / ", scale_number(plan));
}
std::string inverse_scale_rule(const Plan& plan) {
    return scaled_as(plan, " / ", " * ", scale_number(plan));
}
std::string root_of_scale_rule(const Plan& plan) {
    return scaled_as(plan, " * ", " / ", "sqrt(" + scale_number(plan) + ")");
}

bool multiplies_first(const StepLines& of) {
    for (const std::string& step : projecting_steps()) {
        if (find_step(of.table, step).applies(of.plan)) return step == of.step.name;
    }
    return false;
}

bool projects_x(const Plan& plan) { return walk_has(plan, "w_key") || walk_has(plan, "w_qkv"); }

std::size_t stored_width(const Plan& plan, std::size_t part) {
    const Projected& projected = query_key_value()[part];
    return plan.head_axis_on_weight() ? projected.width(plan) : projected.all_features(plan);
}

const std::vector<std::string>& projecting_steps() {
    static const std::vector<std::string> names{
        "projected_query", "projected_key", "projected_value", "qkv", "query", "key", "value"};
    return names;
}

const std::vector<std::string>& head_steps() {
    static const std::vector<std::string> names{"query", "key", "value"};
    return names;
}

Tensor exchanged(const Tensor& tensor, std::size_t a, std::size_t b) {
    std::vector<std::size_t> order(tensor.dimension());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::swap(order.at(a), order.at(b));
    return std::visit(
        [&](const auto& array) -> Tensor {
            using T = typename std::decay_t<decltype(array)>::value_type;
            return {tensor.axes(), evaluated<T>(xt::transpose(as_xtensor(array), order))};
        },
        tensor.values());
}

Outline score_cells(const Plan& plan) {
    return {plan.per_head_axes("query", "key"), plan.per_head_shape(plan.query_len, plan.key_len)};
}

namespace {

/// Spread over all scores: an axis of length 1 serves every index.
Grid spread(const Plan& plan, const Tensor& mask) {
    const Outline outline = score_cells(plan);
    const Tensor cells = evaluate_rule(
        parse_rule("mask[q,k] = mask[q,k]"), outline.axes, outline.shape, plan.compute_dtype,
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

std::string replaced_all(std::string text, const std::string& word, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += by.size()) {
        text.replace(at, word.size(), by);
    }
    return text;
}

double in_float16(double number) {
    if (number == 0 || !std::isfinite(number)) return number;
    const int exponent = std::max(std::ilogb(number), -14);
    const double step = std::ldexp(1.0, exponent - 10);
    const double rounded = std::nearbyint(number / step) * step;
    return std::abs(rounded) > 65504 ? std::copysign(infinity, number) : rounded;
}

double effect_of(const ScaleFactor& factor) {
    return factor.operation == ScaleFactor::Operation::divide ? 1 / factor.number : factor.number;
}

bool walk_has(const Plan& plan, std::string_view step) {
    return has_step(step_table(), plan, step);
}

NotApplicable needs_step(std::string step, std::string reason) {
    return unless([step = std::move(step)](const Plan& plan) { return walk_has(plan, step); },
                  std::move(reason));
}

Mistake entry(std::string id, std::string step, std::string title, std::string effect,
              std::string fix_torch, std::string fix_numpy, std::string lesson,
              std::string indistinguishable_from, NotApplicable not_applicable, TableEdit apply) {
    return {std::move(id),
            std::move(step),
            std::move(title),
            std::move(effect),
            std::move(fix_torch),
            std::move(fix_numpy),
            std::move(lesson),
            std::move(indistinguishable_from),
            std::move(not_applicable),
            std::move(apply)};
}

NotApplicable unless(std::function<bool(const Plan&)> possible, std::string reason) {
    return [possible = std::move(possible), reason = std::move(reason)](const Plan& plan) {
        return possible(plan) ? std::string() : reason;
    };
}

NotApplicable first_of(std::vector<NotApplicable> reasons) {
    return [reasons = std::move(reasons)](const Plan& plan) {
        for (const NotApplicable& not_applicable : reasons) {
            if (std::string reason = not_applicable(plan); !reason.empty()) return reason;
        }
        return std::string();
    };
}

}  // namespace attn

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/judge/mistakes/change.hpp"

// Wrong masks, the cells that they hide, and rows of padded queries.

namespace attn {

namespace {

/// Returns the outline of a tensor with one cell per score.
Outline score_cells(const Plan& plan) {
    return {plan.per_head_axes("query", "key"), plan.per_head_shape(plan.query_len, plan.key_len)};
}

/// Broadcasts a mask over all scores.
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

TableEdit masked_as(std::function<void(MaskChoice&)> change, PlanText also_hides) {
    const auto rule = [change, also_hides](const Plan& plan) -> std::string {
        MaskChoice other = plan.config.mask;
        change(other);
        const std::string rest = other.any() ? "mask[q,k]" : "";
        const std::string hides = also_hides(plan);
        if (rest.empty() && hides.empty()) return "mask[q,k] = k < 0";
        return "mask[q,k] = " + rest + (rest.empty() || hides.empty() ? "" : " or ") + hides;
    };
    return all_of({with_plan({"mask"}, [change](Plan& plan) { change(plan.config.mask); }),
                   follows({.rule = rule, .outline = score_cells})});
}

bool pads_queries(const Plan& plan) {
    return plan.config.mask.padding && !plan.has_memory && plan.query_len == plan.key_len;
}

Tensor without_padded_rows(const Plan& plan, const Tensor& tensor) {
    const Shape shape = tensor.shape();
    const std::size_t width = shape.back();
    const std::size_t queries = shape[shape.size() - 2];
    const std::size_t samples = plan.has_batch ? shape.front() : 1;
    const std::size_t each = tensor.size() / samples;
    std::size_t cell = 0;
    return mapped(tensor, [&](double value) {
        const std::size_t sample = plan.key_padding.dimension() == 2 ? cell / each : 0;
        const std::size_t query = cell / width % queries;
        ++cell;
        return plan.key_padding.data()[sample * plan.key_len + query] ? 0.0 : value;
    });
}

}  // namespace attn

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/score_bias.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/judge/mistakes/change.hpp"

// The bias of T5 in walks without one.

namespace attn {
namespace {

/// Returns the table that the user gave for a walk that adds no bias.
const Tensor* table_of_t5(const Plan& plan) {
    return plan.config.parameters.find("relative_attention_bias");
}

/// Returns the walk with that table as its bias.
Plan with_t5(const Plan& plan) {
    Plan other = plan;
    const auto buckets = static_cast<std::int64_t>(table_of_t5(plan)->shape()[0]);
    other.config.position_bias = PositionBias{PositionBias::Kind::t5, buckets, 4 * buckets, {}};
    return other;
}

Tensor with_bias_of_t5(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    Ledger other = ledger;
    other.record("relative_attention_bias", cast(*table_of_t5(plan), plan.compute_dtype));
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const ScoreBias<T> bias(with_t5(plan), other);
        return {right.axes(), add_position_bias(right.as<T>(), bias.view())};
    });
}

std::string lines_with_bias_of_t5(const StepLines& of, const std::string& right) {
    const Plan other = with_t5(of.plan);
    const Step& bias = find_step(of.table, "position_bias");
    return right + "\nrelative_attention_bias = " +
           tensor_literal(*table_of_t5(of.plan), of.plan.compute_dtype, of.language) + "\n" +
           lines_of({{other, of.table, bias}, of.language}) + "\nscores = scores + position_bias";
}

}  // namespace

bool has_table_of_t5(const Plan& plan) {
    const Tensor* table = table_of_t5(plan);
    return table != nullptr && table->dimension() == 2 && table->shape()[1] == plan.heads &&
           table->shape()[0] >= 4 && table->shape()[0] % 4 == 0;
}

TableEdit add_bias_of_t5(const std::string&) {
    return follows({.step = "scores",
                    .compute = with_bias_of_t5,
                    .formula = "scores = query @ key^T + position_bias",
                    .lines = lines_with_bias_of_t5});
}

}  // namespace attn

#include <regex>

#include "attn/cards/step_table.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/rotation.hpp"
#include "attn/steps/rotary.hpp"

namespace attn {
namespace {

// Values that rotate with query and key: where the context reads them, or as soon as they are made.

/// The steps of the angles by which the values would rotate, in order.
std::vector<std::string> angle_steps(const Plan& plan) {
    const std::string prefix = plan.has_memory ? "memory_" : "";
    return {prefix + "positions", "inverse_frequencies", prefix + "angles", prefix + "cos",
            prefix + "sin"};
}

/// The ledger with these steps, which follow from the plan alone and come later in the walk.
Ledger with_angles(const Plan& plan, const Ledger& ledger) {
    Ledger result = ledger;
    for (const std::string& name : angle_steps(plan)) {
        if (result.has(name)) continue;
        result.record(name, find_step(step_table(), name).compute(plan, result));
    }
    return result;
}

Tensor rotated(const Tensor& value, const Plan& plan, const Ledger& ledger) {
    const std::vector<std::string> angles = angle_steps(plan);
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        return {value.axes(), loop::rotate(value.as<T>(), ledger[angles[3]].as<T>(),
                                           ledger[angles[4]].as<T>(), *plan.config.rotary.pairing)};
    });
}

/// The lines that rotate the key, with `value` in its place.
std::string rotation_lines(const StepLines& of, const std::string& value) {
    const Step& key = find_step(of.table, "rotated_key");
    const std::string before = PlannedStep{of.plan, of.table, key}.latest(Chain::keys);
    const std::string lines = std::regex_replace(key.code({{of.plan, of.table, key}, of.language}),
                                                 std::regex("\\brotated_key\\b"), "rotated_value");
    return std::regex_replace(lines, std::regex("\\b" + before + "\\b"), value);
}

std::string context_lines(const StepLines& of, const std::string&) {
    return rotation_lines(of, of.latest(Chain::values)) + "\ncontext = weights @ rotated_value";
}

std::string value_lines(const StepLines& of, const std::string& right) {
    std::string lines = right;
    for (const std::string& name : angle_steps(of.plan)) {
        const Step& step = find_step(of.table, name);
        if (!name.ends_with("positions")) {
            lines += "\n" + step.code({{of.plan, of.table, step}, of.language});
        }
    }
    return lines + "\n" + rotation_lines(of, "value") + "\nvalue = rotated_value";
}

Mistake values_rotate(const char* id, const char* step, const char* title, TableEdit edit,
                      WrongLines lines) {
    return {id,
            step,
            title,
            "weights are right, the context is not, except for tokens at position 0",
            "q, k = apply_rotary_pos_emb(q, k, cos, sin)  # and leave v alone",
            "q, k = rotate(q, cos, sin), rotate(k, cos, sin)  # and leave v alone",
            "Positions say whom to look at, not what is there: values do not rotate.",
            "values that rotate",
            rope_and(
                [](const Plan& plan) {
                    return plan.value_dim >= 2 * plan.rotary_pairs() && !plan.fused() &&
                           plan.past_len == 0 && plan.first_rotated(plan.head_dim) == 0;
                },
                "the values have fewer features than rotate, or a past or a latent"),
            std::move(edit),
            {std::move(lines)}};
}

}  // namespace

void add_rotated_value_mistakes(std::vector<Mistake>& list) {
    const TableEdit read_rotated = with_ledger({"context"}, [](Ledger& ledger, const Plan& plan) {
        const Tensor value = ledger.latest(Chain::values);
        replace_latest(ledger, Chain::values, rotated(value, plan, ledger));
    });
    const TableEdit keep_rotated =
        replace_step({"value"}, [](const Plan& plan, const Ledger& ledger, const Compute& before) {
            return rotated(before(plan, ledger), plan, with_angles(plan, ledger));
        });
    add(list,
        {values_rotate("rope-value", "context", "The values were rotated too", read_rotated,
                       {"context", context_lines, formula("context = weights @ rotated value")}),
         values_rotate("rope-value=kept", "value", "The values were rotated too, and kept so",
                       keep_rotated, {"value", value_lines, formula("{right}, rotated")})});
}

}  // namespace attn

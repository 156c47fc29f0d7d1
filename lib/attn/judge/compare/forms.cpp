#include "attn/judge/compare/forms.hpp"

#include <algorithm>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/rules/radius.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {

std::string FormComparison::text() const {
    const std::string both = " in " + left + " and ";
    if (!step.same_shape()) {
        return step.name + " is " + shape_text(step.left) + both + shape_text(step.right) + " in " +
               right;
    }
    if (step.equal()) {
        return step.name + " is the same" + both + right + ": " + brief(step.distance.absolute) +
               " apart at most, where rounding explains " + brief(step.tolerance.absolute);
    }
    return step.name + index_text(step.cell) + " is " + brief(step.left_value) + both +
           brief(step.right_value) + " in " + right + ": " + brief(step.distance.absolute) +
           " apart at most, where rounding explains " + brief(step.tolerance.absolute);
}

std::vector<FormComparison> compare_forms(const Plan& plan, const Ledger& given,
                                          const Ledger& ledger) {
    std::vector<FormComparison> all;
    for (const auto& file : plan.config.attentions) {
        const bool has_it = std::ranges::find(file->forms, plan.config.form) != file->forms.end();
        if (file->same.empty()) continue;
        const std::string own = has_it ? plan.config.form : file->forms.front();
        for (const std::string& form : file->forms) {
            if (form == own) continue;
            Plan other = plan;
            other.config.form = form;
            const Ledger made = walk(other, given, step_table(other));
            for (const std::string& name : file->same) {
                const Tensor &left = ledger[name], &right = made[name];
                FormComparison found{file->name, own, form, {}};
                StepComparison& step = found.step;
                step.name = name;
                step.left = left.shape();
                step.right = right.shape();
                if (step.same_shape()) {
                    // A form adds up over tokens what another multiplies as matrices.
                    const auto sums = static_cast<double>(64 + plan.key_len + plan.embed_dim);
                    const double unit = rounding_of(coarser_type(left, right)).unit;
                    step.tolerance.absolute = sums * unit * usual_size(left);
                    step.distance = distance(left, right, step.tolerance);
                    const std::size_t cell = step.distance.first.value_or(step.distance.worst);
                    step.cell = indices_of(cell, left.shape());
                    step.left_value = left.at(cell);
                    step.right_value = right.at(cell);
                }
                all.push_back(std::move(found));
            }
        }
    }
    return all;
}

}  // namespace attn

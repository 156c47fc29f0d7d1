#include "attn/judge/compare/forms.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/explain/bounds/radius.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {

namespace {

/// A form of an attention and its walk.
struct WalkedForm {
    const Plan& plan;
    StepTable table;
    const Ledger& made;
};

/// Returns the tensors that both forms share, which count as exact.
Ledger shared_by(const WalkedForm& one, const WalkedForm& other) {
    Ledger shared;
    for (const auto& [name, tensor] : one.made.entries()) {
        const Tensor* const same = other.made.find(name);
        const bool is_step = std::ranges::count(one.table, name, &Step::name) > 0;
        if (is_step && same != nullptr && same_numbers(tensor, *same)) shared.record(name, tensor);
    }
    return shared;
}

/// Returns the usual distance of sums over tokens and features that add up in different orders.
double usual_scatter(const Plan& plan, const Tensor& tensor, const Rounding& rounding) {
    const auto terms = static_cast<double>(plan.key_len + plan.embed_dim);
    return 3 * std::sqrt(terms) * rounding.unit * usual_size(tensor);
}

/// Returns the difference that rounding may cause in the cells of a step, by the rules of both
/// forms. The worst case of a long recurrence exceeds the numbers themselves: then ten times the
/// usual distance of sums. Returns nullopt if a rule has no bound.
std::optional<Tensor> allowed_between(const WalkedForm& one, const WalkedForm& other,
                                      const std::string& step) {
    const Tensor& tensor = one.made[step];
    const Ledger shared = shared_by(one, other);
    const Rounding rounding = rounding_of(coarser_type(tensor, other.made[step]));
    Array<double> both = empty_array<double>(tensor.shape());
    std::fill(both.begin(), both.end(), 0.0);
    for (const WalkedForm* form : {&one, &other}) {
        Bounds bounds(form->plan, form->table, shared, rounding);
        const std::optional<Ball> ball = bounds.of(step);
        if (!ball || ball->radius.shape() != tensor.shape()) return std::nullopt;
        for (std::size_t i = 0; i < both.size(); ++i) both.data()[i] += ball->radius.at(i);
    }
    const double most = usual_size(tensor) / 100;
    const double usual = 10 * usual_scatter(one.plan, tensor, rounding);
    for (double& each : both) each = each <= most ? each : usual;
    return Tensor(tensor.axes(), std::move(both));
}

void compare_step(const WalkedForm& one, const WalkedForm& other, FormBounds bounds,
                  StepComparison& step) {
    const Tensor &left = one.made[step.name], &right = other.made[step.name];
    step.left = left.shape();
    step.right = right.shape();
    if (!step.same_shape() || left.size() == 0) return;
    std::optional<Tensor> bound;
    if (left.is_floating() && !same_numbers(left, right)) {
        step.tolerance.absolute =
            usual_scatter(one.plan, left, rounding_of(coarser_type(left, right)));
        if (bounds == FormBounds::all || !distance(left, right, step.tolerance).within()) {
            bound = allowed_between(one, other, step.name);
            step.is_bounded = bound.has_value();
        }
    }
    step.distance = distance(left, right, step.tolerance, bound ? &*bound : nullptr);
    const std::size_t cell = step.distance.first.value_or(step.distance.worst);
    if (bound) step.tolerance.absolute = bound->at(cell);
    step.cell = indices_of(cell, left.shape());
    step.left_value = left.at(cell);
    step.right_value = right.at(cell);
}

}  // namespace

std::string FormComparison::text() const {
    const std::string both = " in " + left + " and ";
    if (!step.same_shape()) {
        return step.name + " is " + shape_text(step.left) + both + shape_text(step.right) + " in " +
               right;
    }
    if (equal()) {
        const std::string apart = step.distance.absolute == 0
                                      ? "to the last bit"
                                      : brief(step.distance.absolute) +
                                            " apart at most, and rounding explains up to " +
                                            brief(step.tolerance.absolute);
        if (proof.verdict == Proof::Verdict::proved) {
            return step.name + " is the same" + both + right +
                   ", proved for every input of these shapes: here " + apart;
        }
        return step.name + " is the same" + both + right + " on this walk: " + apart +
               (proof.why.empty() ? "" : " (undecided for other inputs: " + proof.why + ")");
    }
    if (step.equal()) {
        return step.name + index_text(indices_of(proof.cell, step.left)) + both + right +
               " is not the same function, although rounding hides it here: " +
               brief(step.distance.absolute) + " apart at most";
    }
    return step.name + index_text(step.cell) + " is " + brief(step.left_value) + both +
           brief(step.right_value) + " in " + right + ": " + brief(step.distance.absolute) +
           " apart at most, and rounding explains up to " + brief(step.tolerance.absolute);
}

JsonText json_of(const FormComparison& compared) {
    using Verdict = Proof::Verdict;
    const StepComparison& step = compared.step;
    const Verdict verdict = compared.proof.verdict;
    return {{"name", step.name},
            {"left", compared.left},
            {"right", compared.right},
            {"apart", step.distance.absolute},
            {"bound", step.tolerance.absolute},
            {"same", compared.equal()},
            {"proof", verdict == Verdict::proved    ? "proved"
                      : verdict == Verdict::refuted ? "refuted"
                                                    : "undecided"},
            {"undecided", compared.proof.why}};
}

std::vector<FormComparison> compare_forms(const Plan& plan, const Ledger& given,
                                          const Ledger& ledger, FormBounds bounds) {
    std::vector<FormComparison> all;
    const WalkedForm walked{plan, step_table(plan), ledger};
    const bool proves = bounds == FormBounds::all;
    ExactWalk exact(plan, walked.table, given, ledger);
    for (const auto& file : plan.config.attentions) {
        if (file->same.empty()) continue;
        const std::string own = file->walked_form(plan.config.form);
        for (const std::string& form : file->forms) {
            if (form == own) continue;
            Plan other = plan;
            other.config.form = form;
            const StepTable table = step_table(other);
            const Ledger made = walk(other, given, table);
            ExactWalk other_exact(other, table, given, made);
            for (const std::string& name : file->same) {
                FormComparison found{file->name, own, form, {}};
                found.step.name = name;
                compare_step(walked, {other, table, made}, bounds, found.step);
                if (proves) found.proof = prove_same(exact, other_exact, name);
                all.push_back(std::move(found));
            }
        }
    }
    return all;
}

}  // namespace attn

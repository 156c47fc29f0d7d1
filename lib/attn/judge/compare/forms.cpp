#include "attn/judge/compare/forms.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/explain/bounds/radius.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/other_shapes.hpp"

namespace attn {

namespace {

/// A form of an attention, and its walk.
struct WalkedForm {
    const Plan& plan;
    StepTable table;
    const Ledger& walked;
};

/// Returns the tensors that both forms share, which count as exact.
Ledger shared_by(const WalkedForm& one, const WalkedForm& other) {
    Ledger shared;
    for (const auto& [name, tensor] : one.walked.entries()) {
        const Tensor* const same = other.walked.find(name);
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
/// forms. If the worst case exceeds the numbers themselves, as in a long recurrence, returns
/// `usual`, which is not certain. Returns nullopt if a rule has no bound.
std::optional<Tensor> allowed_between(const WalkedForm& one, const WalkedForm& other,
                                      const std::string& step, double usual, bool& is_certain) {
    const Tensor& tensor = one.walked[step];
    const Ledger shared = shared_by(one, other);
    const Rounding rounding = rounding_of(coarser_type(tensor, other.walked[step]));
    auto both = Array<double>::filled(tensor.shape(), 0);
    for (const WalkedForm* form : {&one, &other}) {
        Bounds bounds(form->plan, form->table, shared, rounding);
        const std::optional<Ball> ball = bounds.of(step);
        if (!ball || ball->radius.shape() != tensor.shape()) return std::nullopt;
        for (std::size_t i = 0; i < both.size(); ++i) both.data()[i] += ball->radius.at(i);
    }
    const double most = usual_size(tensor) / 100;
    for (double& each : both) {
        is_certain = is_certain && each <= most;
        each = each <= most ? each : usual;
    }
    return Tensor(tensor.axes(), std::move(both));
}

void compare_step(const WalkedForm& one, const WalkedForm& other, FormBounds bounds,
                  StepComparison& step) {
    const Tensor &left = one.walked[step.name], &right = other.walked[step.name];
    step.left = left.shape();
    step.right = right.shape();
    if (!step.same_shape() || left.size() == 0) return;
    std::optional<Tensor> bound;
    if (left.is_floating() && !same_numbers(left, right)) {
        const DType type = coarser_type(left, right);
        step.tolerance.absolute = usual_scatter(one.plan, left, rounding_of(type));
        if (bounds == FormBounds::all || !distance(left, right, step.tolerance).within()) {
            // Without a bound, float64 has digits to spare.
            const double usual = type == DType::float64 ? 1e-8 * usual_size(left) + 1e-13
                                                        : 10 * step.tolerance.absolute;
            step.is_bounded = true;
            bound = allowed_between(one, other, step.name, usual, step.is_bounded);
            if (!bound) step.tolerance.absolute = usual;
            step.is_bounded = step.is_bounded && bound.has_value();
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

Plan with_form(const Plan& plan, const AttentionFile& file, const std::string& form) {
    Plan other = plan;
    std::string& all = other.config.form;
    all = plan.config.attentions.size() == 1
              ? form
              : all + (all.empty() ? "" : ",") + file.name + "=" + form;
    return other;
}

namespace {

/// Returns the table of a plan's form, and its backward pass.
StepTable table_of(const Plan& plan, bool has_backward) {
    StepTable table = step_table(plan);
    if (!has_backward) return table;
    Loss loss{Loss::Kind::upstream};
    for (const Step& step : table) {
        const bool may_be_last = step.kind == Step::Kind::computed && step.applies(plan);
        if (!may_be_last || step.chain != Chain::contexts) continue;
        const Outline last = step.outline(plan);
        loss.target = tensor_by(last.axes, last.shape, [](std::size_t i) {
            return static_cast<float>(i * 37 % 19) / 8 - 1;
        });
    }
    return with_gradients(std::move(table), plan, loss);
}

/// Two forms of a file, and the tensors that they share.
struct FormPair {
    const AttentionFile& file;
    std::string left, right;

    bool is_of(const FormComparison& each, const std::string& step) const {
        return each.file == file.name && each.right == right && each.step.name == step;
    }
};

class Forms {
public:
    Forms(const Plan& plan, const Ledger& given, bool has_backward)
        : plan_(plan), given_(given), has_backward_(has_backward) {
        for (const auto& file : plan.config.attentions) {
            for (const std::string& form :
                 has_backward ? file->forms : std::vector<std::string>()) {
                for (const Step& step : table_of(with_form(plan, *file, form), true)) {
                    const bool is_gradient = step.name == "d_" + step.gradient_of;
                    if (is_gradient && given.has(step.gradient_of))
                        leaves_.insert(step.gradient_of);
                }
            }
        }
        table_ = table(plan);
    }

    /// Calls `use` for each pair with the walks of both forms.
    template <class Use>
    void each_pair(const Ledger* ledger, Use use) {
        const Ledger walked = ledger == nullptr ? walk(plan_, given_, table_) : *ledger;
        ExactWalk exact(plan_, table_, given_, walked);
        for (const auto& file : plan_.config.attentions) {
            if (file->same.empty()) continue;
            const std::string own = file->walked_form(plan_.config.form);
            for (const std::string& form : file->forms) {
                if (form == own) continue;
                const Plan other = with_form(plan_, *file, form);
                const StepTable table = this->table(other);
                const Ledger other_computed = walk(other, given_, table);
                ExactWalk other_exact(other, table, given_, other_computed);
                const WalkedForm one{plan_, table_, walked}, another{other, table, other_computed};
                for (const std::string& name : shared(*file)) {
                    use(FormPair{*file, own, form}, name, one, another, exact, other_exact);
                }
            }
        }
    }

private:
    /// Returns the tensors that should be equal in both forms.
    std::vector<std::string> shared(const AttentionFile& file) const {
        if (!has_backward_) return file.same;
        std::vector<std::string> names;
        for (const std::string& leaf : leaves_) names.push_back("d_" + leaf);
        return names;
    }

    /// Returns the table of a form, with gradients of 0 for what only other forms depend on.
    StepTable table(const Plan& plan) const {
        StepTable table = table_of(plan, has_backward_);
        for (const std::string& leaf : leaves_) {
            if (has_step(table, plan, "d_" + leaf)) continue;
            Step none;
            none.name = "d_" + leaf;
            none.gradient_of = leaf;
            none.outline = find_step(table, leaf).outline;
            table.push_back(std::move(none));
            follow_rule(table.back(), {plan, table, table.back()},
                        Rule("", "d_" + leaf, {}, number_node(0)));
        }
        return table;
    }

    const Plan& plan_;
    const Ledger& given_;
    bool has_backward_;
    std::set<std::string> leaves_;  ///< inputs and parameters that some form depends on
    StepTable table_;
};

/// Compares steps in float64, where rounding hides fewer differences and explains fewer. `shape`
/// describes the plan if it has other sizes.
void try_float64(const Plan& plan, bool has_backward, const std::string& shape,
                 const std::vector<FormComparison*>& open) {
    if (open.empty() || (shape.empty() && plan.compute_dtype == DType::float64)) return;
    Plan finer = plan;
    finer.config.compute_dtype = finer.compute_dtype = DType::float64;
    const Ledger given = draw(finer);
    Forms(finer, given, has_backward)
        .each_pair(nullptr, [&](const FormPair& pair, const std::string& name,
                                const WalkedForm& one, const WalkedForm& other, auto&, auto&) {
            for (FormComparison* each : open) {
                if (!pair.is_of(*each, name)) continue;
                StepComparison step;
                step.name = name;
                compare_step(one, other, FormBounds::all, step);
                if (step.equal()) {
                    if (shape.empty()) each->is_rounding = !each->step.equal();
                    if (!shape.empty()) each->float64_shapes.push_back(shape);
                } else if (each->equal() &&
                           !(shape.empty() && each->proof.verdict == Proof::Verdict::proved)) {
                    each->refuted_at = (shape.empty() ? "" : "with " + shape + ", ") +
                                       "in float64, " + brief(step.distance.absolute) +
                                       " apart at most, where rounding explains up to " +
                                       brief(step.tolerance.absolute);
                    each->proof = {Proof::Verdict::refuted,
                                   {},
                                   step.distance.first.value_or(step.distance.worst),
                                   step.left};
                }
            }
        });
}

/// Tries to prove the comparisons at other shapes, too; undecided ones are compared in float64.
void try_other_shapes(const Plan& plan, bool has_backward, std::vector<FormComparison>& all) {
    for (const OtherShape& shape : shapes_of(plan)) {
        const std::optional<Plan> other = reshaped(plan, shape);
        if (!other) continue;
        try {
            const Ledger given = draw(*other);
            std::vector<FormComparison*> open;
            Forms(*other, given, has_backward)
                .each_pair(nullptr, [&](const FormPair& pair, const std::string& name, auto&, auto&,
                                        ExactWalk& exact, ExactWalk& other_exact) {
                    const Proof proof = prove_same(exact, other_exact, name);
                    for (FormComparison& each : all) {
                        if (!pair.is_of(each, name) || !each.equal()) continue;
                        if (proof.verdict == Proof::Verdict::proved) {
                            if (shape.is_size) each.shapes.push_back(shape.text);
                        } else if (proof.verdict == Proof::Verdict::undecided) {
                            open.push_back(&each);
                        } else {
                            each.proof = proof;
                            each.refuted_at = "with " + shape.text;
                        }
                    }
                });
            try_float64(*other, has_backward, shape.text, open);
        } catch (const Error&) {
            continue;  // the file fixes the sizes
        }
    }
}

std::vector<FormComparison> compared(const Plan& plan, const Ledger& given, const Ledger* ledger,
                                     FormBounds bounds, bool has_backward) {
    std::vector<FormComparison> all;
    const bool proves = bounds == FormBounds::all;
    Forms(plan, given, has_backward)
        .each_pair(ledger, [&](const FormPair& pair, const std::string& name, const WalkedForm& one,
                               const WalkedForm& other, ExactWalk& exact, ExactWalk& other_exact) {
            FormComparison found{pair.file.name, pair.left, pair.right, {}};
            found.step.name = name;
            compare_step(one, other, bounds, found.step);
            if (proves || !found.step.equal()) found.proof = prove_same(exact, other_exact, name);
            all.push_back(std::move(found));
        });
    std::vector<FormComparison*> open;
    for (FormComparison& each : all) {
        const bool is_decided = each.proof.verdict != Proof::Verdict::undecided;
        const bool is_open = each.step.equal() ? proves && !is_decided : !each.step.is_bounded;
        if (is_open && each.step.same_shape()) open.push_back(&each);
    }
    try_float64(plan, has_backward, "", open);
    if (proves) try_other_shapes(plan, has_backward, all);
    return all;
}

}  // namespace

std::string too_large_to_compare(const Plan& plan) {
    constexpr double most = 5e7;
    for (const auto& file : plan.config.attentions) {
        for (const std::string& form : file->forms) {
            const Plan own = with_form(plan, *file, form);
            const StepTable& table = step_table(own);
            double numbers = 0;
            for (const Step& step : table) {
                if (!step.rule || !step.applies(own)) continue;
                const Shape shape = step.outline(own).shape;
                const std::optional<Rule> rule = rule_of({own, table, step});
                // The sum of a rule takes at least ten times as long as a matrix product.
                numbers += static_cast<double>(element_count(shape)) +
                           (rule ? 10 * numbers_summed(*rule, shape) : 0);
            }
            if (numbers <= most) continue;
            return "form " + form + " works out some " + brief(numbers) +
                   " numbers, too many to compare: use fewer tokens or features";
        }
    }
    return {};
}

void require_comparable(const Plan& plan) {
    if (const std::string why = too_large_to_compare(plan); !why.empty()) throw ConfigError(why);
}

std::vector<FormComparison> compare_forms(const Plan& plan, const Ledger& given,
                                          const Ledger& ledger, FormBounds bounds) {
    return compared(plan, given, &ledger, bounds, false);
}

FormComparison compare_rule(const Plan& plan, std::size_t n, const Ledger& given,
                            const Ledger& walked) {
    Plan before = plan;
    before.config.rules.erase(before.config.rules.begin() + static_cast<std::ptrdiff_t>(n));
    const StepTable &table = step_table(before), &with_rule = step_table(plan);
    const Ledger computed_before = walk(before, given, table);
    FormComparison found;
    found.step.name = Rule(plan.config.rules[n]).step;
    compare_step({before, table, computed_before}, {plan, with_rule, walked}, FormBounds::where_far,
                 found.step);
    ExactWalk one(before, table, given, computed_before), other(plan, with_rule, given, walked);
    found.proof = prove_same(one, other, found.step.name);
    return found;
}

std::vector<FormComparison> compare_gradients(const Plan& plan, const Ledger& given) {
    return compared(plan, given, nullptr, FormBounds::all, true);
}

}  // namespace attn

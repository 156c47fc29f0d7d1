#include "attn/judge/compare/forms.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/explain/bounds/radius.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

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
            const std::string more =
                shapes.empty() ? "" : "; proved with other sizes, too: " + joined(shapes, ", ");
            return step.name + " is the same" + both + right +
                   ", proved for every input of these shapes: here " + apart + more;
        }
        return step.name + " is the same" + both + right + " on this walk: " + apart +
               (proof.why.empty() ? "" : " (undecided for other inputs: " + proof.why + ")");
    }
    const std::string cell = step.name + index_text(indices_of(proof.cell, proof.shape));
    if (!refuted_at.empty()) {
        return step.name + " is the same" + both + right + " here, but not " + refuted_at + ": " +
               cell + " differs";
    }
    if (step.equal()) {
        return cell + both + right +
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
    const Proof& proof = compared.proof;
    const bool is_proved = proof.verdict == Verdict::proved;
    const bool is_refuted = proof.verdict == Verdict::refuted;
    const std::vector<std::size_t> at =
        is_refuted ? indices_of(proof.cell, proof.shape) : step.cell;
    const std::vector<std::int64_t> cell(at.begin(), at.end());
    return {{"name", step.name},
            {"left", compared.left},
            {"right", compared.right},
            {"apart", step.distance.absolute},
            {"bound", step.tolerance.absolute},
            {"same", compared.equal()},
            {"proof", is_proved    ? "proved"
                      : is_refuted ? "refuted"
                                   : "undecided"},
            {"undecided", proof.why},
            {"step", step.name},
            {"forms", std::vector<std::string>{compared.left, compared.right}},
            {"verdict", !compared.equal() ? "differs"
                        : is_proved       ? "proved"
                                          : "holds"},
            {"why", proof.why + compared.refuted_at},
            {"shapes", compared.shapes},
            {"cell", compared.equal() ? std::vector<std::int64_t>() : cell}};
}

Plan with_form(const Plan& plan, const AttentionFile& file, const std::string& form) {
    Plan other = plan;
    const bool is_alone = plan.config.attentions.size() == 1;
    other.config.form = is_alone ? form : plan.config.form + "," + file.name + "=" + form;
    return other;
}

namespace {

/// Returns the table of a plan's form, and its backward pass.
StepTable table_of(const Plan& plan, bool goes_back) {
    StepTable table = step_table(plan);
    if (!goes_back) return table;
    Loss loss{Loss::Kind::upstream};
    for (const Step& step : table) {
        const bool may_be_last = step.kind == Step::Kind::computed && step.applies(plan);
        if (!may_be_last || step.chain != Chain::contexts) continue;
        const Outline last = step.outline(plan);
        Array<float> numbers = empty_array<float>(last.shape);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            numbers.data()[i] = static_cast<float>(i * 37 % 19) / 8 - 1;
        }
        loss.target = Tensor(last.axes, std::move(numbers));
    }
    return with_gradients(std::move(table), plan, loss);
}

/// Two forms of a file, and the tensors that they share.
struct FormPair {
    const AttentionFile& file;
    std::string left, right;
};

class Forms {
public:
    Forms(const Plan& plan, const Ledger& given, bool goes_back)
        : plan_(plan), given_(given), goes_back_(goes_back), table_(table_of(plan, goes_back)) {}

    /// Calls `use` for each pair with the walks of both forms.
    template <class Use>
    void each_pair(const Ledger* ledger, Use use) {
        const Ledger made = ledger == nullptr ? walk(plan_, given_, table_) : *ledger;
        ExactWalk exact(plan_, table_, given_, made);
        for (const auto& file : plan_.config.attentions) {
            if (file->same.empty()) continue;
            const std::string own = file->walked_form(plan_.config.form);
            for (const std::string& form : file->forms) {
                if (form == own) continue;
                const Plan other = with_form(plan_, *file, form);
                const StepTable table = table_of(other, goes_back_);
                const Ledger other_made = walk(other, given_, table);
                ExactWalk other_exact(other, table, given_, other_made);
                const WalkedForm one{plan_, table_, made}, another{other, table, other_made};
                for (const std::string& name : shared(*file, other, table)) {
                    use(FormPair{*file, own, form}, name, one, another, exact, other_exact);
                }
            }
        }
    }

private:
    /// Returns the tensors that both forms should make alike.
    std::vector<std::string> shared(const AttentionFile& file, const Plan& other,
                                    const StepTable& table) const {
        if (!goes_back_) return file.same;
        std::vector<std::string> names;
        for (const Step& step : table_) {
            const Tensor* const leaf = given_.find(step.gradient_of);
            const bool is_gradient = leaf != nullptr && step.name == "d_" + step.gradient_of;
            if (is_gradient && has_step(table, other, step.name)) names.push_back(step.name);
        }
        return names;
    }

    const Plan& plan_;
    const Ledger& given_;
    bool goes_back_;
    StepTable table_;
};

/// The same walk with other sizes.
struct OtherShape {
    std::string text;
    std::int64_t tokens;
    bool is_wider = false;  ///< more heads, if there are several, and more features of values
};

/// Returns the plan with random inputs of other sizes; nullopt if its inputs are given, or its
/// settings do not allow them.
std::optional<Plan> reshaped(const Plan& plan, const OtherShape& shape) {
    WalkConfig config = plan.config;
    const bool is_given = config.example || config.mask.given || config.memory ||
                          config.models_own || !config.parameters.entries().empty() ||
                          (config.position_bias && config.position_bias->given);
    if (is_given) return std::nullopt;
    config.input = RandomInput{};
    config.names.clear();
    config.feature_names.clear();
    config.positions.clear();
    config.query_len = shape.tokens;
    config.embed_dim = static_cast<std::int64_t>(plan.embed_dim);
    if (shape.is_wider) {
        const std::size_t width = plan.embed_dim / plan.heads;
        config.heads += plan.heads > 1 ? 1 : 0;
        if (config.kv_heads == plan.config.heads) config.kv_heads = config.heads;
        config.embed_dim = static_cast<std::int64_t>(width) * config.heads;
        config.value_dim = static_cast<std::int64_t>(plan.value_dim) + 1;
    }
    try {
        return resolve(config);
    } catch (const Error&) {
        return std::nullopt;  // a setting fixes the sizes
    }
}

/// Proves what the comparisons found at other shapes, too.
void try_other_shapes(const Plan& plan, bool goes_back, std::vector<FormComparison>& all) {
    const std::string wider = plan.heads > 1
                                  ? "$heads "_told + std::to_string(plan.heads + 1)
                                  : "$value-dim "_told + std::to_string(plan.value_dim + 1);
    const OtherShape shapes[]{
        {"$seq-len 1"_told, 1}, {"$seq-len 2"_told, 2}, {"$seq-len 7"_told, 7}, {wider, 3, true}};
    for (const OtherShape& shape : shapes) {
        const std::optional<Plan> other = reshaped(plan, shape);
        if (!other) continue;
        try {
            const Ledger given = draw(*other);
            Forms(*other, given, goes_back)
                .each_pair(nullptr, [&](const FormPair& pair, const std::string& name, auto&, auto&,
                                        ExactWalk& exact, ExactWalk& other_exact) {
                    const Proof proof = prove_same(exact, other_exact, name);
                    for (FormComparison& each : all) {
                        const bool is_it = each.file == pair.file.name &&
                                           each.right == pair.right && each.step.name == name &&
                                           each.equal();
                        if (!is_it || proof.verdict == Proof::Verdict::undecided) continue;
                        if (proof.verdict == Proof::Verdict::proved) {
                            each.shapes.push_back(shape.text);
                        } else {
                            each.proof = proof;
                            each.refuted_at = "with " + shape.text;
                        }
                    }
                });
        } catch (const Error&) {
            continue;  // the file fixes the sizes
        }
    }
}

/// Compares undecided steps in float64, where rounding hides less.
void try_float64(const Plan& plan, bool goes_back, std::vector<FormComparison>& all) {
    const auto is_open = [](const FormComparison& each) {
        return each.proof.verdict == Proof::Verdict::undecided && each.equal();
    };
    if (plan.compute_dtype != DType::float32 || std::ranges::none_of(all, is_open)) return;
    Plan finer = plan;
    finer.config.compute_dtype = finer.compute_dtype = DType::float64;
    const Ledger given = draw(finer);
    Forms(finer, given, goes_back)
        .each_pair(nullptr, [&](const FormPair& pair, const std::string& name,
                                const WalkedForm& one, const WalkedForm& other, auto&, auto&) {
            for (FormComparison& each : all) {
                const bool is_it = each.file == pair.file.name && each.right == pair.right &&
                                   each.step.name == name && is_open(each);
                if (!is_it) continue;
                StepComparison step;
                step.name = name;
                compare_step(one, other, FormBounds::all, step);
                if (step.equal()) continue;
                each.refuted_at = "in float64, " + brief(step.distance.absolute) +
                                  " apart at most, where rounding explains up to " +
                                  brief(step.tolerance.absolute);
                each.proof = {Proof::Verdict::refuted,
                              {},
                              step.distance.first.value_or(step.distance.worst),
                              step.left};
            }
        });
}

std::vector<FormComparison> compared(const Plan& plan, const Ledger& given, const Ledger* ledger,
                                     FormBounds bounds, bool goes_back) {
    std::vector<FormComparison> all;
    const bool proves = bounds == FormBounds::all;
    Forms(plan, given, goes_back)
        .each_pair(ledger, [&](const FormPair& pair, const std::string& name, const WalkedForm& one,
                               const WalkedForm& other, ExactWalk& exact, ExactWalk& other_exact) {
            FormComparison found{pair.file.name, pair.left, pair.right, {}};
            found.step.name = name;
            compare_step(one, other, bounds, found.step);
            if (proves) found.proof = prove_same(exact, other_exact, name);
            all.push_back(std::move(found));
        });
    if (!proves) return all;
    try_float64(plan, goes_back, all);
    try_other_shapes(plan, goes_back, all);
    return all;
}

}  // namespace

std::optional<Plan> with_tokens(const Plan& plan, std::int64_t tokens) {
    return reshaped(plan, {"", tokens});
}

std::vector<FormComparison> compare_forms(const Plan& plan, const Ledger& given,
                                          const Ledger& ledger, FormBounds bounds) {
    return compared(plan, given, &ledger, bounds, false);
}

std::vector<FormComparison> compare_gradients(const Plan& plan, const Ledger& given) {
    return compared(plan, given, nullptr, FormBounds::all, true);
}

}  // namespace attn

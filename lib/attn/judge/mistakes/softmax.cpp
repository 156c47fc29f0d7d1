#include <memory>
#include <span>

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// Dropped weights, and means of heads.

namespace attn {
namespace {

constexpr double drop_chance = 0.1;

Tensor with_dropout(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    std::vector<double> chances(right.size());
    make_generator(Rng::numpy, 0)->rand(std::span<double>(chances));
    std::size_t cell = 0;
    return mapped(right, [&](auto weight) {
        using T = decltype(weight);
        return chances[cell++] < drop_chance ? T(0) : weight / static_cast<T>(1 - drop_chance);
    });
}

/// Shows the mean over the heads, as a library does by default, while the context is computed with
/// the true weights.
StepTable show_averaged_weights(StepTable table, const Plan& plan, bool softmaxed) {
    const auto right = std::make_shared<const StepTable>(table);
    const auto mix_true_weights = [right](const Plan& of, const Ledger& ledger,
                                          const Compute& before) {
        Ledger other = ledger;
        other.record("weights", find_step(*right, "weights").compute(of, ledger));
        return before(of, other);
    };
    const auto lines = [right](const StepLines& of, const std::string&) {
        const Step& context = find_step(*right, "context");
        return "shown, weights = weights, right_weights\n" +
               lines_of({{of.plan, *right, context}, of.language}) + "\nweights = shown";
    };
    const auto averaged_lines = [softmaxed](const StepLines& of, const std::string& code) {
        const std::string axis = of.torch() ? "dim" : "axis";
        const std::string keep = of.torch() ? "keepdim" : "keepdims";
        return code + "\nright_weights = weights\nweights = weights.mean(" + axis + "=-3)" +
               (softmaxed ? "\nweights = " + std::string(of.torch() ? "torch" : "np") +
                                ".exp(weights)\nweights = weights / weights.sum(" + axis + "=-1, " +
                                keep + "=True)"
                          : "");
    };
    const std::string mean = "(mean h: weights[h,q,k])";
    const std::string again = "exp" + mean + " / (sum j: exp(mean h: weights[h,q,j]))";
    const auto averaged = [](const Plan& of) -> Outline {
        return {of.per_batch_axes("query", "key"), of.per_batch_shape(of.query_len, of.key_len)};
    };
    table = all_of({follows({.rule = "weights[q,k] = " + (softmaxed ? again : mean),
                             .outline = averaged,
                             .lines = averaged_lines}),
                    follows({.step = "context", .compute = mix_true_weights, .lines = lines})})(
        std::move(table), plan);
    std::ranges::find(table, "context", &Step::name)->rule = [right](const PlannedStep& of) {
        const auto known = [&](const std::string& name) {
            return rule_of({of.plan, *right, find_step(*right, name)});
        };
        return inlined(*known("context"), [&](const std::string& name) {
            return name == "weights" ? known(name) : std::nullopt;
        });
    };
    return table;
}

}  // namespace

/// Drops a tenth of the numbers of the step at the beginning of the formula.
TableEdit drop_a_tenth(const std::string& formula) {
    const std::string step = formula.substr(0, formula.find(' '));
    const auto lines = [step](const StepLines& of, const std::string& right) {
        const std::string chances =
            "np.random.RandomState(0).rand(" + size_list(of.step.outline(of.plan).shape) + ")";
        if (of.torch()) {
            return "import numpy as np\n" + right + "\nchances = torch.from_numpy(" + chances +
                   ")\n" + step + " = (" + step + " / 0.9).masked_fill(chances < 0.1, 0)";
        }
        return right + "\nchances = " + chances + "\n" + step + " = np.where(chances < 0.1, 0, " +
               step + " / 0.9)";
    };
    return follows({.step = step, .compute = with_dropout, .formula = formula, .lines = lines});
}

TableEdit show_mean_of_heads(const std::string& again) {
    return [is_softmaxed = !again.empty()](StepTable table, const Plan& plan) {
        return show_averaged_weights(std::move(table), plan, is_softmaxed);
    };
}

}  // namespace attn

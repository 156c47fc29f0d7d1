#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "attn/cards/sinks.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/rules/inline.hpp"
#include "attn/rules/print.hpp"
#include "attn/text/strings.hpp"
#include "attn/walk/step_rule.hpp"

namespace attn {
namespace {

const std::vector<std::string> softmax_steps{"row_max", "exponentials", "row_sum", "weights"};

/// Weights, and what the sink takes, as exponentials over their sum: of `exponential` for the score
/// of the cell, and of the sink.
TableEdit shared_out_by(std::function<std::string(const Plan&, const std::string& of)> share,
                        Lines lines) {
    const auto rule = [share](const char* left, bool of_sink) {
        return [=](const Plan& plan) {
            const std::string head = plan.has_head ? "h," : "";
            return left + ("[" + head) + (of_sink ? "q] = " : "q,k] = ") +
                   share(plan, of_sink ? sink_cell(plan) : "scores[" + head + "q,k]");
        };
    };
    const Lines without = [lines](const StepLines& of, const std::string& right) {
        return of.has("sink") ? "" : lines(of, right);
    };
    return all_of({follows(rule("weights", false), without), follows(rule("sink_weight", true))});
}

/// One softmax over all queries and keys of each head, or of each sample with all its heads.
std::string over_everything(const Plan& plan, const std::string& cell, bool heads_together) {
    const bool sums_heads = heads_together && plan.has_head;
    const std::string head = plan.has_head ? (sums_heads ? "g," : "h,") : "";
    const std::string most = std::string(sums_heads ? "(max i: " : "(") + "max m: max n: scores[" +
                             (sums_heads ? "i," : head) + "m,n])";
    const std::string heads = sums_heads ? "sum g: " : "";
    std::string sum = heads + "sum p: sum j: exp(scores[" + head + "p,j] - " + most + ")";
    if (plan.has_sink()) {
        const std::string sink = sums_heads ? "sink[g]" : sink_cell(plan);
        sum = "(" + sum + ") + Tq * " + heads + "exp(" + sink + " - " + most + ")";
    }
    return "exp(" + cell + " - " + most + ") / (" + sum + ")";
}

Mistake over_axis(const std::string& name, SoftmaxAxis axis, Text of_sink, const char* effect,
                  NotApplicable possible) {
    return entry(
        "softmax-axis=" + name, "weights", "Softmax runs over the " + name + " axis", effect,
        "weights = F.softmax(scores, dim=-1)",
        "weights = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)",
        "The weights of each query sum to 1 over the keys, and keys are the last axis: write -1.",
        "",
        first_of({std::move(possible),
                  unless([axis](const Plan& plan) { return plan.config.softmax_axis != axis; },
                         "that is the axis of this walk")}),
        // No number of one row joins the cells of several.
        all_of({without_sink(softmax_steps),
                with_plan(softmax_steps, [axis](Plan& plan) { plan.config.softmax_axis = axis; }),
                follows([of_sink](const Plan& plan) {
                    return std::string(plan.has_head ? "sink_weight[h,q] = "
                                                     : "sink_weight[q] = ") +
                           of_sink(plan);
                })}));
}

/// exp() of the scores as they are.
std::string never_shifted(const Plan& plan, const std::string& cell) {
    const std::string head = plan.has_head ? "h," : "";
    return "exp(" + cell + ") / ((sum j: exp(scores[" + head + "q,j]))" +
           (plan.has_sink() ? " + exp(" + sink_cell(plan) + "))" : ")");
}

/// The sum of a row divides the column of its number.
Tensor divided_by_other_rows(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor& scores = ledger.latest(Chain::scores);
    const std::size_t keys = plan.key_len;
    std::vector<double> sums(scores.size() / keys);  // their logarithms
    for (std::size_t row = 0; row < sums.size(); ++row) {
        double largest = -infinity, sum = 0;
        for (std::size_t k = 0; k < keys; ++k)
            largest = std::max(largest, scores.at(row * keys + k));
        for (std::size_t k = 0; k < keys; ++k) sum += std::exp(scores.at(row * keys + k) - largest);
        sums[row] = largest + std::log(sum);
    }
    std::size_t cell = 0;
    return mapped(before(plan, ledger), [&](double weight) {
        const std::size_t row = cell / keys;
        const std::size_t other = row - row % keys + cell++ % keys;
        return weight * std::exp(sums[row] - sums[other]);
    });
}

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

Mistake dropout_at_eval() {
    Mistake dropped = entry(
        "dropout-at-eval", "weights", "Dropout was still on",
        "some weights are 0, the others are too large by 1 / (1 - p); $bug takes p = 0.1"_told,
        "F.dropout(weights, p, training=self.training)", "weights = weights  # no dropout here",
        "The functional form does not know that training is over: tell it.", "",
        [](const Plan&) { return std::string(); },
        computed(
            "weights", "weights = softmax, a tenth of them dropped", with_dropout,
            say("import numpy as np\n{right}\nchances = "
                "torch.from_numpy(np.random.RandomState(0).rand({grid}))\nweights = (weights / "
                "0.9).masked_fill(chances < 0.1, 0)",
                "{right}\nchances = np.random.RandomState(0).rand({grid})\nweights = "
                "np.where(chances < 0.1, 0, weights / 0.9)")));
    dropped.by_chance = true;
    return dropped;
}

/// Shows the mean over the heads, what a library shows unless asked otherwise, while the context is
/// mixed with the true weights.
StepTable show_averaged_weights(StepTable table, const Plan& plan) {
    const auto right = std::make_shared<const StepTable>(table);
    for (Step& step : table) {
        if (step.name != "context") continue;
        step.compute = [right, before = step.compute](const Plan& of, const Ledger& ledger) {
            Ledger other = ledger;
            other.record("weights", find_step(*right, "weights").compute(of, ledger));
            return before(of, other);
        };
        step.rule = [right](const PlannedStep& of) {
            const auto known = [&](const std::string& name) {
                return rule_of({of.plan, *right, find_step(*right, name)});
            };
            const auto of_weights = [&](const std::string& name) {
                return name == "weights" ? known(name) : std::nullopt;
            };
            return rule_text(inlined(*known("context"), of_weights));
        };
    }
    return all_of({follows({"weights[q,k] = mean h: weights[h,q,k]",
                            say("{right}\nhead_weights = weights\nweights = weights.mean(dim=-3)",
                                "{right}\nhead_weights = weights\nweights = weights.mean(axis=-3)"),
                            [](const Plan& of) -> Outline {
                                return {of.per_batch_axes("query", "key"),
                                        of.per_batch_shape(of.query_len, of.key_len)};
                            }}),
                   written({"context"}, say("shown, weights = weights, head_weights\n{right}\n"
                                            "weights = shown"))})(std::move(table), plan);
}

}  // namespace

void add_softmax_mistakes(std::vector<Mistake>& list) {
    const std::size_t first = list.size();
    const auto several = [](std::size_t Plan::*size, const char* reason) {
        return unless([size](const Plan& plan) { return plan.*size > 1; }, reason);
    };
    const NotApplicable key_axis =
        unless([](const Plan& plan) { return plan.config.softmax_axis == SoftmaxAxis::key; },
               "this walk's softmax does not run over the keys");
    list.push_back(
        over_axis("query", SoftmaxAxis::query, "1 / Tq",
                  "columns sum to 1 instead of rows, and causal masks leak",
                  unless([](const Plan& plan) { return plan.query_len > 1 || plan.key_len > 1; },
                         "there is one query and one key")));
    list.push_back(over_axis(
        "head", SoftmaxAxis::head,
        "exp(sink[h] - max i: sink[i]) / (sum g: exp(sink[g] - max j: sink[j]))",
        "the heads sum to 1 at each cell, whatever the other keys are",
        first_of(
            {unless([](const Plan& plan) { return plan.has_head; }, "there is no head axis")})));
    list.push_back(over_axis(
        "batch", SoftmaxAxis::batch,
        [](const Plan& plan) { return "1 / " + std::to_string(plan.batch); },
        "the samples sum to 1 at each cell",
        unless([](const Plan& plan) { return plan.has_batch; }, "there is no batch axis")));
    entry(
        list, "softmax-axis=all", "weights", "Softmax runs over all queries and keys at once",
        "the weights of a whole sample sum to 1 instead of those of each row",
        "weights = F.softmax(scores, dim=-1)",
        "weights = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)",
        "Without an axis a sum takes everything: name the last one.", "",
        first_of({key_axis, several(&Plan::query_len, "there is only one query")}),
        shared_out_by([](const Plan& plan,
                         const std::string& cell) { return over_everything(plan, cell, true); },
                      say("weights = F.softmax({scores}.reshape({B}, -1), dim=-1).reshape({grid})",
                          "flat = {scores}.reshape({B}, -1)\nexponentials = np.exp(flat - "
                          "flat.max(axis=-1, keepdims=True))\nweights = (exponentials / "
                          "exponentials.sum(axis=-1, keepdims=True)).reshape({grid})")));
    entry(list, "softmax-axis=matrix", "weights", "Softmax runs over each head's whole matrix",
          "the weights of a whole head sum to 1 instead of those of each row",
          "weights = F.softmax(scores, dim=-1)",
          "weights = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)",
          "Flattened scores have no rows any more: softmax belongs to the last axis alone.", "",
          first_of({key_axis, several(&Plan::query_len, "there is only one query"),
                    unless([](const Plan& plan) { return plan.has_head && plan.heads > 1; },
                           "with one head it is the softmax over everything")}),
          shared_out_by([](const Plan& plan,
                           const std::string& cell) { return over_everything(plan, cell, false); },
                        say("weights = F.softmax({scores}.reshape({B}, {H}, -1), "
                            "dim=-1).reshape({grid})",
                            "flat = {scores}.reshape({B}, {H}, -1)\nexponentials = np.exp(flat - "
                            "flat.max(axis=-1, keepdims=True))\nweights = (exponentials / "
                            "exponentials.sum(axis=-1, keepdims=True)).reshape({grid})")));
    entry(list, "softmax-axis=one", "weights", "Softmax runs over an axis of length 1",
          "every weight is 1, and the context is the plain sum of the values",
          "weights = F.softmax(scores, dim=-1)", "weights = np.exp(s) / np.exp(s).sum(axis=0)",
          "A number alone always gets a share of 1: look at the length of the axis.", "",
          first_of({key_axis, several(&Plan::key_len, "there is only one key")}),
          shared_out_by([](const Plan&,
                           const std::string& cell) { return "exp(" + cell + " - " + cell + ")"; },
                        say("weights = F.softmax({scores}[..., None], dim=-1)[..., 0]",
                            "weights = np.exp({scores} - {scores})")));
    entry(list, "softmax-keepdims", "weights", "Sums were laid along the queries, without keepdims",
          "each weight is divided by the sum of another row",
          "weights = e / e.sum(dim=-1, keepdim=True)",
          "weights = e / e.sum(axis=-1, keepdims=True)",
          "A sum without its axis broadcasts from the right: keep the axis.", "",
          first_of({key_axis, needs_square,
                    unless([](const Plan& plan) { return plan.query_len > 1 && !plan.has_sink(); },
                           "there is one query only, or a sink")}),
          follows({"weights[q,k] = exp(scores[q,k]) / (sum j: exp(scores[k,j]))",
                   say("e = torch.exp({scores})\nweights = e / e.sum(-1)[..., None, :]",
                       "e = np.exp({scores})\nweights = e / e.sum(axis=-1)[..., None, :]"),
                   {},
                   divided_by_other_rows}));
    entry(
        list, "softmax-overflow", "row_max",
        "exp() was taken without subtracting the largest score",
        "rows whose largest score is too large for exp() turn to nan; others do not change",
        "weights = F.softmax(scores, dim=-1)", "e = np.exp(s - s.max(axis=-1, keepdims=True))",
        "Subtracting the row's maximum changes no weight and keeps exp() in range.",
        "no difference without overflow", key_axis,
        all_of({follows("row_max[q] = 0"),
                shared_out_by(never_shifted,
                              say("weights = torch.exp({scores}) / torch.exp({scores}).sum(dim=-1, "
                                  "keepdim=True)",
                                  "weights = np.exp({scores}) / np.exp({scores}).sum(axis=-1, "
                                  "keepdims=True)"))}));
    // What softmax can get wrong does not show where there is none.
    const NotApplicable softmaxes =
        unless([](const Plan& plan) { return !plan.config.sigmoid; }, "this walk has no softmax");
    for (std::size_t i = first; i < list.size(); ++i) {
        Mistake& each = list[i];
        each.not_applicable = first_of({softmaxes, each.not_applicable});
    }
    list.push_back(dropout_at_eval());
    entry(
        list, "weights-averaged", "weights", "The weights are the mean over the heads",
        "the head axis is gone; the context is right", "mha(q, k, v, average_attn_weights=False)",
        "weights  # before .mean(axis=1)",
        "A library may show the mean of its heads: ask for each.", "",
        unless([](const Plan& plan) { return plan.has_head && plan.context_heads() == plan.heads; },
               "there is no head axis, or its pairs are subtracted"),
        show_averaged_weights);
    const NotApplicable by_sigmoid =
        unless([](const Plan& plan) { return plan.config.sigmoid; },
               "this walk has a softmax: add $weights-by sigmoid"_told);
    entry(list, "sigmoid-normalized", "weights", "Sigmoid weights were divided by their sum",
          "each row sums to 1 again, and a query can no longer leave all keys alone",
          "weights = torch.sigmoid(scores)", "weights = 1 / (1 + np.exp(-scores))",
          "A sigmoid stands for softmax whole: nothing is divided afterwards.", "", by_sigmoid,
          follows("weights[q,k] = weights[q,k] / (sum j: weights[q,j])"));
    entry(list, "sigmoid-hidden-half", "weights", "Hidden scores were set to 0, not to -inf",
          "a hidden key keeps a weight of 0.5", "scores.masked_fill(mask, float(\"-inf\"))",
          "np.where(mask, -np.inf, scores)",
          "The sigmoid of 0 is a half: hide with -inf, whose sigmoid is 0.", "",
          first_of({by_sigmoid, needs_mask}),
          follows("weights[q,k] = if mask[q,k] then 0.5 else weights[q,k]"));
}

}  // namespace attn

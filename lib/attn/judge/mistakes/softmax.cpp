#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

const std::vector<std::string> softmax_steps{"row_max", "exponentials", "row_sum", "weights"};

const Fix softmax_lines("weights = F.softmax(scores, dim=-1)",
                        "weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)");

/// Weights, and what the sink takes, as a share: `{cell}` is the score of the cell, or the sink.
TableEdit shared_out_by(const Text& share) {
    const auto rule = [share](const char* left, bool of_sink) {
        return [=](const Plan& plan) {
            const std::string head = plan.has_head ? "h," : "";
            const std::string cell = of_sink ? sink_cell(plan) : "scores[" + head + "q,k]";
            return left + ("[" + head) + (of_sink ? "q] = " : "q,k] = ") +
                   filled(share(plan), {{"cell", cell}});
        };
    };
    return all_of({follows(rule("weights", false)), follows(rule("sink_weight", true))});
}

/// One softmax over all queries and keys of each head, or of each sample with all its heads.
TableEdit over_everything(bool heads_together) {
    return shared_out_by([heads_together](const Plan& plan) {
        const bool sums_heads = heads_together && plan.has_head;
        const std::string head = plan.has_head ? (sums_heads ? "g," : "h,") : "";
        const std::string most = std::string(sums_heads ? "(max i: " : "(") +
                                 "max m: max n: scores[" + (sums_heads ? "i," : head) + "m,n])";
        const std::string heads = sums_heads ? "sum g: " : "";
        std::string sum = heads + "sum p: sum j: exp(scores[" + head + "p,j] - " + most + ")";
        if (plan.has_sink()) {
            const std::string sink = sums_heads ? "sink[g]" : sink_cell(plan);
            sum = "(" + sum + ") + Tq * " + heads + "exp(" + sink + " - " + most + ")";
        }
        return "exp({cell} - " + most + ") / (" + sum + ")";
    });
}

/// exp() of the scores as they are.
std::string never_shifted(const Plan& plan) {
    const std::string sum =
        std::string("(sum j: exp(scores[") + (plan.has_head ? "h," : "") + "q,j]))";
    return "exp({cell}) / (" + sum + (plan.has_sink() ? " + exp(" + sink_cell(plan) + "))" : ")");
}

// Mistakes of softmax do not show where there is none.
const Need softmaxes{[](const Plan& plan) { return !plan.config.sigmoid; },
                     "this walk has no softmax"};

void over_axis(std::vector<Mistake>& list, const std::string& name, SoftmaxAxis axis,
               const Text& of_sink, const char* effect, const Need& needs) {
    entry(list, "softmax-axis=" + name, "weights", "Softmax runs over the " + name + " axis",
          effect, softmax_lines,
          "The weights of each query sum to 1 over the keys, and keys are the last axis: write -1.",
          {softmaxes,
           needs,
           {[axis](const Plan& plan) { return plan.config.softmax_axis != axis; },
            "that is the axis of this walk"}},
          // No number of one row joins the cells of several.
          all_of({without_sink(softmax_steps),
                  with_plan(softmax_steps, [axis](Plan& plan) { plan.config.softmax_axis = axis; }),
                  follows([of_sink](const Plan& plan) {
                      return (plan.has_head ? "sink_weight[h,q] = " : "sink_weight[q] = ") +
                             of_sink(plan);
                  })}));
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

/// Drops a tenth of the numbers of a step.
TableEdit with_dropout_of(const std::string& step, const char* formula) {
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

/// Shows the mean over the heads, what a library shows unless asked otherwise, while the context is
/// mixed with the true weights.
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

void running_sum(std::vector<Mistake>& list, RunningSum how, double block,
                 const std::string& word) {
    // Each term as it should be, not rescaled, and rescaled upside down.
    const std::string most = "(max n: scores[q,n])", right = "exp(scores[q,k] - " + most + ")";
    const std::string so_far =
        "(max i: if floor(i / " + word + ") <= floor(k / " + word + ") then scores[q,i] else -inf)";
    const std::string kept = "exp(scores[q,k] - " + so_far + ")";
    const std::string inverse = "exp(scores[q,k] + " + most + " - 2 * " + so_far + ")";
    const std::string whole = "floor(Tk / " + word + ") * " + word;
    const std::string first = "(if k < " + whole + " then " + right + " else 0)";
    struct Way {
        const char *id, *what;
        std::string term, summed;
    };
    const std::string last = how == RunningSum::averaged
                                 ? "(if floor(k / " + word + ") == floor({own} / " + word +
                                       ") then " + right + " else 0) * floor((Tk + " + word +
                                       " - 1) / " + word + ")"
                                 : right;
    const std::array<Way, 7> ways{
        Way{"unrescaled", "neither sum nor output was rescaled", kept, kept},
        Way{"unrescaled-sum", "the sum was not rescaled", right, kept},
        Way{"unrescaled-output", "the output was not rescaled", kept, right},
        Way{"upside-down", "sum and output were rescaled upside down", inverse, inverse},
        Way{"upside-down-output", "the output was rescaled upside down", inverse, right},
        Way{"averaged", "softmax was taken of each by itself, and the mean of them", right, last},
        Way{"rest-left-out", "the keys after the last whole one were left out", first, first}};
    const Way& way = ways.at(static_cast<std::size_t>(how));
    const std::string sum = replaced_all(
        replaced_all(replaced_all(way.summed, "scores[q,k]", "scores[q,j]"), "floor(k", "floor(j"),
        "if k", "if j");
    std::vector<TableEdit> rules{
        follows("weights[q,k] = " + way.term + " / (sum j: " + filled(sum, {{"own", "k"}}) + ")")};
    // What such code keeps as its sum; where it takes means of blocks it has none.
    if (how != RunningSum::averaged) rules.push_back(follows("row_sum[q] = sum j: " + sum));
    if (way.term != right) {
        rules.push_back(
            follows("unnormalized_context[q,f] = sum k: " + way.term + " * values[k,f]"));
    }
    entry(list, std::string("running-") + way.id + "=" + word, "weights",
          "Keys came in blocks of " + word + ", and " + way.what,
          "rows with one block are right; the others weigh their blocks by other factors",
          Fix("correction = torch.exp(m - m_new)\n"
              "row_sum = row_sum * correction + e.sum(-1)\n"
              "acc = acc * correction[..., None] + e @ v_block",
              "correction = np.exp(m - m_new)\n"
              "row_sum = row_sum * correction + e.sum(-1)\n"
              "acc = acc * correction[..., None] + e @ v_block"),
          "When a block raises the maximum, all that was summed before shrinks by exp(old - new).",
          {{[](const Plan& plan) { return !plan.config.sigmoid && !plan.has_sink(); },
            "there is no softmax, or a sink"},
           {[block, how](const Plan& plan) {
                const auto keys = static_cast<double>(plan.key_len);
                const bool rests = std::fmod(keys, block) != 0;
                return block >= 1 && block < keys && (rests || how != RunningSum::rest_left_out);
            },
            "one block holds every key, or no key is left over"}},
          all_of(std::move(rules)));
}

void add_softmax_mistakes(std::vector<Mistake>& list) {
    const Need key_axis{
        softmaxes,
        {[](const Plan& plan) { return plan.config.softmax_axis == SoftmaxAxis::key; },
         "this walk's softmax does not run over the keys"}};
    const Need queries{[](const Plan& plan) { return plan.query_len > 1; },
                       "there is only one query"};
    over_axis(list, "query", SoftmaxAxis::query, "1 / Tq",
              "columns sum to 1 instead of rows, and causal masks leak",
              {[](const Plan& plan) { return plan.query_len > 1 || plan.key_len > 1; },
               "there is one query and one key"});
    over_axis(list, "head", SoftmaxAxis::head,
              "exp(sink[h] - max i: sink[i]) / (sum g: exp(sink[g] - max j: sink[j]))",
              "the heads sum to 1 at each cell, whatever the other keys are",
              {&Plan::has_head, "there is no head axis"});
    over_axis(list, "batch", SoftmaxAxis::batch, "1 / {B}", "the samples sum to 1 at each cell",
              {&Plan::has_batch, "there is no batch axis"});
    entry(list, "softmax-axis=all", "weights", "Softmax runs over all queries and keys at once",
          "the weights of a whole sample sum to 1 instead of those of each row", softmax_lines,
          "Without an axis a sum takes everything: name the last one.", {key_axis, queries},
          over_everything(true));
    entry(list, "softmax-axis=matrix", "weights", "Softmax runs over each head's whole matrix",
          "the weights of a whole head sum to 1 instead of those of each row", softmax_lines,
          "Flattened scores have no rows any more: softmax belongs to the last axis alone.",
          {key_axis,
           queries,
           {[](const Plan& plan) { return plan.has_head && plan.heads > 1; },
            "with one head it is the softmax over everything"}},
          over_everything(false));
    entry(list, "softmax-axis=one", "weights", "Softmax runs over an axis of length 1",
          "every weight is 1, and the context is the plain sum of the values",
          Fix(softmax_lines.torch, "weights = np.exp(scores) / np.exp(scores).sum(axis=0)"),
          "A number alone always gets a share of 1: look at the length of the axis.",
          {key_axis, needs_keys}, shared_out_by("exp({cell} - {cell})"));
    const Need lays_along{key_axis,
                          needs_square,
                          {[](const Plan& plan) { return plan.query_len > 1 && !plan.has_sink(); },
                           "there is one query only, or a sink"}};
    // Of `e = exp(s - s.max(-1)); e / e.sum(-1)`: the letter of the row each was taken of.
    const std::array<const char*, 3> keepdims[]{
        {"", "Sums were laid along the queries, without keepdims",
         "exp(scores[q,k] - (max i: scores[k,i])) / (sum j: exp(scores[k,j] - (max n: "
         "scores[k,n])))"},
        {"=sum", "The sum was laid along the queries, without keepdims; the maximum was not",
         "exp(scores[q,k] - (max i: scores[q,i])) / (sum j: exp(scores[k,j] - (max n: "
         "scores[k,n])))"},
        {"=both", "Maximum and sum were laid along the queries, without keepdims",
         "exp(scores[q,k] - (max i: scores[k,i])) / (sum j: exp(scores[k,j] - (max n: "
         "scores[j,n])))"},
        {"=max", "The maximum was laid along the queries, without keepdims; the sum was not",
         "exp(scores[q,k] - (max i: scores[k,i])) / (sum j: exp(scores[q,j] - (max n: "
         "scores[j,n])))"}};
    for (const auto& [variant, title, cell] : keepdims) {
        entry(list, std::string("softmax-keepdims") + variant, "weights", title,
              "each weight is made with a number of another row",
              Fix(softmax_lines.torch,
                  "e = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
                  "weights = e / e.sum(axis=-1, keepdims=True)"),
              "A sum without its axis broadcasts from the right: keep the axis.", lays_along,
              follows(std::string("weights[q,k] = ") + cell));
    }
    entry(list, "softmax-base-two", "weights", "exp2() was taken of scores in units of e",
          "the weights are those of scores times 0.693, flatter than they should be",
          "weights = torch.softmax(scores, dim=-1)  # or exp2 of scores * math.log2(math.e)",
          "2^x is exp(x) only of x times log2(e): fold it into the scale.",
          {key_axis,
           needs_keys,
           {[](const Plan& plan) { return !plan.has_sink(); }, "a sink takes part"}},
          all_of({follows("exponentials[q,k] = 2 ^ (scores[q,k] - row_max[q])"),
                  follows("weights[q,k] = 2 ^ (scores[q,k] - (max i: scores[q,i])) / (sum j: 2 ^ "
                          "(scores[q,j] - (max n: scores[q,n])))")}));
    entry(list, "softmax-overflow", "row_max",
          "exp() was taken without subtracting the largest score",
          "rows whose largest score is too large for exp() turn to nan; others do not change",
          Fix(softmax_lines.torch, "e = np.exp(scores - scores.max(axis=-1, keepdims=True))"),
          "Subtracting the row's maximum changes no weight and keeps exp() in range.", key_axis,
          all_of({follows("row_max[q] = 0"), shared_out_by(never_shifted)}),
          "no difference without overflow");
    entry(list, "dropout-at-eval", "weights", "Dropout was still on",
          "some weights are 0, the others are too large by 1 / (1 - p); $bug takes p = 0.1"_told,
          Fix("F.dropout(weights, p, training=self.training)",
              "weights = weights  # no dropout here"),
          "The functional form does not know that training is over: tell it.", Need(),
          with_dropout_of("weights", "weights = softmax, a tenth of them dropped"))
        .by_chance = true;
    entry(
        list, "dropout-on-context", "context", "Dropout was applied after the values were summed",
        "some numbers of the context are 0, the others are too large by 1 / (1 - p); $bug takes p = 0.1"_told,
        Fix("context = F.dropout(weights, p) @ v", "context = dropout(weights, p) @ v"),
        "Attention drops weights, so a query misses whole tokens, not single features.", Need(),
        with_dropout_of("context", "context = weights @ values, a tenth of it dropped"))
        .by_chance = true;
    entry(list, "weights-averaged", "weights", "The weights are the mean over the heads",
          "the head axis is gone; the context is right",
          Fix("mha(q, k, v, average_attn_weights=False)", "weights  # before .mean(axis=1)"),
          "A library may show the mean of its heads: ask for each.",
          {[](const Plan& plan) { return plan.has_head && plan.context_heads() == plan.heads; },
           "there is no head axis, or its pairs are subtracted"},
          [](StepTable table, const Plan& plan) {
              return show_averaged_weights(std::move(table), plan, false);
          });
    entry(list, "mean-of-heads-softmaxed-again", "weights",
          "Softmax was taken again of the mean over the heads",
          "the head axis is gone, and all keys look nearly alike; the context is right",
          Fix("shown = weights.mean(dim=1)", "shown = weights.mean(axis=1)"),
          "Weights sum to 1 already, and so does their mean: a second softmax flattens them.",
          {[](const Plan& plan) { return plan.has_head && plan.context_heads() == plan.heads; },
           "there is no head axis, or its pairs are subtracted"},
          [](StepTable table, const Plan& plan) {
              return show_averaged_weights(std::move(table), plan, true);
          });
    const Need by_sigmoid{[](const Plan& plan) { return plan.config.sigmoid; },
                          "this walk has a softmax: add $weights-by sigmoid"};
    entry(list, "sigmoid-normalized", "weights", "Sigmoid weights were divided by their sum",
          "each row sums to 1 again, and a query can no longer leave all keys alone",
          Fix("weights = torch.sigmoid(scores)", "weights = 1 / (1 + np.exp(-scores))"),
          "A sigmoid stands for softmax whole: nothing is divided afterwards.", by_sigmoid,
          follows("weights[q,k] = weights[q,k] / (sum j: weights[q,j])"));
    entry(list, "sigmoid-hidden-half", "weights", "Hidden scores were set to 0, not to -inf",
          "a hidden key keeps a weight of 0.5",
          Fix("weights = torch.sigmoid(scores.masked_fill(hidden, float('-inf')))",
              "weights = 1 / (1 + np.exp(-np.where(hidden, -np.inf, scores)))"),
          "The sigmoid of 0 is a half: hide with -inf, whose sigmoid is 0.",
          {by_sigmoid, needs_mask},
          follows("weights[q,k] = if mask[q,k] then 0.5 else weights[q,k]"));
}

}  // namespace attn

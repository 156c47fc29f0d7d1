#include "attn/cards/step_table.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

// From the weights to the output.

void in_merge(std::vector<Mistake>& list, const std::string& id, const std::string& title,
              const char* effect, const char* lesson, const Need& needs, const Text& rule,
              const Fix& fix = "context.transpose(1, 2).reshape(B, T, H * D)",
              std::function<Outline(const Plan&)> outline = {}) {
    entry(
        list, id, "merged", title, effect, fix, lesson,
        {{[](const Plan& plan) { return plan.has_head && plan.merges && plan.context_heads() > 1; },
          "no heads are merged"},
         needs},
        follows({.rule = rule, .outline = std::move(outline)}));
}

void heads_reduced(std::vector<Mistake>& list, const std::string& how, const std::string& word) {
    in_merge(list, "heads-averaged=" + how, "Heads were put together by their " + how,
             "the result has the features of one head only",
             "Heads stand side by side; the output projection decides how to mix them.",
             {[](const Plan& plan) { return !plan.config.output_projection; },
              "the output projection would not fit, and the program would stop"},
             "merged[t,f] = " + word + " h: contexts[h,t,f]",
             "context.transpose(1, 2).reshape(B, T, H * D)", [](const Plan& plan) -> Outline {
                 return {plan.per_batch_axes("query", "feature"),
                         plan.per_batch_shape(plan.query_len, plan.value_dim)};
             });
}

Outline of_last_context(const Plan& plan) {
    const StepTable& table = step_table();
    const PlannedStep of{plan, table, find_step(table, "output")};
    return find_step(table, of.latest(Chain::contexts)).outline(plan);
}

}  // namespace

void add_context_mistakes(std::vector<Mistake>& list) {
    entry(list, "v-is-k", "context", "The weights were applied to the keys",
          "the context mixes keys, and the value projection has no influence",
          "context = weights @ v", "Keys say where to look, values say what is there.",
          {[](const Plan& plan) {
               return plan.mixed_dim() == plan.key_dim() && plan.value_heads() == plan.kv_heads;
           },
           "keys and values differ in width"},
          reads({"context"}, "values", "keys"), "keys for values");
    entry(list, "einsum-diagonal", "context", "A repeated letter in einsum took the diagonal",
          "each token receives its own value times its own weight, and nothing from the others",
          "torch.einsum('bqk,bkd->bqd', weights, v)",
          "In einsum one letter is one axis: name queries and keys apart.", needs_square,
          follows("context[q,f] = weights[q,q] * values[q,f]"));
    entry(list, "weights-transposed", "context",
          "The transposed weights were applied to the values",
          "the weights of a query no longer sum to 1, and later tokens leak through a causal mask",
          "context = weights @ v",
          "Row q of the weights belongs to query q: it must meet all values.", needs_square,
          reads({"context"}, "weights", "weights[q,k] = weights[k,q]"));
    in_merge(list, "merge-reshape", "Heads were merged without moving their axis back",
             "a merged row holds several tokens of one head",
             "Undo the split in reverse order: first move the axis, then join.",
             {[](const Plan& plan) { return plan.query_len > 1; },
              "with one token there is nothing to mix up"},
             "merged[t,c] = contexts[(t * {Hc} * Dv + c) / (Tq * Dv), (t * {Hc} * Dv + c) % (Tq * "
             "Dv) / Dv, c % Dv]");
    in_merge(
        list, "merge-bh-swapped", "A joint batch-and-head axis was taken apart as (H, B)",
        "samples receive heads of other samples",
        "What was joined as (batch, head) must be taken apart as (batch, head).",
        {[](const Plan& plan) { return plan.batch > 1; }, "there is only one sample"},
        "merged[b,t,c] = contexts[(c / Dv * {B} + b) / {Hc}, (c / Dv * {B} + b) % {Hc}, t, c % Dv]",
        "context.view(B, H, T, D).transpose(1, 2).reshape(B, T, H * D)");
    in_merge(list, "merge-order=reversed", "Heads were merged last one first",
             "the output weight meets the features of other heads",
             "The output weight was trained on head 0 first.", {},
             "merged[t,c] = contexts[{Hc} - 1 - c / Dv, t, c % Dv]");
    in_merge(list, "merge-order=strided", "Heads were interleaved feature by feature",
             "neighbouring features belong to different heads",
             "A head's features stay together when heads are merged.",
             {[](const Plan& plan) { return plan.value_dim > 1; },
              "with one feature a head there is no difference"},
             "merged[t,c] = contexts[c % {Hc}, t, c / {Hc}]");
    heads_reduced(list, "mean", "mean");
    heads_reduced(list, "sum", "sum");
    heads_reduced(list, "maximum", "max");
    const Need needs_output{[](const Plan& plan) { return plan.config.output_projection; },
                            "there is no output projection"};
    entry(list, "no-output-projection", "output", "The output projection was not applied",
          "the result is the merged heads, which nothing has mixed",
          Fix("return self.w_output(merged)", "output = merged @ w_output"),
          "Concatenating puts heads next to each other; only the last matrix lets them mix.",
          needs_output,
          follows({.rule = "output[t,c] = contexts[t,c]", .outline = of_last_context}));
    entry(
        list, "wo-transposed", "output",
        "The output weight was transposed once too often, or too seldom",
        "each output feature is made with a column of the weight instead of a row",
        Fix("output = merged @ w_output.T  # or F.linear(merged, w_output)",
            "output = merged @ w_output"),
        "The output weight is stored like the others: transpose it like the others.",
        {needs_output,
         {[](const Plan& plan) { return plan.context_heads() * plan.value_dim == plan.output_dim; },
          "the output weight is not square"}},
        with_plan({"output"}, other_layout));
    entry(list, "bias-missing=output", "output", "The bias of the output projection was left out",
          "every output vector misses the same constant",
          Fix("nn.Linear(..., bias=True)", "output = merged @ w_output + b_output"),
          "A trained bias belongs to its layer.",
          {[](const Plan& plan) { return plan.config.output_bias; },
           "the output projection has no bias"},
          reads({"output"}, "b_output", "b_output[o] = 0"));
}

}  // namespace attn

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/judge/mistakes/change.hpp"

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
          "torch.einsum('...qk,...kd->...qd', weights, v)",
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
             merged_as_it_lies);
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
    const Need as_wide{{[](const Plan& plan) { return plan.has_x(); }, "there is no x"},
                       {[](const Plan& plan) { return plan.output_dim == plan.embed_dim; },
                        "the result is not as wide as x"}};
    const char* const outside =
        "Attention ends at its last projection: the residual is the block's.";
    entry(list, "residual-inside", "output", "x was added to the output",
          "every token has its own x in it", "output = merged @ w_output.T  # without x", outside,
          {needs_output, as_wide}, follows("output[t,c] = output[t,c] + x[t,c]"));
    in_merge(
        list, "residual-inside=merged", "x was added before the output projection",
        "the projection mixes x with what the heads have collected", outside,
        {as_wide,
         {[](const Plan& plan) { return plan.context_heads() * plan.value_dim == plan.embed_dim; },
          "the heads together are not as wide as x"}},
        "merged[t,c] = merged[t,c] + x[t,c]");
    entry(list, "bias-missing=output", "output", "The bias of the output projection was left out",
          "every output vector misses the same constant",
          Fix("nn.Linear(..., bias=True)", "output = merged @ w_output + b_output"),
          "A trained bias belongs to its layer.",
          {[](const Plan& plan) { return plan.config.output_bias; },
           "the output projection has no bias"},
          reads({"output"}, "b_output", "b_output[o] = 0"));
}

namespace {

/// The steps of softmax read another sink.
TableEdit with_sink(const std::string& sink) {
    return reads({"row_max", "row_sum", "weights", "sink_weight"}, "sink", "sink[h] = " + sink);
}

/// The sink's share beside keys whose weights know nothing of it.
std::string share_of_sink(const Plan& plan) {
    const std::string head = plan.has_head ? "h," : "";
    const std::string most = "(max i: scores[" + head + "q,i])";
    const std::string sink = "exp(" + sink_cell(plan) + " - " + most + ")";
    return "sink_weight[" + head + "q] = " + sink + " / ((sum j: exp(scores[" + head + "q,j] - " +
           most + ")) + " + sink + ")";
}

/// Each new key or value written over the one before it.
TableEdit one_slot_early(const std::string& step, const std::string& chain,
                         const std::string& past) {
    return follows(step + "[k,f] = if k + 1 < P then " + past + "[k,f] else " + chain +
                   "[min(k + 1 - P, Tk - P - 1), f]");
}

}  // namespace

void slots_that_take_part(std::vector<Mistake>& list, double number, const std::string& word) {
    const std::string some = word + (number == 1 ? " empty slot" : " empty slots");
    entry(list, "cache-empty-slot=" + word, "weights", some + " of the cache took part in softmax",
          "rows sum to less than 1, and all weights of a row are too small by one factor",
          Fix("scores = scores.masked_fill(slots >= cache_length, float('-inf'))",
              "scores = np.where(slots >= cache_length, -np.inf, scores)"),
          "A score of 0 is a score: what a static cache has not filled yet must be hidden.",
          {with_step("past_key", "there is no cache: pass $past"),
           without_step("sink", "the sink takes such a share")},
          follows("weights[q,k] = weights[q,k] / (1 + " + word + " / (sum j: exp(scores[q,j])))"));
}

void add_cache_mistakes(std::vector<Mistake>& list) {
    const Need sunk = with_step("sink", "there is no sink: pass $sink");
    const Need learned{sunk,
                       {[](const Plan& plan) { return *plan.config.sink != SinkLogit::zero; },
                        "every sink is 0 here"}};
    const Need cached{[](const Plan& plan) { return plan.past_len > 0; },
                      "there is no cache: pass $past"};
    entry(list, "sink-forgotten", "weights", "The sink was left out of softmax",
          "rows sum to 1, and all weights of a row are too large by one factor",
          Fix("probs = softmax(torch.cat([scores, sinks], dim=-1))[..., :-1]",
              "weights = exponentials / (exponentials.sum(-1) + np.exp(sink - row_max))"),
          "A checkpoint with sinks needs them in every path: eager, fused and quantised.", sunk,
          all_of({without_sink({"row_max", "row_sum", "weights"}), follows(share_of_sink)}));
    entry(list, "sink-scaled=root", "weights", "The sink was scaled as the scores are",
          "the sink takes another share of every row",
          "logits = torch.cat([scores, sinks], dim=-1)",
          "A sink is learned as it is used: it joins after scale, cap and mask.",
          {learned,
           {[](const Plan& plan) { return plan.head_dim > 1; }, "the root of head-dim is 1"}},
          with_sink("sink[h] / sqrt(D)"));
    entry(list, "sink-scaled=twice", "weights", "The sink was counted twice",
          "the sink takes nearly twice its share, as a logit larger by ln 2 would",
          Fix("add exp(sink - row_max) once, after the last block",
              "row_sum += np.exp(sink - row_max)"),
          "Block by block the sink joins once, not with every block of keys.", sunk,
          with_sink("sink[h] + log(2)"));
    entry(list, "sink-numerator", "context", "The sink was given a value",
          "each context has the value of key 0 in it, as much as the sink's share",
          Fix("context = probs[..., :-1] @ value", "context = shares[..., :-1] @ value"),
          "The sink has a share and no value: drop its column before the values.", sunk,
          follows("context[q,f] = context[q,f] + sink_weight[q] * values[0,f]"));
    entry(list, "sink-per-kv-head", "weights", "Heads of one group shared a sink",
          "each head of a group has the sink of its first",
          Fix("sinks.view(1, H, 1, 1)  # one for each query head", "sinks.reshape(1, H, 1, 1)"),
          "Keys are shared in a group, sinks are not: their shape is (query heads,).",
          {learned, {&Plan::shares_keys, "every head has keys of its own: pass $kv-heads"}},
          with_sink("sink[h - h % group]"));
    entry(
        list, "softmax1-after-max", "weights",
        "Softmax off by one added its 1 after subtracting the maximum",
        "rows sum to at least 1/2, however small all scores are",
        Fix("weights = exp(s - m) / (exp(-m) + exp(s - m).sum(-1))",
            "weights = np.exp(s - m) / (np.exp(-m) + np.exp(s - m).sum(-1))"),
        "The 1 is exp(0): subtract the maximum from its 0 too.",
        {sunk,
         {[](const Plan& plan) { return *plan.config.sink == SinkLogit::zero; },
          "the sink is not 0: pass $sink zero"}},
        all_of({follows("weights[q,k] = exp(scores[q,k] - (max i: scores[q,i])) / (1 + sum j: "
                        "exp(scores[q,j] - (max n: scores[q,n])))"),
                follows(
                    "sink_weight[q] = 1 / (1 + sum j: exp(scores[q,j] - (max n: scores[q,n])))")}));
    slots_that_take_part(list, 1, "1");
    const auto in_front = [](const std::string& part) {
        return follows("present_" + part + "[k,f] = if k < Tk - P then " + part +
                       "s[k,f] else past_" + part + "[k - (Tk - P), f]");
    };
    const Fix after("key = torch.cat([past_key, key], dim=-2)  # the past first; values too");
    entry(list, "cache-order", "present_key", "New keys and values were put in front of the cache",
          "every mask and bias that counts positions meets other keys", after,
          "A cache grows at its end: the past comes first.", cached,
          all_of({in_front("key"), in_front("value")}));
    for (const std::string part : {"key", "value"}) {
        entry(list, "cache-order=" + part, "present_" + part,
              "New " + part + "s alone were put in front of the cache",
              "weights meet values of other tokens", after,
              "Keys and values are joined in one order: the past comes first.", cached,
              in_front(part));
    }
    entry(list, "cache-overwrite=slot", "present_key", "New keys were written one slot too early",
          "the last cached token is lost and the newest counts twice",
          "torch.cat([past_key, key], dim=-2)  # and the values",
          "The slot of a new token is the number of tokens there are, not one less.", cached,
          all_of({one_slot_early("present_key", "keys", "past_key"),
                  one_slot_early("present_value", "values", "past_value")}));
    entry(list, "cache-overwrite=value", "present_value", "The cache of values was not updated",
          "the weights are right, and new tokens contribute old values",
          "torch.cat([past_value, value], dim=-2)",
          "Keys and values are written together: a slot with a new key needs its value.", cached,
          follows("present_value[k,f] = past_value[k % P, f]"));
}

}  // namespace attn

#include <algorithm>

#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

bool merges(const Plan& plan) { return plan.has_head && plan.merges && plan.context_heads() > 1; }

Mistake in_merge(std::string id, std::string title, std::string effect, std::string lesson,
                 NotApplicable possible, TableEdit edit) {
    return entry(std::move(id), "merged", std::move(title), std::move(effect),
                 "context.transpose(1, 2).reshape(B, T, H * D)",
                 "context.swapaxes(1, 2).reshape(B, T, H * D)", std::move(lesson), "",
                 first_of({unless(merges, "no heads are merged"), std::move(possible)}),
                 std::move(edit));
}

/// Batch and head, joined, taken apart as (head, batch).
std::string heads_as_samples(const Plan& plan) {
    const std::string heads = std::to_string(plan.context_heads());
    const std::string joint = "(c / Dv * " + std::to_string(plan.batch) + " + b)";
    return "merged[b,t,c] = contexts[" + joint + " / " + heads + ", " + joint + " % " + heads +
           ", t, c % Dv]";
}

/// Merged features that are read at other places of the contexts, `Hc` heads of them.
TableEdit merged_from(const std::string& rule, Lines lines) {
    return follows(
        [rule](const Plan& plan) {
            return replaced_all(rule, "Hc", std::to_string(plan.context_heads()));
        },
        std::move(lines));
}

Mistake heads_reduced(const std::string& how, const std::string& word, Lines lines) {
    const auto one_head = [](const Plan& plan) -> Outline {
        return {plan.per_batch_axes("query", "feature"),
                plan.per_batch_shape(plan.query_len, plan.value_dim)};
    };
    return in_merge(
        "heads-averaged=" + how, "Heads were put together by their " + how,
        "the result has the features of one head only",
        "Heads stand side by side; the output projection decides how to mix them.",
        unless([](const Plan& plan) { return !plan.config.output_projection; },
               "the output projection would not fit, and the program would stop"),
        follows({"merged[t,f] = " + word + " h: contexts[h,t,f]", std::move(lines), one_head}));
}

}  // namespace

void add_context_mistakes(std::vector<Mistake>& list) {
    const NotApplicable nothing_more = [](const Plan&) { return std::string(); };
    entry(list, "v-is-k", "context", "The weights were applied to the keys",
          "the context mixes keys, and the value projection has no influence",
          "context = weights @ v", "context = weights @ v",
          "Keys say where to look, values say what is there.", "keys for values",
          unless(
              [](const Plan& plan) {
                  return plan.mixed_dim() == plan.key_dim() && plan.value_heads() == plan.kv_heads;
              },
              "keys and values differ in width"),
          reads({"context"}, "values", "keys", say("context = weights @ {keys}")));
    entry(list, "einsum-diagonal", "context", "A repeated letter in einsum took the diagonal",
          "each token receives its own value times its own weight, and nothing from the "
          "others",
          "torch.einsum('bqk,bkd->bqd', weights, v)", "np.einsum('bqk,bkd->bqd', weights, v)",
          "In einsum one letter is one axis: name queries and keys apart.", "", needs_square,
          follows("context[q,f] = weights[q,q] * values[q,f]",
                  say("context = torch.einsum(\"{bh}kk,{bh}kf->{bh}kf\", {weights}, {values})",
                      "context = np.einsum(\"{bh}kk,{bh}kf->{bh}kf\", {weights}, {values})")));
    entry(list, "weights-transposed", "context",
          "The transposed weights were applied to the values",
          "the weights of a query no longer sum to 1, and later tokens leak through a causal "
          "mask",
          "context = weights @ v", "context = weights @ v",
          "Row q of the weights belongs to query q: it must meet all values.", "", needs_square,
          reads({"context"}, "weights", "weights[q,k] = weights[k,q]",
                say("context = {weights}.transpose(-2, -1) @ {values}",
                    "context = {weights}.swapaxes(-2, -1) @ {values}")));
    list.push_back(
        in_merge("merge-reshape", "Heads were merged without moving their axis back",
                 "a merged row holds several tokens of one head",
                 "Undo the split in reverse order: first move the axis, then join.",
                 unless([](const Plan& plan) { return plan.query_len > 1; },
                        "with one token there is nothing to mix up"),
                 merged_from("merged[t,c] = contexts[(t * Hc * Dv + c) / (Tq * Dv), (t * Hc * "
                             "Dv + c) % (Tq * Dv) / Dv, c % Dv]",
                             say("merged = {contexts}.reshape({shape})"))));
    list.push_back(with_fix(
        in_merge(
            "merge-bh-swapped", "A joint batch-and-head axis was taken apart as (H, B)",
            "samples receive heads of other samples",
            "What was joined as (batch, head) must be taken apart as (batch, head).",
            unless([](const Plan& plan) { return plan.batch > 1; }, "there is only one sample"),
            follows(heads_as_samples,
                    say("merged = {contexts}.reshape({context heads}, {B}, {Tq}, -1).transpose(0, "
                        "1).transpose(-3, -2).reshape({shape})",
                        "merged = {contexts}.reshape({context heads}, {B}, {Tq}, -1).swapaxes(0, "
                        "1).swapaxes(-3, -2).reshape({shape})"))),
        "context.view(B, H, T, D).transpose(1, 2).reshape(B, T, H * D)",
        "context.reshape(B, H, T, D).swapaxes(1, 2).reshape(B, T, H * D)"));
    list.push_back(in_merge(
        "merge-order=reversed", "Heads were merged last one first",
        "the output weight meets the features of other heads",
        "The output weight was trained on head 0 first.", nothing_more,
        merged_from("merged[t,c] = contexts[Hc - 1 - c / Dv, t, c % Dv]",
                    say("merged = {contexts}.flip(-3).transpose(-3, -2).reshape({shape})",
                        "merged = np.flip({contexts}, -3).swapaxes(-3, -2).reshape({shape})"))));
    list.push_back(in_merge(
        "merge-order=strided", "Heads were interleaved feature by feature",
        "neighbouring features belong to different heads",
        "A head's features stay together when heads are merged.",
        unless([](const Plan& plan) { return plan.value_dim > 1; },
               "with one feature a head there is no difference"),
        merged_from(
            "merged[t,c] = contexts[c % Hc, t, c / Hc]",
            say("merged = {contexts}.transpose(-3, -2).transpose(-2, -1).reshape({shape})",
                "merged = {contexts}.swapaxes(-3, -2).swapaxes(-2, -1).reshape({shape})"))));
    list.push_back(heads_reduced(
        "mean", "mean",
        say("merged = {contexts}.mean(dim=-3)", "merged = {contexts}.mean(axis=-3)")));
    list.push_back(heads_reduced(
        "sum", "sum", say("merged = {contexts}.sum(dim=-3)", "merged = {contexts}.sum(axis=-3)")));
    list.push_back(
        heads_reduced("maximum", "max",
                      say("merged = {contexts}.amax(dim=-3)", "merged = {contexts}.max(axis=-3)")));
}

}  // namespace attn

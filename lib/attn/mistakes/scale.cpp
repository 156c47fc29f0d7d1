#include <cmath>

#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

using Factor = std::function<ScaleFactor(const Plan&)>;

ScaleFactor divide_by(double number) { return {ScaleFactor::Operation::divide, number}; }

NotApplicable scale_not_applicable(Factor factor) {
    return first_of(
        {needs_scale, unless(
                          [factor](const Plan& plan) {
                              return std::abs(effect_of(factor(plan)) / effect_of(plan.scale) - 1) >
                                     1e-9;
                          },
                          "with these sizes it is the same factor")});
}

/// The scores by another rule; `factor` decides whether that shows.
Mistake scaled_by(std::string id, std::string title, std::string effect_text, std::string lesson,
                  Factor factor, std::string rule) {
    return entry(std::move(id), "scaled_scores", std::move(title), std::move(effect_text),
                 "scores = scores / math.sqrt(q.size(-1))",
                 "scores = scores / np.sqrt(q.shape[-1])", std::move(lesson), "",
                 scale_not_applicable(std::move(factor)), follows("scaled_scores[q,k] = " + rule));
}

double root(std::size_t size) { return std::sqrt(static_cast<double>(size)); }

void by_root_of_head_dim(Plan& plan) {
    plan.config.scale.by = ScaleChoice::By::head_dim;
    plan.scale = divide_by(root(plan.head_dim));
}

}  // namespace

void add_scale_mistakes(std::vector<Mistake>& list) {
    entry(list, "scale-multiplier", "scaled_scores",
          "The scores were divided by the root of head_dim, not by head_dim",
          "all scores are larger by that root, and the weights too sharp",
          "scores = scores * config.attention_multiplier", "scores = scores * (1 / head_dim)",
          "Models made with muP, such as Granite, divide by the width of a head itself.",
          "the root of head_dim",
          first_of({unless(
                        [](const Plan& plan) {
                            const double number =
                                plan.config.scale.number * static_cast<double>(plan.head_dim);
                            return plan.config.scale.by == ScaleChoice::By::number &&
                                   std::abs(number - 1) < 1e-6;
                        },
                        "the scale is not 1 / head-dim"),
                    unless([](const Plan& plan) { return plan.head_dim > 1; },
                           "the root of head-dim is 1")}),
          with_plan({"scaled_scores"}, by_root_of_head_dim));
    entry(list, "scale-pre-attn-scalar", "scaled_scores",
          "The scores were divided by the root of head_dim, not by the model's own number",
          "all scores are off by one factor, those of a token with itself too",
          "scores = scores * config.query_pre_attn_scalar ** -0.5",
          "scores = scores * query_pre_attn_scalar ** -0.5",
          "Gemma 2, Granite and muP models say in their configuration what scales the "
          "scores.",
          "the root of head_dim",
          first_of(
              {unless(
                   [](const Plan& plan) { return plan.config.scale.by == ScaleChoice::By::number; },
                   "the scale is no number of the model's own"),
               scale_not_applicable(
                   [](const Plan& plan) { return divide_by(root(plan.head_dim)); })}),
          with_plan({"scaled_scores"}, by_root_of_head_dim));
    entry(list, "scale-t5", "scores", "The scores of a model without scale were scaled",
          "scores are too small and the weights too flat",
          "scores = q @ k.transpose(-2, -1)  # T5: nothing divides them",
          "scores = q @ k.swapaxes(-2, -1)  # T5: nothing divides them",
          "T5 folds the scale into its weights: divide nothing.", "",
          unless([](const Plan& plan) { return !plan.scales(); }, "the scores are scaled here"),
          follows("scores[q,k] = scores[q,k] / sqrt(D)"));
    list.push_back(scaled_by(
        "scale-missing", "The scores were not scaled",
        "scores are too large by the missing factor and the weights too sharp",
        "The wider a head, the larger its dot products: divide by the root of its width.",
        [](const Plan&) { return divide_by(1); }, "scores[q,k]"));
    list.push_back(scaled_by(
        "scale-default-zero", "A scale of 0, which stands for none given, was used",
        "all scores are 0, and every query attends to all keys alike",
        "Where 0 or None asks for the default, ask for it in front of the product.",
        [](const Plan&) {
            return ScaleFactor{ScaleFactor::Operation::multiply, 0};
        },
        "scores[q,k] * 0"));
    list.push_back(scaled_by(
        "scale-dmodel", "The scores were divided by the root of the embedding width",
        "scores are too small and the weights too flat, by the root of the heads",
        "The width that counts is the one the dot product runs over: one head's.",
        [](const Plan& plan) { return divide_by(root(plan.embed_dim)); }, "scores[q,k] / sqrt(C)"));
    list.push_back(with_fix(
        scaled_by(
            "scale-twice", "The scores were scaled twice",
            "scores are too small by the factor once more, and the weights too flat",
            "Scale the query or the scores, or let the library do it: only one of them.",
            [](const Plan& plan) {
                return ScaleFactor{plan.scale.operation, plan.scale.number * plan.scale.number};
            },
            "scaled_scores[q,k] / scale"),
        "F.scaled_dot_product_attention(q, k, v, scale=1.0)  # q is scaled already",
        "scores = q @ k.swapaxes(-2, -1)  # q is scaled already"));
    list.push_back(scaled_by(
        "scale-multiplied", "The scores were multiplied where they should be divided",
        "scores are too large by the factor squared, and the weights nearly one-hot",
        "A power of -0.5 already says divide: multiply by it.",
        [](const Plan& plan) {
            return ScaleFactor{plan.scale.operation == ScaleFactor::Operation::divide
                                   ? ScaleFactor::Operation::multiply
                                   : ScaleFactor::Operation::divide,
                               plan.scale.number};
        },
        "scores[q,k] * scale"));
    list.push_back(scaled_by(
        "scale-num-heads", "The scores were divided by the root of the number of heads",
        "the factor does not know how long the dot products are",
        "What grows with the dot product is the number of features, not of heads.",
        [](const Plan& plan) { return divide_by(root(plan.heads)); }, "scores[q,k] / sqrt(H)"));
    list.push_back(scaled_by(
        "scale-seq-len", "The scores were divided by the root of the number of tokens",
        "the factor changes with the sentence instead of the model",
        "A longer sentence does not make its dot products larger.",
        [](const Plan& plan) { return divide_by(root(plan.key_len)); }, "scores[q,k] / sqrt(Tk)"));
    entry(list, "scale-after-softmax", "scaled_scores",
          "The weights were scaled instead of the scores",
          "every row sums to the factor instead of 1",
          "weights = F.softmax(scores / math.sqrt(d), dim=-1)",
          "weights = softmax(scores / np.sqrt(d))",
          "Softmax must come last, or its rows no longer sum to 1.", "",
          scale_not_applicable([](const Plan&) { return divide_by(1); }),
          all_of({follows("scaled_scores[q,k] = scores[q,k]"), follows([](const Plan& plan) {
                      return "weights[q,k] = weights[q,k]" + scale_rule(plan);
                  })}));
}

}  // namespace attn

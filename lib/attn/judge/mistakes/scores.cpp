#include <algorithm>
#include <cmath>

#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

/// Attention among the heads of each token.
TableEdit attend_across_heads() {
    const auto among_heads = [](const std::string& rule, const std::string& last = "") {
        const auto outline = [last](const Plan& plan) {
            Outline made{{"query", "head"}, {plan.query_len, plan.heads}};
            if (plan.has_batch) {
                made.axes.insert(made.axes.begin(), "batch");
                made.shape.insert(made.shape.begin(), plan.batch);
            }
            if (last.empty()) return made;
            made.axes.push_back(last);
            made.shape.push_back(last == "feature" ? plan.value_dim : plan.heads);
            return made;
        };
        return follows({.rule = rule, .outline = outline});
    };
    return all_of({among_heads("scores[q,h,k] = sum f: queries[h,q,f] * keys[k,q,f]", "key"),
                   among_heads("scaled_scores[h,k] = scores[h,k]{scale}", "key"),
                   among_heads("row_max[h] = max k: scores[h,k]"),
                   among_heads("exponentials[h,k] = exp(scores[h,k] - row_max[h])", "key"),
                   among_heads("row_sum[h] = sum k: exponentials[h,k]"),
                   among_heads("weights[h,k] = exp(scores[h,k] - (max i: scores[h,i])) / (sum j: "
                               "exp(scores[h,j] - (max n: scores[h,n])))",
                               "key"),
                   among_heads("context[q,h,f] = sum k: weights[q,h,k] * values[k,q,f]", "feature"),
                   follows("merged[t,c] = context[t, c / Dv, c % Dv]")});
}

/// x and memory exchanged, in the steps that read them.
TableEdit exchange_sources() {
    const auto x = [](const Plan& plan) { return plan.projected_x(); };
    return all_of({reads({"projected_query", "query"}, x, "memory"),
                   reads({"projected_key", "projected_value", "key", "value"}, "memory", x),
                   with_plan({}, [](Plan& plan) { std::swap(plan.query_len, plan.key_len); })});
}

bool has_merged_heads(const Plan& plan) {
    return plan.has_head && plan.merges && is_square(plan) && plan.context_heads() == plan.heads &&
           !walk_has(plan, "absorbed_query");
}

}  // namespace

void add_score_mistakes(std::vector<Mistake>& list) {
    const Fix product("scores = q @ k.transpose(-2, -1)");
    entry(list, "k-dot-k", "scores", "Keys were multiplied with keys",
          "the scores are symmetric, their diagonal holds squared lengths, the query is unused",
          product, "A symmetric score table is a sign that nobody asked a question.", needs_square,
          reads({"scores"}, "queries", "keys"), "keys for queries");
    entry(list, "q-dot-q", "scores", "Queries were multiplied with queries",
          "the scores are symmetric, their diagonal holds squared lengths, the key is unused",
          product, "Queries that meet queries never hear what the other tokens offer.",
          needs_square, reads({"scores"}, "keys", "queries"), "queries for keys");
    entry(list, "key-index-i", "scores", "The inner loop used the outer index for the key",
          "each row of scores is one number repeated, so attention is uniform over what it sees",
          Fix(product.torch, "score[i, j] = query[i] @ key[j]"),
          "When all cells of a row agree, look for an index that does not move.",
          {[](const Plan& plan) { return plan.query_len <= plan.key_len; },
           "there are fewer keys than queries: the index would run out"},
          follows("scores[q,k] = scores[q, 0 + q]"));
    entry(list, "scores-transposed", "scores", "The product was taken the other way round",
          "rows and columns are exchanged: each row belongs to a key",
          Fix("scores = q @ k.transpose(-2, -1)  # not k @ q.transpose(-2, -1)", product.numpy),
          "The one who asks owns the row.", needs_square, follows("scores[q,k] = scores[k,q]"),
          "key and query exchanged");
    entry(list, "cross-qk-swapped", "projected_query",
          "The query was taken from the memory, key and value from x",
          "the result has a row for each memory token",
          Fix("q = w_query(x); k, v = w_key(memory), w_value(memory)",
              "q = x @ w_query; k, v = memory @ w_key, memory @ w_value"),
          "In cross-attention the side that is being written asks, the other side answers.",
          {{[](const Plan& plan) { return plan.has_memory && plan.has_x(); },
            "there is no second source"},
           without_step("latent", "keys and values are made of a latent"),
           {[](const Plan& plan) { return plan.memory_dim == plan.embed_dim; },
            "x and memory differ in width: the weights would not fit"},
           {[](const Plan& plan) { return !plan.masks() || is_square(plan); },
            "the mask would not fit the scores, and the program would stop"},
           {[](const Plan& plan) { return !plan.rotates() || is_square(plan); },
            "the angles would not fit the query, and the program would stop"}},
          exchange_sources());
    entry(list, "transpose-wrong-axes", "scores", "Heads were never moved in front of the tokens",
          "each token compares its own heads with each other and sees no other token",
          Fix("q = q.transpose(1, 2)  # (B, H, T, D) before q @ k.transpose(-2, -1)",
              "q = q.swapaxes(1, 2)"),
          "The product works on the last two axes: tokens must be there.",
          {{has_merged_heads, "there are no merged heads over as many keys as queries"},
           needs_no_mask,
           {[](const Plan& plan) {
                return plan.heads == plan.query_len || (!plan.biases() && !walk_has(plan, "sink"));
            },
            "the bias or the sink of the heads would not fit, and the program would stop"}},
          attend_across_heads());
}

namespace {

using Factor = std::function<ScaleFactor(const Plan&)>;

ScaleFactor divide_by(double number) { return {ScaleFactor::Operation::divide, number}; }
double root(std::size_t size) { return std::sqrt(static_cast<double>(size)); }

Need other_scale_than(Factor factor) {
    return {needs_scale,
            {[factor](const Plan& plan) {
                 return std::abs(effect_of(factor(plan)) / effect_of(plan.scale) - 1) > 1e-9;
             },
             "with these sizes it is the same factor"}};
}

/// The scores by another rule; `factor` decides whether that shows.
void scaled_by(std::vector<Mistake>& list, const char* id, const char* title, const char* effect,
               const char* lesson, const std::string& rule, Factor factor,
               const Fix& fix = "scores = scores / math.sqrt(q.size(-1))") {
    entry(list, id, "scaled_scores", std::string("The scores were ") + title, effect, fix, lesson,
          other_scale_than(std::move(factor)), follows("scaled_scores[q,k] = " + rule));
}

ScaleFactor by_root_of_head_dim(const Plan& plan) { return divide_by(root(plan.head_dim)); }

void take_root_of_head_dim(Plan& plan) {
    plan.config.scale.by = ScaleChoice::By::head_dim;
    plan.scale = by_root_of_head_dim(plan);
}

bool scales_by_number(const Plan& plan) { return plan.config.scale.by == ScaleChoice::By::number; }

bool divides_by_head_dim(const Plan& plan) {
    const double number = plan.config.scale.number * static_cast<double>(plan.head_dim);
    return scales_by_number(plan) && std::abs(number - 1) < 1e-6;
}

}  // namespace

void add_scale_mistakes(std::vector<Mistake>& list) {
    entry(list, "scale-multiplier", "scaled_scores",
          "The scores were divided by the root of head_dim, not by head_dim",
          "all scores are larger by that root, and the weights too sharp",
          Fix("scores = scores * config.attention_multiplier", "scores = scores * (1 / head_dim)"),
          "Models made with muP, such as Granite, divide by the width of a head itself.",
          {{divides_by_head_dim, "the scale is not 1 / head-dim"},
           {[](const Plan& plan) { return plan.head_dim > 1; }, "the root of head-dim is 1"}},
          with_plan({"scaled_scores"}, take_root_of_head_dim), "the root of head_dim");
    entry(list, "scale-pre-attn-scalar", "scaled_scores",
          "The scores were divided by the root of head_dim, not by the model's own number",
          "all scores are off by one factor, those of a token with itself too",
          "scores = scores * config.query_pre_attn_scalar ** -0.5",
          "Gemma 2, Granite and muP models say in their configuration what scales the scores.",
          {{scales_by_number, "the scale is no number of the model's own"},
           other_scale_than(by_root_of_head_dim)},
          with_plan({"scaled_scores"}, take_root_of_head_dim), "the root of head_dim");
    entry(list, "scale-t5", "scores", "The scores of a model without scale were scaled",
          "scores are too small and the weights too flat",
          "scores = q @ k.transpose(-2, -1)  # T5: nothing divides them",
          "T5 folds the scale into its weights: divide nothing.",
          {[](const Plan& plan) { return !plan.scales(); }, "the scores are scaled here"},
          follows("scores[q,k] = scores[q,k] / sqrt(D)"));
    scaled_by(list, "scale-missing", "not scaled",
              "scores are too large by the missing factor and the weights too sharp",
              "The wider a head, the larger its dot products: divide by the root of its width.",
              "scores[q,k]", [](const Plan&) { return divide_by(1); });
    entry(list, "scale-default-zero", "scaled_scores",
          "A scale of 0, which stands for none given, was used",
          "all scores are 0, and every query attends to all keys alike",
          "scores = scores / math.sqrt(q.size(-1))",
          "Where 0 or None asks for the default, ask for it in front of the product.",
          other_scale_than([](const Plan&) {
              return ScaleFactor{ScaleFactor::Operation::multiply, 0};
          }),
          follows("scaled_scores[q,k] = scores[q,k] * 0"));
    scaled_by(list, "scale-dmodel", "divided by the root of the embedding width",
              "scores are too small and the weights too flat, by the root of the heads",
              "The width that counts is the one the dot product runs over: one head's.",
              "scores[q,k] / sqrt(C)",
              [](const Plan& plan) { return divide_by(root(plan.embed_dim)); });
    scaled_by(
        list, "scale-twice", "scaled twice",
        "scores are too small by the factor once more, and the weights too flat",
        "Scale the query or the scores, or let the library do it: only one of them.",
        "scaled_scores[q,k] / scale",
        [](const Plan& plan) {
            return ScaleFactor{plan.scale.operation, plan.scale.number * plan.scale.number};
        },
        "scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))  # once");
    scaled_by(list, "scale-multiplied", "multiplied where they should be divided",
              "scores are too large by the factor squared, and the weights nearly one-hot",
              "A power of -0.5 already says divide: multiply by it.", "scores[q,k] * scale",
              [](const Plan& plan) { return divide_by(effect_of(plan.scale)); });
    scaled_by(list, "scale-num-heads", "divided by the root of the number of heads",
              "the factor does not know how long the dot products are",
              "What grows with the dot product is the number of features, not of heads.",
              "scores[q,k] / sqrt(H)",
              [](const Plan& plan) { return divide_by(root(plan.heads)); });
    scaled_by(list, "scale-seq-len", "divided by the root of the number of tokens",
              "the factor changes with the sentence instead of the model",
              "A longer sentence does not make its dot products larger.", "scores[q,k] / sqrt(Tk)",
              [](const Plan& plan) { return divide_by(root(plan.key_len)); });
    entry(list, "scale-after-softmax", "scaled_scores",
          "The weights were scaled instead of the scores",
          "every row sums to the factor instead of 1",
          Fix("weights = F.softmax(scores / math.sqrt(d), dim=-1)",
              "weights = softmax(scores / np.sqrt(d))"),
          "Softmax must come last, or its rows no longer sum to 1.",
          other_scale_than([](const Plan&) { return divide_by(1); }),
          all_of({follows("scaled_scores[q,k] = scores[q,k]"),
                  follows("weights[q,k] = weights[q,k]{scale}")}));
}

}  // namespace attn

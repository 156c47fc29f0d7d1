#include <algorithm>

#include "attn/mistakes/change.hpp"

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

}  // namespace attn

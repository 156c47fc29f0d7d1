#include <algorithm>

#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

bool square(const Plan& plan) { return plan.query_len == plan.key_len; }

Axes tokens_before_heads(const Plan& plan) {
    return plan.has_batch ? Axes{"batch", "query", "head"} : Axes{"query", "head"};
}

/// Attention among the heads of each token.
TableEdit attend_across_heads() {
    const auto among_heads = [](std::string last) {
        return [last](const Plan& plan) -> Outline {
            Outline outline{tokens_before_heads(plan), {plan.query_len, plan.heads}};
            if (plan.has_batch) outline.shape.insert(outline.shape.begin(), plan.batch);
            if (last.empty()) return outline;
            outline.axes.push_back(last);
            outline.shape.push_back(last == "feature" ? plan.value_dim : plan.heads);
            return outline;
        };
    };
    const auto by_row = [&](const char* rule, const char* last) {
        return follows({rule, say("{right}"), among_heads(last),
                        [](const Plan& plan, const Ledger& ledger, const Compute& before) {
                            return before(plan, ledger);
                        }});
    };
    return all_of(
        {follows({"scores[q,h,k] = sum f: queries[h,q,f] * keys[k,q,f]",
                  say("scores = {queries}.transpose(-3, -2) @ {keys}.transpose(-3, "
                      "-2).transpose(-2, -1)",
                      "scores = {queries}.swapaxes(-3, -2) @ {keys}.swapaxes(-3, -2).swapaxes(-2, "
                      "-1)"),
                  among_heads("key")}),
         follows({[](const Plan& plan) {
                      return "scaled_scores[h,k] = scores[h,k]" + scale_rule(plan);
                  },
                  say("{right}"), among_heads("key")}),
         by_row("row_max[h] = max k: scores[h,k]", ""),
         by_row("exponentials[h,k] = exp(scores[h,k] - row_max[h])", "key"),
         by_row("row_sum[h] = sum k: exponentials[h,k]", ""),
         by_row("weights[h,k] = exponentials[h,k] / row_sum[h]", "key"),
         follows({"context[q,h,f] = sum k: weights[q,h,k] * values[k,q,f]",
                  say("context = weights @ {values}.transpose(-3, -2)",
                      "context = weights @ {values}.swapaxes(-3, -2)"),
                  among_heads("feature")}),
         follows("merged[t,c] = context[t, c / Dv, c % Dv]",
                 say("merged = context.reshape({shape})"))});
}

/// x and memory exchanged, in the steps that read them.
TableEdit exchange_sources() {
    const TableEdit swap = [](StepTable table, const Plan&) {
        for (Step& step : table) {
            if (std::ranges::count(projecting_steps(), step.name) == 0) continue;
            step.compute = [before = step.compute](const Plan& plan, const Ledger& ledger) {
                Ledger other = ledger;
                other.record(plan.projected_x(), ledger["memory"]);
                other.record("memory", ledger[plan.projected_x()]);
                return before(plan, other);
            };
            step.rule = nullptr;
        }
        return table;
    };
    return all_of({swap,
                   written(projecting_steps(),
                           [](const StepLines& of, const std::string& right) {
                               const std::string x = of.plan.projected_x();
                               const bool reads_either = std::ranges::any_of(
                                   of.step.reads(of.plan), [&](const Input& input) {
                                       return input.step == x || input.step == "memory";
                                   });
                               if (!reads_either) return right;
                               const std::string exchange = x + ", memory = memory, " + x + "\n";
                               return exchange + right + "\n" +
                                      exchange.substr(0, exchange.size() - 1);
                           }),
                   written_with_plan([](Plan& plan) { std::swap(plan.query_len, plan.key_len); })});
}

}  // namespace

void add_score_mistakes(std::vector<Mistake>& list) {
    entry(list, "k-dot-k", "scores", "Keys were multiplied with keys",
          "the scores are symmetric, their diagonal holds squared lengths, the query is "
          "unused",
          "scores = q @ k.transpose(-2, -1)", "scores = q @ k.swapaxes(-2, -1)",
          "A symmetric score table is a sign that nobody asked a question.", "keys for queries",
          needs_square,
          reads({"scores"}, "queries", "keys",
                say("scores = {keys} @ {keys}.transpose(-2, -1)",
                    "scores = {keys} @ {keys}.swapaxes(-2, -1)")));
    entry(list, "q-dot-q", "scores", "Queries were multiplied with queries",
          "the scores are symmetric, their diagonal holds squared lengths, the key is unused",
          "scores = q @ k.transpose(-2, -1)", "scores = q @ k.swapaxes(-2, -1)",
          "Queries that meet queries never hear what the other tokens offer.", "queries for keys",
          needs_square,
          reads({"scores"}, "keys", "queries",
                say("scores = {queries} @ {queries}.transpose(-2, -1)",
                    "scores = {queries} @ {queries}.swapaxes(-2, -1)")));
    entry(list, "key-index-i", "scores", "The inner loop used the outer index for the key",
          "each row of scores is one number repeated, so attention is uniform over what it "
          "sees",
          "scores = q @ k.transpose(-2, -1)", "score[i, j] = query[i] @ key[j]",
          "When all cells of a row agree, look for an index that does not move.", "",
          unless([](const Plan& plan) { return plan.query_len <= plan.key_len; },
                 "there are fewer keys than queries: the index would run out"),
          follows("scores[q,k] = scores[q, 0 + q]",
                  say("{right}\nscores = scores.diagonal(0, -2, -1)[..., None].expand({grid})",
                      "{right}\nscores = np.broadcast_to(scores.diagonal(0, -2, -1)[..., "
                      "None], ({grid}))")));
    entry(
        list, "scores-transposed", "scores", "The product was taken the other way round",
        "rows and columns are exchanged: each row belongs to a key",
        "scores = q @ k.transpose(-2, -1)  # not k @ q.transpose(-2, -1)",
        "scores = q @ k.swapaxes(-2, -1)", "The one who asks owns the row.",
        "key and query exchanged", needs_square,
        follows("scores[q,k] = scores[k,q]", say("scores = {keys} @ {queries}.transpose(-2, -1)",
                                                 "scores = {keys} @ {queries}.swapaxes(-2, -1)")));
    entry(list, "cross-qk-swapped", "projected_query",
          "The query was taken from the memory, key and value from x",
          "the result has a row for each memory token",
          "q = w_query(x); k, v = w_key(memory), "
          "w_value(memory)",
          "q = x @ w_query; k, v = memory @ w_key, memory @ w_value",
          "In cross-attention the side that is being written asks, the other side answers.", "",
          first_of({unless([](const Plan& plan) { return plan.has_memory && plan.has_x(); },
                           "there is no second source"),
                    unless([](const Plan& plan) { return !walk_has(plan, "latent"); },
                           "keys and values are made of a latent"),
                    unless([](const Plan& plan) { return plan.memory_dim == plan.embed_dim; },
                           "x and memory differ in width: the weights would not fit"),
                    unless([](const Plan& plan) { return !plan.masks() || square(plan); },
                           "the mask would not fit the scores, and the program would stop"),
                    unless([](const Plan& plan) { return !plan.rotates() || square(plan); },
                           "the angles would not fit the query, and the program would stop")}),
          exchange_sources());
    entry(list, "transpose-wrong-axes", "scores", "Heads were never moved in front of the tokens",
          "each token compares its own heads with each other and sees no other token",
          "q = q.transpose(1, 2)  # (B, H, T, D) before q @ k.transpose(-2, -1)",
          "q = q.swapaxes(1, 2)", "The product works on the last two axes: tokens must be there.",
          "",
          first_of({unless(
                        [](const Plan& plan) {
                            return plan.has_head && plan.merges && square(plan) &&
                                   plan.context_heads() == plan.heads &&
                                   !walk_has(plan, "absorbed_query");
                        },
                        "there are no merged heads over as many keys as queries"),
                    unless([](const Plan& plan) { return !plan.masks(); },
                           "the mask would not fit the scores, and the program would stop"),
                    unless(
                        [](const Plan& plan) {
                            return plan.heads == plan.query_len ||
                                   (!plan.biases() && !walk_has(plan, "sink"));
                        },
                        "the bias or the sink of the heads would not fit, and the program would "
                        "stop")}),
          attend_across_heads());
}

}  // namespace attn

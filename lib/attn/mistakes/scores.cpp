#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

bool square(const Plan& plan) { return plan.query_len == plan.key_len; }

/// The right scores with every cell read from another one.
template <class Place>
TableEdit read_from(Place place) {
    return replace_step(
        {"scores"}, [place](const Plan& plan, const Ledger& ledger, const Compute& before) {
            return rearranged(before(plan, ledger), [&](const GridCell& cell, const Grid&) {
                const auto [row, column] = place(cell.r, cell.c);
                return GridCell{cell.b, cell.h, row, column};
            });
        });
}

TableEdit one_for_both(Chain chain) {
    return with_ledger({"scores"}, [chain](Ledger& ledger, const Plan&) {
        const Tensor chosen = ledger.latest(chain);
        replace_latest(ledger, Chain::queries, chosen);
        replace_latest(ledger, Chain::keys, chosen);
    });
}

void exchange_sources(Ledger& ledger, const Plan& plan) {
    const Tensor x = ledger[plan.projected_x()];
    const Tensor memory = ledger["memory"];
    ledger.record(plan.projected_x(), memory);
    ledger.record("memory", x);
}

/// Reads (batch, head, token, feature) tensors with the head and token axes exchanged.
void put_tokens_before_heads(Ledger& ledger, const Plan&) {
    for (const Chain chain : {Chain::queries, Chain::keys, Chain::values}) {
        const Tensor& tensor = ledger.latest(chain);
        const std::size_t axes = tensor.dimension();
        replace_latest(ledger, chain, exchanged(tensor, axes - 3, axes - 2));
    }
}

Axes tokens_before_heads(const Plan& plan, const std::string& last) {
    return plan.has_batch ? Axes{"batch", "query", "head", last} : Axes{"query", "head", last};
}

StepEdit named(std::string last, LedgerEdit alter) {
    return [last = std::move(last), alter = std::move(alter)](
               const Plan& plan, const Ledger& ledger, const Compute& before) -> Tensor {
        Ledger other = ledger;
        alter(other, plan);
        return {tokens_before_heads(plan, last), before(plan, other).values()};
    };
}

/// The lines of whatever multiplies x or memory, with one in the place of the other.
std::vector<WrongLines> other_source() {
    std::vector<WrongLines> lines;
    for (const std::string& step : projecting_steps()) {
        const auto exchanged_names = [](const StepLines& of, const std::string& right) {
            const std::string x = of.plan.projected_x();
            const std::string marked = replaced("\\b" + x + "\\b", "OTHER")(of, right);
            const std::string half = replaced("\\bmemory\\b", x)(of, marked);
            return replaced("OTHER", "memory")(of, half);
        };
        lines.push_back({step, exchanged_names});
    }
    return lines;
}

/// Attention among the heads of each token.
TableEdit attend_across_heads() {
    return all_of(
        {replace_step({"scores"}, named("key", put_tokens_before_heads)),
         replace_step({"scaled_scores"}, named("key", [](Ledger&, const Plan&) {})),
         replace_step({"context"}, named("feature", put_tokens_before_heads)),
         replace_step({"merged"}, [](const Plan& plan, const Ledger& ledger, const Compute&) {
             return reshaped(ledger["context"], plan.per_batch_axes("query", "feature"),
                             plan.per_batch_shape(plan.query_len, plan.heads * plan.value_dim));
         })});
}

}  // namespace

void add_score_mistakes(std::vector<Mistake>& list) {
    const auto pair = [](std::size_t a, std::size_t b) { return std::pair(a, b); };
    add(list,
        {
            {"k-dot-k",
             "scores",
             "Keys were multiplied with keys",
             "the scores are symmetric, their diagonal holds squared lengths, the query is unused",
             "scores = q @ k.transpose(-2, -1)",
             "scores = q @ k.swapaxes(-2, -1)",
             "A symmetric score table is a sign that nobody asked a question.",
             "keys for queries",
             needs_square,
             one_for_both(Chain::keys),
             {{"scores", say("scores = {keys} @ {keys}.transpose(-2, -1)"),
               formula("scores = key @ key^T")}}},
            {"q-dot-q",
             "scores",
             "Queries were multiplied with queries",
             "the scores are symmetric, their diagonal holds squared lengths, the key is unused",
             "scores = q @ k.transpose(-2, -1)",
             "scores = q @ k.swapaxes(-2, -1)",
             "Queries that meet queries never hear what the other tokens offer.",
             "queries for keys",
             needs_square,
             one_for_both(Chain::queries),
             {{"scores", say("scores = {queries} @ {queries}.transpose(-2, -1)"),
               formula("scores = query @ query^T")}}},
            {"key-index-i",
             "scores",
             "The inner loop used the outer index for the key",
             "each row of scores is one number repeated, so attention is uniform over what it sees",
             "scores = q @ k.transpose(-2, -1)",
             "score[i, j] = query[i] @ key[j]",
             "When all cells of a row agree, look for an index that does not move.",
             "",
             unless([](const Plan& plan) { return plan.query_len <= plan.key_len; },
                    "there are fewer keys than queries: the index would run out"),
             read_from([pair](std::size_t q, std::size_t) { return pair(q, q); }),
             {{"scores",
               say("{right}\nscores = scores.diagonal(0, -2, -1)[..., None].expand({grid})",
                   "{right}\nscores = np.repeat(scores.diagonal(0, -2, -1)[..., None], {Tk}, "
                   "axis=-1)"),
               formula("scores(q, k) = query(q) . key(q)")}}},
            {"scores-transposed",
             "scores",
             "The product was taken the other way round",
             "rows and columns are exchanged: each row belongs to a key",
             "scores = q @ k.transpose(-2, -1)  # not k @ q.transpose(-2, -1)",
             "scores = q @ k.swapaxes(-2, -1)",
             "The one who asks owns the row.",
             "key and query exchanged",
             needs_square,
             read_from([pair](std::size_t q, std::size_t k) { return pair(k, q); }),
             {{"scores", say("scores = {keys} @ {queries}.transpose(-2, -1)"),
               formula("scores = key @ query^T")}}},
            {"cross-qk-swapped", "projected_query",
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
             all_of({with_ledger(projecting_steps(), exchange_sources),
                     written_with_plan(
                         {}, [](Plan& plan) { std::swap(plan.query_len, plan.key_len); })}),
             other_source()},
            {"transpose-wrong-axes",
             "scores",
             "Heads were never moved in front of the tokens",
             "each token compares its own heads with each other and sees no other token",
             "q = q.transpose(1, 2)  # (B, H, T, D) before q @ k.transpose(-2, -1)",
             "q = q.swapaxes(1, 2)",
             "The product works on the last two axes: tokens must be there.",
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
             attend_across_heads(),
             {{"scores",
               say("scores = {queries}.transpose(-3, -2) @ {keys}.transpose(-3, -2).transpose(-2, "
                   "-1)"),
               formula("scores(t) = query(t) @ key(t)^T, head by head")},
              {"context", say("context = weights @ {values}.transpose(-3, -2)"),
               formula("context(t) = weights(t) @ value(t)")},
              {"merged", say("merged = context.reshape({shape})"),
               formula("merged(t) = context(t), one head after the other")}}},
        });
}

}  // namespace attn

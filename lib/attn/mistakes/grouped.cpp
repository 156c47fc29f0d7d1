#include <cmath>

#include "attn/codegen/literal.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/rotation.hpp"
#include "attn/plan/projected.hpp"
#include "attn/text/told.hpp"

namespace attn {
namespace {

bool repeats(const Plan& plan) {
    return plan.value_heads() == plan.kv_heads && walk_has(plan, "repeated_key");
}

/// Which head of keys and values a head of queries reads.
using ReadHead = std::function<std::size_t(const Plan& plan, std::size_t head)>;

/// Repeats the heads by another rule.
TableEdit repeated_by(ReadHead read) {
    const auto edit = [&](const char* step, Chain chain) {
        return replace_step(
            {step}, [step, chain, read](const Plan& plan, const Ledger& ledger, const Compute&) {
                const Tensor& shared = ledger.latest(chain, step);
                const Grid grid = grid_of(shared);
                Grid repeated(grid.batch, plan.heads, grid.rows, grid.columns);
                repeated.fill([&](std::size_t b, std::size_t h, std::size_t t, std::size_t f) {
                    return grid.at(b, read(plan, h), t, f);
                });
                return tensor_of(repeated, shared.axes(), plan.compute_dtype);
            });
    };
    return all_of({edit("repeated_key", Chain::keys), edit("repeated_value", Chain::values)});
}

/// `repeated_key = key[..., INDEX, :, :]`, with the list of heads as an expression of both.
std::vector<WrongLines> repeated_lines(const std::function<std::string(const Plan&)>& index) {
    std::vector<WrongLines> lines;
    for (const auto& [step, chain] :
         {std::pair("repeated_key", Chain::keys), {"repeated_value", Chain::values}}) {
        lines.push_back({step, [step = std::string(step), chain, index](const StepLines& of,
                                                                        const std::string&) {
                             return step + " = " + of.latest(chain) + "[..., " + of.module() +
                                    ".arange(" + std::to_string(of.plan.heads) + ") " +
                                    index(of.plan) + ", :, :]";
                         }});
    }
    return lines;
}

/// The feature of qkv that stands where the right one is, when qkv is read group by group: the
/// queries of a key head, its key, its value.
std::size_t group_feature(const Plan& plan, const Projected& part, std::size_t feature) {
    const std::size_t times = plan.queries_per_key();
    const std::size_t group = (times + 1) * plan.head_dim + plan.value_dim;
    const std::size_t head = feature / part.width(plan);
    const std::size_t inside = feature % part.width(plan);
    if (part.number == 0) return head / times * group + head % times * plan.head_dim + inside;
    return head * group + (times + part.number - 1) * plan.head_dim + inside;
}

void read_by_groups(Ledger& ledger, const Plan& plan) {
    const Tensor right = ledger["qkv"];
    const Grid grid = grid_of(right);
    Grid wrong = grid;
    for (const Projected& part : query_key_value()) {
        const std::vector<std::size_t> features = plan.fused_features(part.number);
        for (std::size_t i = 0; i < features.size(); ++i) {
            const std::size_t from = group_feature(plan, part, i);
            for (std::size_t b = 0; b < grid.batch; ++b) {
                for (std::size_t t = 0; t < grid.rows; ++t) {
                    wrong.at(b, 0, t, features[i]) = grid.at(b, 0, t, from);
                }
            }
        }
    }
    ledger.record("qkv", tensor_of(wrong, right.axes(), plan.compute_dtype));
}

std::vector<WrongLines> group_lines() {
    std::vector<WrongLines> lines;
    for (const Projected& part : query_key_value()) {
        lines.push_back({part.name, [part](const StepLines& of, const std::string&) {
                             const Plan& plan = of.plan;
                             const std::size_t times = plan.queries_per_key();
                             const std::size_t first =
                                 part.number == 0 ? 0 : (times + part.number - 1) * plan.head_dim;
                             const std::size_t count =
                                 part.number == 0 ? times * plan.head_dim : part.width(plan);
                             Shape groups = plan.per_batch_shape(plan.query_len, plan.kv_heads);
                             groups.push_back((times + 1) * plan.head_dim + plan.value_dim);
                             Shape heads = plan.per_batch_shape(plan.query_len, part.heads(plan));
                             heads.push_back(part.width(plan));
                             return part.name + " = " +
                                    of.swapped("qkv.reshape(" + size_list(groups) + ")[..., " +
                                                   slice_text(first, count) + "].reshape(" +
                                                   size_list(heads) + ")",
                                               "-3, -2");
                         }});
    }
    return lines;
}

/// Merges the heads with the place inside its group as the slow index.
Tensor merge_by_groups(const Plan& plan, const Ledger& ledger, const Compute& before) {
    return rearranged(before(plan, ledger), [&](GridCell cell, const Grid&) {
        const std::size_t place = cell.c / plan.value_dim;
        const std::size_t head =
            place % plan.kv_heads * plan.queries_per_key() + place / plan.kv_heads;
        cell.c = head * plan.value_dim + cell.c % plan.value_dim;
        return cell;
    });
}

std::string merged_by_groups_lines(const StepLines& of, const std::string&) {
    const Plan& plan = of.plan;
    Shape groups = plan.per_batch_shape(plan.kv_heads, plan.queries_per_key());
    groups.push_back(plan.query_len);
    groups.push_back(plan.value_dim);
    const std::string heads =
        of.swapped(of.latest(Chain::contexts) + ".reshape(" + size_list(groups) + ")", "-4, -3");
    return "merged = " +
           of.swapped(heads + ".reshape(" +
                          size_list(plan.per_head_shape(plan.query_len, plan.value_dim)) + ")",
                      "-3, -2") +
           ".reshape(" +
           size_list(plan.per_batch_shape(plan.query_len, plan.heads * plan.value_dim)) + ")";
}

/// Every key head's tokens several times in a row; the kernel shares the heads by itself.
TableEdit repeated_along_tokens() {
    const auto edit = [](const char* step, Chain chain) {
        return replace_step(
            {step}, [step, chain](const Plan& plan, const Ledger& ledger, const Compute&) {
                const Tensor& shared = ledger.latest(chain, step);
                const Grid grid = grid_of(shared);
                const std::size_t times = plan.queries_per_key();
                Grid repeated(grid.batch, plan.heads, grid.rows * times, grid.columns);
                repeated.fill([&](std::size_t b, std::size_t h, std::size_t t, std::size_t f) {
                    return grid.at(b, h / times, t / times, f);
                });
                return tensor_of(repeated, shared.axes(), plan.compute_dtype);
            });
    };
    return all_of(
        {edit("repeated_key", Chain::keys), edit("repeated_value", Chain::values),
         with_plan({"scores", "scaled_scores", "capped_scores", "mask", "masked_scores", "row_max",
                    "exponentials", "row_sum", "weights", "sink_weight", "context"},
                   [](Plan& plan) {
                       plan.key_len *= plan.queries_per_key();
                       plan.config.causal_align = CausalAlign::end;
                   })});
}

std::vector<WrongLines> repeated_along_tokens_lines() {
    std::vector<WrongLines> lines;
    for (const auto& [step, chain] :
         {std::pair("repeated_key", Chain::keys), {"repeated_value", Chain::values}}) {
        lines.push_back(
            {step,
             [step = std::string(step), chain](const StepLines& of, const std::string& right) {
                 const std::string times = std::to_string(of.plan.queries_per_key());
                 return right + "\n" + step + " = " +
                        (of.torch() ? step + ".repeat_interleave(" + times + ", dim=-2)"
                                    : "np.repeat(" + step + ", " + times + ", axis=-2)");
             },
             formula("{right}, each token several times")});
    }
    return lines;
}

bool masks_causally_or_not(const Plan& plan) {
    const MaskChoice& mask = plan.config.mask;
    return !mask.padding && !mask.window && !mask.chunk && !mask.prefix && mask.documents.empty() &&
           !mask.given;
}

/// The features of a key block by block of another width: where each comes from, when the rows of
/// its weight were rearranged for halves with the number of query heads in the place of key heads.
std::vector<std::size_t> rearranged_for_query_heads(const Plan& plan) {
    const std::size_t width = plan.head_dim;
    const std::size_t block = plan.kv_heads * width / plan.heads;
    std::vector<std::size_t> from(plan.kv_heads * width);
    for (std::size_t i = 0; i < from.size(); ++i) {
        const std::size_t place = i % block;
        // Neighbours of the file that become the two halves of a block ...
        const std::size_t pair = place % (block / 2);
        const std::size_t stored = i - place + 2 * pair + place / (block / 2);
        // ... are the two halves of a head where that was done rightly.
        const std::size_t right = stored % width;
        from[i] = stored - right + right / 2 + right % 2 * (width / 2);
    }
    return from;
}

/// The step that holds the projected keys: with their heads apart already, or not.
bool is_split_later(const StepTable& table, const Plan& plan) {
    return find_step(table, "projected_key").applies(plan);
}

TableEdit key_rearranged() {
    return [](StepTable table, const Plan& plan) {
        const std::string step = is_split_later(table, plan) ? "projected_key" : "key";
        return replace_step(
            {step}, [](const Plan& of, const Ledger& ledger, const Compute& before) {
                const std::vector<std::size_t> from = rearranged_for_query_heads(of);
                return rearranged(before(of, ledger), [&from](GridCell cell, const Grid& grid) {
                    const std::size_t feature = from[cell.h * grid.columns + cell.c];
                    cell.h = feature / grid.columns;
                    cell.c = feature % grid.columns;
                    return cell;
                });
            })(std::move(table), plan);
    };
}

std::vector<WrongLines> key_rearranged_lines() {
    const auto list = [](const Plan& plan) {
        Shape from;
        for (const std::size_t feature : rearranged_for_query_heads(plan)) from.push_back(feature);
        return "[" + size_list(from) + "]";
    };
    const auto flat = [list](const StepLines& of, const std::string& right) {
        return right + "\nprojected_key = projected_key[..., " + list(of.plan) + "]";
    };
    const auto split = [list](const StepLines& of, const std::string& right) {
        const Plan& plan = of.plan;
        if (is_split_later(of.table, plan)) return right;
        Shape tokens = plan.per_batch_shape(plan.new_keys(), plan.kv_heads * plan.head_dim);
        Shape heads = plan.per_batch_shape(plan.new_keys(), plan.kv_heads);
        heads.push_back(plan.head_dim);
        return right + "\nkey = " +
               of.swapped(of.swapped("key", "-3, -2") + ".reshape(" + size_list(tokens) +
                              ")[..., " + list(plan) + "].reshape(" + size_list(heads) + ")",
                          "-3, -2");
    };
    return {{"projected_key", flat, formula("{right}, rearranged for the heads of the queries")},
            {"key", split, formula("{right}")}};
}

void take_width_from_embedding(Plan& plan) {
    plan.head_dim = plan.embed_dim / plan.heads;
    plan.scale = {ScaleFactor::Operation::divide, std::sqrt(static_cast<double>(plan.head_dim))};
}

}  // namespace

void add_grouped_mistakes(std::vector<Mistake>& list) {
    const NotApplicable grouped =
        unless(repeats, "there are as many key heads as query heads: pass $kv-heads"_told);
    const NotApplicable several =
        unless([](const Plan& plan) { return plan.kv_heads > 1; }, "there is one key head");
    add(list,
        {
            {"gqa-tile", "repeated_key", "The key heads were tiled instead of repeated",
             "head h reads key head h % kv_heads; only the heads where that is h / group are right",
             "key = key.repeat_interleave(H // K, dim=1)  # not key.repeat(1, H // K, 1, 1)",
             "key = np.repeat(key, H // K, axis=1)  # not np.tile",
             "Neighbouring query heads share a key head; test with neither 1 nor H key heads.", "",
             first_of({grouped, several}),
             repeated_by([](const Plan& plan, std::size_t head) { return head % plan.kv_heads; }),
             repeated_lines([](const Plan& plan) { return "% " + std::to_string(plan.kv_heads); })},
            {"gqa-group-size", "repeated_key",
             "The number of key heads was taken for the size of a group",
             "only the first key heads are ever read",
             "kv_head = h // (H // K)  # the group size, not K",
             "kv_head = h // (H // K)  # the group size, not K",
             "num_key_value_groups of Hugging Face is H / K, num_kv_groups elsewhere is K: print "
             "both.",
             "",
             first_of(
                 {grouped,
                  unless([](const Plan& plan) { return plan.queries_per_key() < plan.kv_heads; },
                         "the size of a group is not below the number of key heads: the "
                         "result is the same, or the program stops")}),
             repeated_by([](const Plan& plan, std::size_t head) { return head / plan.kv_heads; }),
             repeated_lines(
                 [](const Plan& plan) { return "// " + std::to_string(plan.kv_heads); })},
            {"gqa-repeat-axis", "repeated_key", "Tokens were repeated instead of heads",
             "every key stands there several times in a row, and a causal mask falls between them",
             "key = key.repeat_interleave(H // K, dim=1)  # (B, K, T, D): the axis of the heads",
             "key = np.repeat(key, H // K, axis=1)  # (B, K, T, D): the axis of the heads",
             "A kernel that shares heads by itself takes K of them, and more tokens do not stop "
             "it.",
             "",
             first_of({grouped,
                       unless([](const Plan& plan) { return !plan.biases(); },
                              "the bias would not fit, and the program would stop"),
                       unless(masks_causally_or_not,
                              "the mask would not fit, and the program would stop")}),
             repeated_along_tokens(), repeated_along_tokens_lines()},
            {"rope-permute-heads", "projected_key",
             "The key's weight was rearranged for as many heads as the query has",
             "queries are right, and the rows of the keys are mixed across heads",
             "w_key = permute(w_key, n_heads=K)  # not H", "w_key = permute(w_key, n_heads=K)",
             "A conversion that rearranges rows head by head needs the heads of that very weight.",
             "",
             first_of({grouped,
                       rope_and(
                           [](const Plan& plan) {
                               return plan.config.rotary.pairing == Pairing::half &&
                                      !is_partial(plan);
                           },
                           "the pairs are neighbours, as in the file, or a part of the head stays"),
                       unless(
                           [](const Plan& plan) {
                               return projects_x(plan) && plan.head_dim > 2 &&
                                      plan.head_dim % (2 * plan.queries_per_key()) == 0;
                           },
                           "a key head cannot be cut into as many even parts as it has queries")}),
             key_rearranged(), key_rearranged_lines()},
            {"gqa-fused-split", "query", "A weight of query, key and value was cut group by group",
             "the first query head is right, what follows comes from other heads and parts",
             "q, k, v = qkv.split([H * D, K * D, K * D], dim=-1)",
             "q, k, v = np.split(qkv, [H * D, (H + K) * D], axis=-1)",
             "Phi-3 stores all queries, then all keys, then all values; Falcon and InternLM2 store "
             "group by group.",
             "",
             first_of(
                 {grouped, several,
                  unless([](const Plan& plan) { return plan.one_weight() && !plan.has_memory; },
                         "query, key and value have weights of their own")}),
             with_ledger(head_steps(), read_by_groups), group_lines()},
            {"gqa-o-proj-order",
             "merged",
             "Heads were merged with the groups exchanged",
             "the merged columns are right in blocks, and in the wrong order",
             "merged = context.transpose(1, 2).reshape(B, T, H * D)",
             "merged = context.swapaxes(1, 2).reshape(B, T, H * D)",
             "Head h is key head h / group and place h % group: the key head is the slow index.",
             "",
             first_of({grouped, several,
                       unless([](const Plan& plan) { return plan.has_head && plan.merges; },
                              "no heads are merged")}),
             replace_step({"merged"}, merge_by_groups),
             {{"merged", merged_by_groups_lines}}},
            {"head-dim-derived", "scaled_scores",
             "The width of a head was taken to be embed-dim / heads",
             "all scores are off by one factor",
             "head_dim = config.head_dim  # not hidden_size // num_heads",
             "head_dim = w_query.shape[0] // heads",
             "Since Qwen3 and Gemma a head may be wider than its share of the embedding: read it.",
             "",
             first_of({unless(
                           [](const Plan& plan) {
                               return plan.config.scale.by == ScaleChoice::By::head_dim &&
                                      plan.has_x() && !walk_has(plan, "latent");
                           },
                           "the scores are not scaled by head-dim"),
                       unless(
                           [](const Plan& plan) {
                               return plan.heads > 1 && plan.embed_dim >= plan.heads &&
                                      plan.embed_dim / plan.heads != plan.head_dim;
                           },
                           "embed-dim / heads is the width of a head here, or there is one head")}),
             with_plan({"scaled_scores"}, take_width_from_embedding)},
        });
}

}  // namespace attn

#include <algorithm>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/projected.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

// Heads that are split in another way, and heads that share keys.

/// Query, key and value with their heads taken from other places of what they were split from, of
/// which each sample has `{heads} * {width}` features a token and `{tokens}`: `at` is the place of
/// (h, t, f).
TableEdit split_as(const std::string& at) {
    return for_each_step(head_steps, [=](const std::string& step) {
        return follows([=](const Plan& plan) {
            const Projected& part = projected_of(step.front());
            const std::size_t tokens = step == "query" ? plan.query_len : plan.new_keys();
            const std::string text =
                step + "[h,t,f] = " + step +
                "[({at}) % ({heads} * {width}) / {width}, ({at}) / ({heads} * {width}), ({at}) % "
                "{width}]";
            return filled(filled(text, {{"at", at}}), {{"heads", std::to_string(part.heads(plan))},
                                                       {"width", std::to_string(part.width(plan))},
                                                       {"tokens", std::to_string(tokens)}});
        });
    });
}

const Need splits{[](const Plan& plan) {
                      return plan.heads > 1 && !plan.head_axis_on_weight() && plan.has_x() &&
                             !walk_has(plan, "latent");
                  },
                  "nothing is split into heads"};

/// Repeats the heads by another rule: `head` is that of the keys for head h.
TableEdit repeated_by(const std::string& head) {
    return all_of({follows("repeated_key[h,t,f] = keys[" + head + ", t, f]"),
                   follows("repeated_value[h,t,f] = values[" + head + ", t, f]")});
}

/// Query, key and value cut out of qkv group by group: the queries of a key head, its key, its
/// value.
TableEdit read_by_groups() {
    const std::string group = "((group + 1) * D + Dv)";
    return all_of({follows("query[h,t,f] = qkv[t, h / group * " + group + " + h % group * D + f]"),
                   follows("key[h,t,f] = qkv[t, h * " + group + " + group * D + f]"),
                   follows("value[h,t,f] = qkv[t, h * " + group + " + (group + 1) * D + f]")});
}

/// Every key head's tokens several times in a row; the kernel shares the heads by itself.
TableEdit repeated_along_tokens() {
    const auto edit = [](const std::string& step, const std::string& chain) {
        return follows({.rule = step + "[h,k,f] = " + chain + "[h / group, k / group, f]",
                        .outline = [step](const Plan& plan) {
                            Outline outline = find_step(step_table(), step).outline(plan);
                            outline.shape[outline.shape.size() - 2] *= plan.queries_per_key();
                            return outline;
                        }});
    };
    return all_of(
        {edit("repeated_key", "keys"), edit("repeated_value", "values"),
         with_plan({"scores", "scaled_scores", "capped_scores", "mask", "masked_scores", "row_max",
                    "exponentials", "row_sum", "weights", "sink_weight", "context"},
                   [](Plan& plan) {
                       plan.key_len *= plan.queries_per_key();
                       plan.config.causal_align = CausalAlign::end;
                   })});
}

bool masks_causally_or_not(const Plan& plan) {
    return std::ranges::none_of(mask_kinds(), [&](const MaskKind& kind) {
        return kind.chosen(plan.config.mask) && !kind.fits_any_length;
    });
}

/// Keys whose features are where they would be when the rows of their weight were rearranged for
/// halves with the number of query heads in the place of key heads.
std::string rearranged_for_query_heads(const Plan& plan) {
    const bool is_split = !walk_has(plan, "projected_key");
    const std::string half = std::to_string(plan.kv_heads * plan.head_dim / plan.heads / 2);
    // Neighbours of the file that become the two halves of a block are, where that was done
    // rightly, the two halves of a head.
    const std::string stored =
        filled("({at} - {at} % {block} + 2 * ({at} % {block} % {half}) + {at} % {block} / {half})",
               {{"at", is_split ? "(h * D + f)" : "c"},
                {"block", std::to_string(plan.kv_heads * plan.head_dim / plan.heads)},
                {"half", half}});
    const std::string from =
        filled("({stored} - {stored} % D + {stored} % D / 2 + {stored} % D % 2 * (D / 2))",
               {{"stored", stored}});
    return is_split ? "key[h,t,f] = key[" + from + " / D, t, " + from + " % D]"
                    : "projected_key[t,c] = projected_key[t, " + from + "]";
}

bool cuts_into_even_parts(const Plan& plan) {
    return projects_x(plan) && plan.head_dim > 2 &&
           plan.head_dim % (2 * plan.queries_per_key()) == 0;
}

bool scales_by_head_dim(const Plan& plan) {
    return plan.config.scale.by == ScaleChoice::By::head_dim && plan.has_x() &&
           !walk_has(plan, "latent");
}

void take_width_from_embedding(Plan& plan) {
    plan.head_dim = plan.embed_dim / plan.heads;
    plan.scale = {ScaleFactor::Operation::divide, std::sqrt(static_cast<double>(plan.head_dim))};
}

}  // namespace

void add_grouped_mistakes(std::vector<Mistake>& list) {
    const Need grouped{[](const Plan& plan) {
                           return plan.value_heads() == plan.kv_heads &&
                                  walk_has(plan, "repeated_key");
                       },
                       "there are as many key heads as query heads: pass $kv-heads"};
    const Need several{[](const Plan& plan) { return plan.kv_heads > 1; }, "there is one key head"};
    entry(list, "split-view", "query", "The projection was viewed as (B, H, T, D) directly",
          "a head's tokens are pieces of one or two true tokens, and causal masks leak",
          "q = q.view(B, T, H, D).transpose(1, 2)",
          "A view re-reads memory in order; only a transpose moves an axis.",
          {splits,
           {[](const Plan& plan) { return plan.query_len > 1 || plan.key_len > 1; },
            "with one token both shapes read memory alike"}},
          split_as("(h * {tokens} + t) * {width} + f"));
    entry(list, "split-view=both", "query", "The heads were split and merged by views alone",
          "a head's tokens are pieces of one or two true tokens, and come back where they were",
          "q = q.view(B, T, H, D).transpose(1, 2)  # and context.transpose(1, 2) before the last "
          "view",
          "A view re-reads memory in order; only a transpose moves an axis.",
          {splits,
           {[](const Plan& plan) { return plan.merges && plan.query_len > 1; },
            "with one token both shapes read memory alike"}},
          all_of({split_as("(h * {tokens} + t) * {width} + f"), follows(merged_as_it_lies)}));
    entry(list, "split-strided", "query", "Features were dealt out to the heads in turn",
          "head h holds features h, h + H, h + 2 H, ... instead of neighbours",
          Fix("q = q.view(B, T, H, D)  # not view(B, T, D, H)",
              "q = q.reshape(B, T, H, D)  # not reshape(B, T, D, H)"),
          "A head is a run of neighbouring features; the weights were trained that way.",
          {splits,
           {[](const Plan& plan) { return plan.head_dim > 1 || plan.value_dim > 1; },
            "with one feature a head there is no difference"}},
          split_as("(t * {width} + f) * {heads} + h"));
    entry(list, "gqa-tile", "repeated_key", "The key heads were tiled instead of repeated",
          "head h reads key head h % kv_heads; only the heads where that is h / group are right",
          Fix("key = key.repeat_interleave(H // K, dim=1)  # not key.repeat(1, H // K, 1, 1)",
              "key = np.repeat(key, H // K, axis=1)  # not np.tile"),
          "Neighbouring query heads share a key head; test with neither 1 nor H key heads.",
          {grouped, several}, repeated_by("h % G"));
    entry(
        list, "gqa-group-size", "repeated_key",
        "The number of key heads was taken for the size of a group",
        "only the first key heads are ever read",
        "kv_head = h // (H // K)  # the group size, not K",
        "num_key_value_groups of Hugging Face is H / K, num_kv_groups elsewhere is K: print both.",
        {grouped,
         {[](const Plan& plan) { return plan.queries_per_key() < plan.kv_heads; },
          "the size of a group is not below the number of key heads: the result is the same, or "
          "the program stops"}},
        repeated_by("h / G"));
    entry(list, "gqa-repeat-axis", "repeated_key", "Tokens were repeated instead of heads",
          "every key stands there several times in a row, and a causal mask falls between them",
          Fix("key = key.repeat_interleave(H // K, dim=1)  # (B, K, T, D): the axis of the heads",
              "key = np.repeat(key, H // K, axis=1)  # (B, K, T, D): the axis of the heads"),
          "A kernel that shares heads by itself takes K of them, and more tokens do not stop it.",
          {grouped,
           {[](const Plan& plan) { return !plan.biases(); },
            "the bias would not fit, and the program would stop"},
           {masks_causally_or_not, "the mask would not fit, and the program would stop"}},
          repeated_along_tokens());
    entry(list, "rope-permute-heads", "projected_key",
          "The key's weight was rearranged for as many heads as the query has",
          "queries are right, and the rows of the keys are mixed across heads",
          Fix("w_key = permute(w_key, n_heads=K)  # not H", "w_key = permute(w_key, n_heads=K)"),
          "A conversion that rearranges rows head by head needs the heads of that very weight.",
          {grouped,
           needs_rope,
           {[](const Plan& plan) {
                return plan.config.rotary.pairing == Pairing::half && !is_partial(plan);
            },
            "the pairs are neighbours, as in the file, or a part of the head stays"},
           {cuts_into_even_parts,
            "a key head cannot be cut into as many even parts as it has queries"}},
          follows(rearranged_for_query_heads));
    entry(list, "gqa-fused-split", "query",
          "A weight of query, key and value was cut group by group",
          "the first query head is right, what follows comes from other heads and parts",
          Fix("q, k, v = qkv.split([H * D, K * D, K * D], dim=-1)",
              "q, k, v = np.split(qkv, [H * D, (H + K) * D], axis=-1)"),
          "Phi-3 stores all queries, then all keys, then all values; Falcon and InternLM2 store "
          "group by group.",
          {grouped,
           several,
           {[](const Plan& plan) { return plan.one_weight() && !plan.has_memory; },
            "query, key and value have weights of their own"}},
          read_by_groups());
    entry(list, "gqa-o-proj-order", "merged", "Heads were merged with the groups exchanged",
          "the merged columns are right in blocks, and in the wrong order",
          "merged = context.transpose(1, 2).reshape(B, T, H * D)",
          "Head h is key head h / group and place h % group: the key head is the slow index.",
          {grouped,
           several,
           {[](const Plan& plan) { return plan.has_head && plan.merges; }, "no heads are merged"}},
          follows("merged[t,c] = merged[t, (c / Dv % G * group + c / Dv / G) * Dv + c % Dv]"));
    entry(list, "head-dim-derived", "scaled_scores",
          "The width of a head was taken to be embed-dim / heads",
          "all scores are off by one factor",
          Fix("head_dim = config.head_dim  # not hidden_size // num_heads",
              "head_dim = w_query.shape[0] // heads"),
          "Since Qwen3 and Gemma a head may be wider than its share of the embedding: read it.",
          {{scales_by_head_dim, "the scores are not scaled by head-dim"},
           {[](const Plan& plan) {
                return plan.heads > 1 && plan.embed_dim >= plan.heads &&
                       plan.embed_dim / plan.heads != plan.head_dim;
            },
            "embed-dim / heads is the width of a head here, or there is one head"}},
          with_plan({"scaled_scores"}, take_width_from_embedding));
}

}  // namespace attn

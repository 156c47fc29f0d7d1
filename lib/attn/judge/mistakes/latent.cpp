#include <cmath>

#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

/// Features of a query that do not rotate.
std::size_t unturned(const Plan& plan) { return plan.head_dim - 2 * plan.rotary_pairs(); }

/// Where the value of each head is in front of its key, `{width}` features together.
const std::string value_first = "o - o % {width} + (o % {width} + Dv) % {width}";
/// Where (head, token) would hold what belongs to head h of token t.
const std::string heads_first = "((o / {width} * Tk + t) * {width} + o % {width})";

/// A rule for that many features.
auto of_head_width(const std::string& rule) {
    return [rule](const Plan& plan) {
        return filled(rule, {{"width", std::to_string(unturned(plan) + plan.value_dim)}});
    };
}

TableEdit read_value_first() {
    return all_of(
        {reads({"key", "value"}, "projected_key_value",
               of_head_width("projected_key_value[t,o] = projected_key_value[t, " + value_first +
                             "]")),
         reads({"absorbed_query", "expanded_context"}, "w_key_value", [](const Plan& plan) {
             return of_head_width(*plan.config.weight_layout == WeightLayout::out_in
                                      ? "w_key_value[o,i] = w_key_value[" + value_first + ", i]"
                                      : "w_key_value[i,o] = w_key_value[i, " + value_first +
                                            "]")(plan);
         })});
}

}  // namespace

void add_latent_mistakes(std::vector<Mistake>& list) {
    const Need latent = with_step("latent", "there is no latent: pass $mla");
    const Need differs =
        with_step("differential_weights", "nothing is subtracted: pass $differential");
    entry(list, "mla-split-order", "key", "The up-projection was cut with values in front of keys",
          "keys hold features of values, and values of keys: all scores and contexts are wrong",
          Fix("k_nope, value = kv.split([nope_dim, value_dim], dim=-1)",
              "k_nope, value = np.split(kv, [nope_dim], axis=-1)"),
          "kv_b_proj holds, head by head, the key's rows and then the value's.", latent,
          read_value_first());
    entry(list, "mla-split-order=view", "key",
          "The up-projection was viewed as (B, H, T, D) directly",
          "keys and values of a head are pieces of those of other tokens",
          "kv = kv.view(B, T, H, -1).transpose(1, 2)",
          "A view re-reads memory in order; only a transpose moves an axis.",
          {latent,
           without_step("absorbed_query", "the absorbed form makes no keys and values"),
           {[](const Plan& plan) { return plan.heads > 1 && plan.key_len > 1; },
            "with one head or one token both shapes read memory alike"}},
          reads({"key", "value"}, "projected_key_value",
                of_head_width("projected_key_value[t,o] = projected_key_value[" + heads_first +
                              " / (H * {width}), " + heads_first + " % (H * {width})]")));
    entry(list, "mla-norm-missing", "normed_latent", "The latent was not normalised",
          "keys and values are off by the length of each latent",
          Fix("kv = kv_b(kv_norm(latent))", "kv = norm(latent) @ w_key_value.T"),
          "What the latent is expanded from was normed in training.", latent,
          follows("normed_latent[t,f] = latent[t,f]"));
    entry(list, "mla-scale", "scaled_scores",
          "The scores were divided by the root of the width that does not rotate",
          "all scores are too large by one factor, those of a token with itself too",
          "scale = (nope_dim + rope_dim) ** -0.5",
          "A dot product runs over both parts of a key, and so does its scale.",
          {latent,
           {[](const Plan& plan) { return plan.config.scale.by == ScaleChoice::By::head_dim; },
            "the scale is not that of the width"}},
          with_plan({"scaled_scores"}, [](Plan& plan) {
              const double right = static_cast<double>(plan.head_dim);
              plan.head_dim = unturned(plan);
              plan.scale.number *= std::sqrt(static_cast<double>(plan.head_dim) / right);
          }));
    entry(list, "yarn-mla-scale", "scaled_scores", "yarn's magnitude was left out of the scale",
          "all scores are too small by one factor, those of a token with itself too",
          "scale = (nope_dim + rope_dim) ** -0.5 * mscale * mscale",
          "DeepSeek's mscale_all_dim multiplies the scores, not cosines and sines: a row that sees "
          "one key does not show it.",
          {latent,
           needs_scale,
           {[](const Plan& plan) { return plan.score_factor() != 1; },
            "yarn has no mscale_all_dim that changes anything"}},
          with_plan({"scaled_scores"}, [](Plan& plan) {
              const bool divides = plan.scale.operation == ScaleFactor::Operation::divide;
              const double more = plan.score_factor();
              plan.scale.number *= divides ? more : 1 / more;
              plan.config.rotary.scaling.reset();
          }));
    entry(
        list, "diff-pairs", "differential_weights",
        "Halves of the heads were subtracted instead of neighbours",
        "each head is the difference of two that do not belong together",
        Fix("attn = attn.view(batch, heads, 2, q, k); attn = attn[:, :, 0] - lam * attn[:, :, 1]",
            "attn = attn[:, 0::2] - lam * attn[:, 1::2]"),
        "The two softmaxes of a head are neighbours: heads 2h and 2h + 1.",
        {differs, {[](const Plan& plan) { return plan.context_heads() > 1; }, "there is one pair"}},
        follows("differential_weights[h,q,k] = weights[0 + h,q,k] - lambda_full[0] * weights[h + "
                "{Hc},q,k]"));
    entry(list, "diff-depth", "lambda_full", "Layers were counted from 1, not from 0",
          "lambda and what the heads are multiplied by are those of the next layer",
          "lambda_init = 0.8 - 0.6 * math.exp(-0.3 * layer_idx)  # 0 in the first layer",
          "In the first layer lambda starts at 0.2.", differs,
          with_plan({"lambda_full", "scaled_context"},
                    [](Plan& plan) { ++*plan.config.differential.depth; }));
    const char* const normed = "context = rms_norm(context) * (1 - lambda_init)";
    entry(list, "diff-norm-missing", "normed_context", "The norm of each head was left out",
          "heads keep sizes of their own, about 1 - lambda of what one softmax gives", normed,
          "Every head is normalised by itself, over the features of its value.", differs,
          left_out({"normed_context"}));
    entry(list, "diff-scale-missing", "scaled_context",
          "The normed heads were not multiplied by 1 - lambda_init",
          "all contexts are too large by one factor, 1.25 in layer 0", normed,
          "The factor is fixed and no parameter holds it: it is easy to forget.", differs,
          left_out({"scaled_context"}));
}

}  // namespace attn

#include "attn/core/steps/rotary.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

const std::vector<std::string> normed_steps{"normed_query", "normed_key"};

const Need normed{&Plan::norms, "query and key are not normalised"};

/// Whether a gain is given for which `holds` is true.
template <class Holds>
bool has_gain(const Plan& plan, Holds holds) {
    for (const char* name : {"g_query", "g_key"}) {
        const Tensor* gain = plan.config.parameters.find(name);
        if (gain != nullptr && holds(*gain)) return true;
    }
    return false;
}

/// Whether a gain is not the same number everywhere in each pair that rotates.
bool has_uneven_gain(const Plan& plan) {
    return has_gain(plan, [&](const Tensor& gain) {
        const std::size_t pairs = gain.size() == plan.head_dim ? plan.rotary_pairs() : 0;
        for (std::size_t i = 0; i < pairs; ++i) {
            const auto [a, b] = feature_pair(*plan.config.rotary.pairing, i, 2 * pairs);
            if (gain.at(a) != gain.at(b)) return true;
        }
        return false;
    });
}

bool has_gain_beside_one(const Plan& plan) {
    return has_gain(plan, [](const Tensor& gain) {
        for (std::size_t i = 0; i < gain.size(); ++i) {
            if (gain.at(i) != 1) return true;
        }
        return false;
    });
}

bool norms_heads_before_rotation(const Plan& plan) {
    return plan.rotates() && plan.config.qk_norm.over == NormOver::head &&
           plan.config.qk_norm.place == QkNorm::Place::before && has_uneven_gain(plan);
}

/// Other gains of both norms: `operation` on the right ones.
TableEdit with_gain(const std::string& operation) {
    return for_each_step({"g_query", "g_key"}, [&](const std::string& gain) {
        return reads(normed_steps, gain, gain + "[f] = " + gain + "[f]" + operation);
    });
}

/// The norms by another rule: `{x}` is the tensor before it, `{mean}` that of its squares, over the
/// axes of the walk or over the other ones.
TableEdit normed_as(const std::string& pattern, bool over_the_other_axes) {
    return for_each_step(normed_steps, [=](const std::string& step) {
        return follows([=](const Plan& plan) {
            const bool all = plan.config.qk_norm.over == NormOver::all && plan.has_head;
            const bool is_query = step == "normed_query";
            const std::string chain = is_query ? "queries" : "keys";
            const std::string cell = all || over_the_other_axes ? "[h,t,f]" : "[t,f]";
            std::string mean = "(mean g: " + chain + (all ? "[h,t,g] ^ 2)" : "[t,g] ^ 2)");
            if (all != over_the_other_axes) mean = "(mean i: mean g: " + chain + "[i,t,g] ^ 2)";
            const std::string gain =
                std::string(is_query ? "g_query" : "g_key") + (all ? "[h * D + f]" : "[f]");
            const std::string rule = step + cell + " = " + pattern + " * " + gain;
            return Text(filled(rule, {{"x", chain + cell}, {"mean", mean}}))(plan);
        });
    });
}

/// LayerNorm in the place of the norms. `{off}` is the distance of a feature g from the mean.
TableEdit layer_normed(const std::string& squared_spread) {
    return for_each_step(normed_steps, [=](const std::string& step) {
        const std::string chain = step == "normed_query" ? "queries" : "keys";
        const std::string mean = " - (mean i: " + chain + "[t,i]))";
        const std::string spread = filled(squared_spread, {{"off", "(" + chain + "[t,g]" + mean}});
        return follows(step + "[t,f] = (" + chain + "[t,f]" + mean + " / sqrt(" + spread + ") * " +
                       (step == "normed_query" ? "g_query[f]" : "g_key[f]"));
    });
}

/// Rotates what was not normalised yet, and normalises the rotated rows.
TableEdit norm_after_rotation() {
    return all_of(
        {left_out(normed_steps), for_each_step({"query", "key"}, [](const std::string& part) {
             const std::string step = "rotated_" + part;
             return follows(step + "[t,f] = " + step + "[t,f] / sqrt((mean g: " + step +
                            "[t,g] ^ 2) + {eps}) * g_" + part + "[f]");
         })});
}

/// The eps of nn.LayerNorm where nobody says otherwise.
constexpr double layer_norm_eps = 1e-5;
/// That of nn.RMSNorm.
double smallest_step(const Plan& plan) { return epsilon(plan.compute_dtype); }

}  // namespace

void add_qk_norm_mistakes(std::vector<Mistake>& list) {
    const Need gained{normed, {&Plan::has_gains, "there is no gain"}};
    const Fix norms("q, k = self.q_norm(q), self.k_norm(k)",
                    "q, k = rms_norm(q, g_query), rms_norm(k, g_key)");
    entry(list, "qk-norm-missing", "normed_query", "Query and key were not normalised",
          "every score is larger by the lengths of its query and key", norms,
          "A model trained with norms of query and key has no other brake on its scores.", normed,
          left_out(normed_steps));
    entry(list, "qk-norm-k-only", "normed_query", "Only the key was normalised",
          "each row of scores is larger by the length of its query", norms,
          "Both factors of the product are normalised, each by its own length.", normed,
          left_out({"normed_query"}));
    entry(list, "qk-norm-q-only", "normed_key", "Only the query was normalised",
          "each column of scores is larger by the length of its key", norms,
          "Both factors of the product are normalised, each by its own length.", normed,
          left_out({"normed_key"}));
    entry(list, "qk-norm-gain-dropped", "normed_query", "The gains of the norms were left out",
          "each feature is off by its own factor, the same for every token", norms,
          "RMSNorm without its weight is another layer: load q_norm.weight and k_norm.weight.",
          {normed, {has_gain_beside_one, "the gains are 1"}}, with_gain(" * 0 + 1"));
    entry(list, "qk-norm-axis", "normed_query",
          "The norm ran over all heads together, or over each, against the model",
          "a head's squares no longer add up to its width, or all heads' do",
          Fix("q = q_norm(q.view(B, T, H, D))  # Qwen3; OLMo 2: q_norm(q).view(B, T, H, D)",
              "q = rms_norm(q)  # over the last axis: of one head, or of all"),
          "Norm before or after the split into heads: the mean runs over other features.",
          {normed,
           {[](const Plan& plan) { return plan.has_gains() && plan.kv_heads > 1; },
            "there is one head, or no gain"}},
          normed_as("{x} / sqrt({mean} + {eps})", true));
    const auto over_all_heads = [](const std::string& step) {
        const std::string chain = step == "normed_query" ? "queries" : "keys";
        return follows(step + "[h,t,f] = " + chain + "[h,t,f] / sqrt(sum i: sum g: " + chain +
                       "[i,t,g] ^ 2)");
    };
    entry(list, "qk-norm-axis=l2", "normed_query", "The rows of all heads were normalised as one",
          "a head's squares no longer add up to 1, all heads' do",
          Fix("q = F.normalize(q.view(B, T, H, D), dim=-1)",
              "q = q / np.linalg.norm(q, axis=-1, keepdims=True)  # after the split into heads"),
          "Norm before or after the split into heads: the sum runs over other features.",
          {normed,
           {[](const Plan& plan) {
                return plan.config.qk_norm.over == NormOver::l2 && plan.kv_heads > 1;
            },
            "there is one head, or a mean of squares"}},
          for_each_step(normed_steps, over_all_heads));
    const auto layer_norm = [&](const char* id, const char* title, const Need& need,
                                const TableEdit& edit) {
        const Need over_a_head{[](const Plan& plan) {
                                   return plan.config.qk_norm.over == NormOver::head &&
                                          plan.head_dim > 2;
                               },
                               "the norms are not those of a head"};
        entry(list, id, "normed_query", title, "the mean of each row is lost", norms,
              "RMSNorm divides by the root of the mean square, and takes no mean off.",
              {normed, over_a_head, need}, edit);
    };
    layer_norm("qk-norm-layernorm", "LayerNorm took the place of RMSNorm", {},
               all_of({reads({"normed_query"}, "queries",
                             "x[t,f] = queries[t,f] - (mean g: queries[t,g])"),
                       reads({"normed_key"}, "keys", "x[t,f] = keys[t,f] - (mean g: keys[t,g])")}));
    layer_norm("qk-norm-layernorm=default",
               "LayerNorm took the place of RMSNorm, with its own small number",
               {[](const Plan& plan) { return plan.config.qk_norm.eps != layer_norm_eps; },
                "eps is LayerNorm's own"},
               layer_normed("(mean g: {off} ^ 2) + 1e-5"));
    layer_norm("qk-norm-layernorm=unbiased",
               "LayerNorm took the place of RMSNorm, and divided by one feature less", {},
               layer_normed("(sum g: {off} ^ 2) / (D - 1) + {eps}"));
    entry(
        list, "qk-norm-after-rope", "normed_query",
        "Query and key were normalised after they rotated",
        "features of a pair meet each other's gain: right at position 0 alone",
        Fix("q = rotate(q_norm(q))", "q = rotate(rms_norm(q))"),
        "A gain that differs within a pair does not commute with the rotation.",
        {normed,
         {norms_heads_before_rotation, "norm and rotation change places without changing a score"}},
        norm_after_rotation());
    entry(
        list, "norm-eps=default", "normed_query", "The norms added another small number",
        "short rows come out longer or shorter, others hardly change",
        Fix("nn.RMSNorm(head_dim, eps=config.rms_norm_eps)", "rms_norm(q, eps=rms_norm_eps)"),
        "nn.RMSNorm takes the smallest step of the type where no eps is given.",
        {normed,
         {[](const Plan& plan) {
              return plan.has_gains() && plan.config.qk_norm.eps != smallest_step(plan);
          },
          "there is no mean of squares, or eps is PyTorch's own"}},
        with_plan(normed_steps, [](Plan& plan) { plan.config.qk_norm.eps = smallest_step(plan); }));
    entry(list, "norm-eps=outside", "normed_query", "The small number was added outside the root",
          "short rows come out longer or shorter, others hardly change",
          Fix("x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)",
              "x / np.sqrt((x ** 2).mean(-1, keepdims=True) + eps)"),
          "eps belongs under the root, beside the mean of the squares.",
          {normed,
           {[](const Plan& plan) { return plan.has_gains() && plan.config.qk_norm.eps > 0; },
            "there is no mean of squares, or eps is 0"}},
          normed_as("{x} / (sqrt({mean}) + {eps})", false));
    entry(list, "norm-unit-offset=missing", "normed_query",
          "The gain was used without the 1 that is added to it",
          "each feature is off by the same factor for every token",
          Fix("x * (1 + self.weight)  # Gemma stores weight - 1", "x * (1 + w)"),
          "Gemma's files hold the gain minus 1, and GGUF files of it the gain itself.", gained,
          with_gain(" - 1"));
    entry(list, "norm-unit-offset=twice", "normed_query",
          "1 was added to a gain that holds it already",
          "each feature is off by the same factor for every token",
          Fix("x * self.weight  # the file holds 1 + weight already", "x * w"),
          "Gemma's files hold the gain minus 1, and GGUF files of it the gain itself.", gained,
          with_gain(" + 1"));
}

}  // namespace attn

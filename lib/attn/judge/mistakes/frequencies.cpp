#include <algorithm>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/projected.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

const std::vector<std::string> circle_steps{"cos", "sin", "memory_cos", "memory_sin"};

// Of Gemma 3: layers with a window, and those without.
constexpr double local_base = 10000, global_base = 1000000;

bool has_base_of_its_layer(const Plan& plan) {
    return plan.config.rotary.theta == (plan.config.mask.window ? local_base : global_base);
}

bool is_scaled_once(const Plan& plan) {
    const auto& scaling = plan.config.rotary.scaling;
    return scaling && scaling->kind != RopeScaling::Kind::dynamic;
}

bool scaling_matters(const Plan& plan) {
    return plan.config.rotary.scaling &&
           (is_scaled_once(plan) || plan.rotary_base() != plan.config.rotary.theta);
}

/// Whether yarn's limits are no whole numbers.
bool truncating_matters(const Plan& plan) {
    const auto& scaling = plan.config.rotary.scaling;
    if (!scaling || scaling->kind != RopeScaling::Kind::yarn) return false;
    RopeScaling other = *scaling;
    other.truncate = !other.truncate;
    const auto shares = [&](const RopeScaling& of) {
        const auto [first, last] = of.ramp(plan.rotary_base(), 2 * plan.rotary_pairs());
        std::vector<double> all;
        for (std::size_t i = 0; i < plan.rotary_pairs(); ++i) {
            all.push_back(std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0));
        }
        return all;
    };
    return shares(other) != shares(*scaling);
}

/// Another exponent of the base.
TableEdit with_exponent(const std::string& exponent) {
    return follows("inverse_frequencies[i] = 1 / {base} ^ (" + exponent + " / {r})");
}

}  // namespace

void add_frequency_mistakes(std::vector<Mistake>& list) {
    const Need two_pairs{needs_rope,
                         {[](const Plan& plan) { return plan.rotary_pairs() > 1; },
                          "there is one pair, which is right"}};
    const Need unscaled{[](const Plan& plan) { return !is_scaled_once(plan); },
                        "the frequencies are scaled afterwards"};
    const Need yarn{
        needs_rope,
        {[](const Plan& plan) { return plan.rotary_factor() != 1; }, "the factor is 1"}};
    entry(list, "rope-theta", "inverse_frequencies", "The base of the frequencies was another",
          "pair 0 is right, and the error grows with the number of the pair",
          "theta = config.rope_theta  # not 10000",
          "Read rope_theta from the configuration: most models no longer have 10000.", needs_rope,
          with_plan({"inverse_frequencies"}, [](Plan& plan) {
              double& theta = plan.config.rotary.theta;
              theta = theta == 10000 ? 500000 : 10000;
          }));
    entry(list, "rope-layer-base", "inverse_frequencies",
          "The base was that of the other kind of layer",
          "pair 0 is right, and the error grows with the number of the pair",
          Fix("theta = rope_local_base_freq if is_sliding else rope_theta",
              "theta = local_theta if is_sliding else theta"),
          "Gemma 3 rotates by base 10000 in layers with a window and by 1000000 in the others.",
          {needs_rope,
           {has_base_of_its_layer,
            "base and window are not those of a layer of Gemma 3: 10000 with a window, 1000000 "
            "without"}},
          with_plan({"inverse_frequencies"}, [](Plan& plan) {
              double& theta = plan.config.rotary.theta;
              theta = theta == local_base ? global_base : local_base;
          }));
    entry(list, "rope-exponent=minus-one", "inverse_frequencies",
          "The exponent was 2 (i - 1) / r, of a formula that counts from 1",
          "all pairs rotate too fast, by one factor", "inv = theta ** (-2 * i / rotary_dim)",
          "A paper's theta_i = base^(-2 (i - 1) / r) has i from 1, and Python's i begins at 0.",
          {needs_rope, unscaled}, with_exponent("(2 * i - 2)"));
    entry(list, "rope-exponent", "inverse_frequencies", "The exponent was i / r, not 2i / r",
          "pair 0 is right, all others rotate too fast", "inv = theta ** (-2 * i / rotary_dim)",
          "torch.arange(0, r, 2) has the factor 2 in it; torch.arange(r // 2) has not.",
          {two_pairs, unscaled}, with_exponent("i"));
    entry(list, "rope-scaling-ignored", "inverse_frequencies",
          "The scaling of the frequencies was left out",
          "fast pairs are right, slow ones rotate too far",
          Fix("inv_freq = rope_init_fn(config)  # reads rope_scaling",
              "inv_freq = scaled(inv_freq)  # as rope_scaling says"),
          "A model trained with scaled frequencies needs them on short inputs too.",
          {needs_rope, {scaling_matters, "there is no $rope-scaling that changes anything"}},
          with_plan({"inverse_frequencies", "cos", "sin", "memory_cos", "memory_sin"},
                    [](Plan& plan) { plan.config.rotary.scaling.reset(); }));
    entry(list, "yarn-factor-missing", "cos",
          "Cosines and sines were not multiplied by yarn's factor",
          "all scores are smaller by its square, those of a token with itself too",
          "cos, sin = cos * attention_factor, sin * attention_factor",
          "yarn sharpens attention on long inputs: its factor belongs to the scores.", yarn,
          with_plan(circle_steps,
                    [](Plan& plan) { plan.config.rotary.scaling->attention_factor = 1; }));
    entry(list, "yarn-factor-squared", "cos",
          "Cosines and sines were multiplied by yarn's factor twice",
          "all scores are larger by its square, those of a token with itself too",
          "cos, sin = cos * attention_factor, sin * attention_factor  # once",
          "The product of query and key squares the factor already.", yarn,
          with_plan(circle_steps, [](Plan& plan) {
              const double factor = plan.rotary_factor();
              plan.config.rotary.scaling->attention_factor = factor * factor;
          }));
    entry(list, "yarn-truncate", "inverse_frequencies",
          "yarn's limits were taken to whole pairs, or not, against the configuration",
          "pairs between the limits rotate a little too fast or too slowly",
          "truncate = config.rope_scaling.get(\"truncate\", True)",
          "gpt-oss does not round yarn's limits; most others do.",
          {needs_rope, {truncating_matters, "yarn's limits are whole numbers, or there are none"}},
          with_plan({"inverse_frequencies"}, [](Plan& plan) {
              bool& truncate = plan.config.rotary.scaling->truncate;
              truncate = !truncate;
          }));
    entry(list, "rope-low-precision", "inverse_frequencies", "The frequencies were kept in float16",
          "angles of far positions are off by whole steps, and the more the farther",
          Fix("inv_freq = inv_freq.float()  # whatever the type of the model",
              "inv_freq = inv_freq.astype(np.float32)"),
          "A small error of a frequency is multiplied by the position: keep angles in float32.",
          two_pairs, follows("inverse_frequencies[i] = half(inverse_frequencies[i])"));
}

namespace {

// Which features make a pair, and what rotates.

/// A step with the features that rotate in another order, the even ones first, then the odd ones.
std::string even_ones_first(const Plan& plan, const std::string& step, const std::string& tensor) {
    const std::size_t width = projected_of(step == "rotated_query" ? 'q' : 'k').width(plan);
    const std::size_t pairs = plan.rotary_pairs();
    const std::size_t first = plan.first_rotated(width);
    const auto text = [](std::size_t number) { return std::to_string(number); };
    return tensor + "[t,f] = " + tensor + "[t, if f < " + text(first) +
           " or f >= " + text(first + 2 * pairs) + " then f else if f < " + text(first + pairs) +
           " then 2 * f - " + text(first) + " else 2 * (f - " + text(pairs) + ") - " + text(first) +
           " + 1]";
}

TableEdit rearranged_before() {
    return for_each_step(rotated_steps, [](const std::string& step) {
        const std::string chain = step == "rotated_query" ? "queries" : "keys";
        return reads({step}, chain,
                     [=](const Plan& plan) { return even_ones_first(plan, step, chain); });
    });
}

TableEdit partners_half_a_head_apart() {
    return for_each_step(rotated_steps, [](const std::string& step) {
        return follows([step](const Plan& plan) {
            const std::string apart = std::to_string(plan.head_dim / 2);
            const std::string x = step == "rotated_query" ? "queries[t, f" : "keys[t, f";
            const std::string pair = "[t, f % " + apart + "]";
            const std::string prefix = angle_prefix(plan, step);
            const std::string turned = x + "] * " + prefix + "cos" + pair;
            const std::string sin = "] * " + prefix + "sin" + pair;
            return step + "[t,f] = if f % " + apart + " >= " + std::to_string(plan.rotary_pairs()) +
                   " then " + x + "] else if f < " + apart + " then " + turned + " - " + x + " + " +
                   apart + sin + " else " + turned + " + " + x + " - " + apart + sin;
        });
    });
}

void other_pairing(Plan& plan) {
    Pairing& pairing = *plan.config.rotary.pairing;
    pairing = pairing == Pairing::half ? Pairing::interleaved : Pairing::half;
}

/// Whether no gain of its own for each feature is after the rotation.
bool norms_first_or_alike(const Plan& plan) {
    const Ledger& given = plan.config.parameters;
    return plan.config.qk_norm.place == QkNorm::Place::before ||
           !(given.has("g_query") || given.has("g_key"));
}

/// The halves of rotated pairs one after the other: harmless where query and key are permuted
/// alike, a mistake beside keys of a cache that are not.
void concatenated(std::vector<Mistake>& list, bool harmless) {
    entry(
        list, harmless ? "rope-concat-both" : "rope-concat-output", "rotated_query",
        "Interleaved pairs were rotated and put down as two halves",
        harmless ? "query and key are permuted alike: the scores are right until they meet others"
                 : "scores among the new tokens are right, those with cached keys are not",
        Fix("rotated = torch.stack((even, odd), dim=-1).flatten(-2)",
            "rotated = np.stack((even, odd), axis=-1).reshape(q.shape)"),
        "A permutation of both sides cancels in their product, and breaks a shared cache.",
        {needs_pairs,
         {[harmless](const Plan& plan) { return !harmless || norms_first_or_alike(plan); },
          "the gains after it meet other features"},
         {[](const Plan& plan) { return plan.config.rotary.pairing == Pairing::interleaved; },
          "the pairs are halves already"},
         {[harmless](const Plan& plan) { return harmless == (plan.past_len == 0); },
          harmless ? "the keys of the past are in order"
                   : "there are no earlier keys: pass $past"}},
        for_each_step(rotated_steps, [](const std::string& step) {
            return follows([step](const Plan& plan) { return even_ones_first(plan, step, step); });
        }));
}

/// The values rotated as the keys are.
std::string rotated_values(const Plan& plan, const std::string& tensor) {
    const std::string prefix = plan.has_memory ? "memory_" : "";
    return rotation_rule(plan, tensor + "[t,f", tensor + "[t,f", 0, plan.rotary_pairs(),
                         prefix + "positions[t] * inverse_frequencies[{pair}]");
}

/// The same of a step before the angles, which it works out.
Rule values_rotated_early(const Plan& plan, const std::string& tensor) {
    const StepTable& table = step_table();
    const PlannedStep later{plan, table, find_step(table, "rotated_key")};
    const Rule rule = completed(rotated_values(plan, tensor),
                                find_step(table, tensor).outline(plan), rule_names(later));
    return inlined(rule, [&](const std::string& name) {
        return name == tensor ? std::nullopt : rule_of({plan, table, find_step(table, name)});
    });
}

/// Values that rotate with query and key: where the context reads them, or as soon as they are
/// made.
void values_rotate(std::vector<Mistake>& list, const char* id, const char* step, const char* title,
                   TableEdit edit) {
    entry(list, id, step, title,
          "weights are right, the context is not, except for tokens at position 0",
          Fix("q, k = apply_rotary_pos_emb(q, k, cos, sin)  # and leave v alone",
              "q, k = rotate(q, cos, sin), rotate(k, cos, sin)  # and leave v alone"),
          "Positions say whom to look at, not what is there: values do not rotate.",
          {needs_rope,
           {[](const Plan& plan) {
                return plan.value_dim >= 2 * plan.rotary_pairs() && !plan.fused() &&
                       plan.past_len == 0 && plan.first_rotated(plan.head_dim) == 0;
            },
            "the values have fewer features than rotate, or a past or a latent"}},
          edit, "values that rotate");
}

}  // namespace

void add_rotated_value_mistakes(std::vector<Mistake>& list) {
    values_rotate(list, "rope-value", "context", "The values were rotated too",
                  reads({"context"}, "values",
                        [](const Plan& plan) { return rotated_values(plan, "values"); }));
    values_rotate(list, "rope-value=kept", "value", "The values were rotated too, and kept so",
                  follows([](const Plan& plan) { return values_rotated_early(plan, "value"); }));
}

void add_pairing_mistakes(std::vector<Mistake>& list) {
    const std::tuple<const char*, const char*, std::vector<std::string>> sides[]{
        {"", "The features were paired in the other style", rotated_steps},
        {"=query", "The features of the query were paired in the other style", {"rotated_query"}},
        {"=key", "The features of the key were paired in the other style", {"rotated_key"}}};
    for (const auto& [variant, title, steps] : sides) {
        entry(list, std::string("rope-style") + variant, steps.front(), title,
              steps.size() > 1 ? "each token's score with itself is right, the others are not"
                               : "query and key are turned in other planes",
              Fix("pairs = half  # Llama, Qwen, NeoX: (i, i + d/2); Meta's files, GPT-J: (2i, 2i + "
                  "1)",
                  "pairs = half  # (i, i + d/2), or interleaved: (2i, 2i + 1), as the weights were "
                  "made"),
              "Which features make a pair is a property of the weights, and no shape shows it.",
              needs_pairs, with_plan(steps, other_pairing),
              steps.size() > 1 ? "the other pairs" : "");
    }
    entry(list, "rope-permute-missing", "rotated_query",
          "Query and key were rearranged for the other pairing, which is not used",
          "each token's score with itself is right, the others are not",
          Fix("w_query = permute(w_query)  # once, when Meta's files become Hugging Face's",
              "w_query = permute(w_query)  # once, when the file is converted"),
          "Rearranging the rows of a checkpoint and choosing the pairing go together.", needs_pairs,
          rearranged_before(), "the other pairs");
    entry(list, "rope-partial-pairing", "rotated_query",
          "Partners were half a head apart, not half of what rotates",
          "features rotate that should stay, and others stay that should rotate",
          "first, second = q[..., :r // 2], q[..., r // 2:r]",
          "With a partial rotation the halves are those of the part that rotates.",
          {needs_rope,
           {is_partial, "all features rotate here"},
           {[](const Plan& plan) {
                return plan.config.rotary.pairing == Pairing::half && plan.head_dim % 2 == 0;
            },
            "the pairs are neighbours, or the head has an odd width"}},
          partners_half_a_head_apart());
    concatenated(list, false);
}

void add_harmless_pairings(std::vector<Mistake>& list) { concatenated(list, true); }

}  // namespace attn

#include "attn/mistakes/change.hpp"

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
    const double base = plan.rotary_base();
    const auto shares = [&](const RopeScaling& of) {
        return loop::scale_frequencies(
            loop::inverse_frequencies<double>(base, 2 * plan.rotary_pairs()), of, base,
            plan.rotary_tokens());
    };
    return !(shares(other) == shares(*scaling));
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

}  // namespace attn

#include <bit>

#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

bool is_bias(const Plan& plan, PositionBias::Kind kind) {
    return plan.biases() && plan.config.position_bias->kind == kind;
}

NotApplicable needs_cap() {
    return unless([](const Plan& plan) { return plan.caps(); }, "there is no cap");
}
NotApplicable needs_alibi() {
    return unless([](const Plan& plan) { return is_bias(plan, PositionBias::Kind::alibi); },
                  "there is no ALiBi");
}

const std::string slopes_of_any_number =
    "n = 2 ** int(math.log2(H))  # H = 6: 4\nslopes = [2 ** (-8 * (h + 1) / n) for h in range(n)]\n"
    "slopes += [2 ** (-4 * (2 * h + 1) / n) for h in range(H - n)]";

/// Other slopes, one for each head.
Mistake sloped(std::string id, std::string title, std::string effect, std::string lesson,
               NotApplicable not_applicable, Text slope) {
    return entry(std::move(id), "slopes", std::move(title), std::move(effect), slopes_of_any_number,
                 slopes_of_any_number, std::move(lesson), "", std::move(not_applicable),
                 follows([slope](const Plan& plan) { return "slopes[h] = " + slope(plan); }));
}

NotApplicable odd_alibi() {
    return first_of(
        {needs_alibi(), unless([](const Plan& plan) { return !std::has_single_bit(plan.heads); },
                               "the heads are a power of two")});
}

std::string regular_heads(const Plan& plan) { return std::to_string(std::bit_floor(plan.heads)); }

/// Those between two slopes of the power of two, and these, from the largest on.
std::string sorted_slopes(const Plan& plan) {
    const std::size_t more = plan.heads - std::bit_floor(plan.heads);
    return "if h < " + std::to_string(2 * more) + " then 2 ^ (-8 * (h + 1) / (2 * " +
           regular_heads(plan) + ")) else 2 ^ (-8 * (h - " + std::to_string(more) + " + 1) / " +
           regular_heads(plan) + ")";
}

/// Heads counted from 0.
std::string early_slopes(const Plan& plan) {
    const std::string regular = regular_heads(plan);
    const std::string first = "2 ^ (-8 * h / " + regular + ")";
    if (std::has_single_bit(plan.heads)) return first;
    return "if h < " + regular + " then " + first + " else 2 ^ (-8 * (h - " + regular + ") / " +
           regular + ")";
}

const std::string cap_torch = "scores = cap * torch.tanh(scores / cap)";
const std::string cap_numpy = "scores = cap * np.tanh(scores / cap)";
const std::string alibi_torch = "scores = scores - slopes[:, None, None] * (q - k).abs()";
const std::string alibi_numpy = "scores = scores - slopes[:, None, None] * np.abs(q - k)";

}  // namespace

Mistake alibi_of_keys(bool harmless) {
    const bool causal = harmless;
    return {harmless ? "alibi-key-form" : "alibi-key-form-bidirectional",
            "position_bias",
            "ALiBi was counted from the first key",
            harmless ? "all numbers of a row are larger by the same amount"
                     : "weights drift to the last keys, whatever the query",
            alibi_torch,
            alibi_numpy,
            harmless ? "Softmax drops what a whole row has in common."
                     : "A bias by keys alone is the same only where later keys are hidden.",
            "",
            first_of({needs_alibi(),
                      unless([=](const Plan& plan) { return !causal || !walk_has(plan, "sink"); },
                             "the sink does not grow with the row"),
                      unless(
                          [causal](const Plan& plan) {
                              const MaskChoice& mask = plan.config.mask;
                              return causal == mask.is_causal();
                          },
                          causal ? "later keys are seen" : "later keys are hidden")}),
            follows([](const Plan& plan) -> std::string {
                return plan.has_head ? "position_bias[h,q,k] = k * slopes[h]"
                                     : "position_bias[q,k] = k * slopes[0]";
            })};
}

void add_score_bias_mistakes(std::vector<Mistake>& list) {
    entry(list, "softcap-missing", "capped_scores", "The scores were not capped",
          "scores beyond the cap, and weights too sharp", cap_torch, cap_numpy,
          "A fused kernel may not know the argument: look for scores beyond the cap.", "",
          needs_cap(), follows("capped_scores[q,k] = scores[q,k]"));
    entry(list, "softcap-outside", "capped_scores",
          "The scores were multiplied by tanh, not the cap",
          "small scores come out near 0, and large ones are not bounded", cap_torch, cap_numpy,
          "tanh takes the place of the score: what it is multiplied by is the cap.", "",
          needs_cap(), follows("capped_scores[q,k] = scores[q,k] * tanh(scores[q,k] / cap)"));
    entry(list, "softcap-before-scale", "capped_scores",
          "The scores were capped before they were scaled",
          "no score comes near the cap: they end at the cap times the scale",
          "scores = cap * torch.tanh(scores * scale / cap)",
          "scores = cap * np.tanh(scores * scale / cap)",
          "The cap is for what softmax takes: scale first.", "",
          first_of({needs_cap(), needs_scale}), follows([](const Plan& plan) {
              return "capped_scores[q,k] = cap * tanh(scores[q,k]" + inverse_scale_rule(plan) +
                     " / cap)" + scale_rule(plan);
          }));
    entry(list, "softcap-after-mask", "masked_scores", "The cap came after the mask",
          "hidden keys have the score -cap instead of -inf, and a small weight",
          "scores = (cap * torch.tanh(scores / cap)).masked_fill(hidden, float('-inf'))",
          "scores = np.where(hidden, -np.inf, cap * np.tanh(scores / cap))",
          "tanh makes minus infinity finite: mask last.", "", first_of({needs_cap(), needs_mask}),
          follows("masked_scores[q,k] = if mask[q,k] then -cap else scores[q,k]"));
    list.push_back(sloped("alibi-slopes",
                          "The slopes of a power of two were used for another number",
                          "every head but the last has another slope",
                          "ALiBi's slopes go by powers of two, whatever the number of heads.",
                          odd_alibi(), "2 ^ (-8 * (h + 1) / H)"));
    list.push_back(sloped(
        "alibi-slopes=sorted", "The slopes were sorted", "heads have the slopes of other heads",
        "With a number of heads that is no power of two, slopes are not in order.", odd_alibi(),
        sorted_slopes));
    list.push_back(sloped("alibi-exponent", "The slopes begin one step too early",
                          "every slope is too large by the same factor, the first is 1",
                          "Heads count from 1 in the exponent.", needs_alibi(), early_slopes));
    list.push_back(
        sloped("alibi-exponent=plain",
               "The slopes of a power of two were used for another number, one step too early",
               "the first slope is 1, and every head has another one than it should",
               "Heads count from 1 in the exponent, and slopes go by powers of two.", odd_alibi(),
               "2 ^ (-8 * h / H)"));
    entry(list, "alibi-sign", "position_bias", "ALiBi was added instead of taken off",
          "far keys gain what they should lose", alibi_torch, alibi_numpy,
          "Distance costs: the bias is negative away from the diagonal.", "", needs_alibi(),
          follows("position_bias[q,k] = -position_bias[q,k]"));
    entry(list, "alibi-scale", "biased_scores", "The bias was scaled with the scores",
          "distances count too little, by the root of the head's width", alibi_torch, alibi_numpy,
          "BLOOM adds the bias after the scale; Falcon, trained so, before.", "",
          first_of({needs_alibi(),
                    unless([](const Plan& plan) { return plan.scales() && plan.scale.number != 1; },
                           "nothing is scaled")}),
          follows([](const Plan& plan) {
              return "biased_scores[q,k] = scores[q,k] + position_bias[q,k]" + scale_rule(plan);
          }));
    entry(list, "alibi-missing", "biased_scores", "ALiBi's bias was left out",
          "scores know no distance", "scores = scores + alibi", "scores = scores + alibi",
          "A model trained with ALiBi has no other positions.", "", needs_alibi(),
          left_out({"biased_scores"}));
    list.push_back(alibi_of_keys(false));
}

}  // namespace attn

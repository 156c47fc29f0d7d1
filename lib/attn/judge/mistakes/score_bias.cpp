#include <bit>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/score_bias.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

Need needs_bias(PositionBias::Kind kind, const char* reason) {
    return {[kind](const Plan& plan) {
                return plan.biases() && plan.config.position_bias->kind == kind;
            },
            reason};
}

const Need needs_cap{&Plan::caps, "there is no cap"};
const Need needs_alibi = needs_bias(PositionBias::Kind::alibi, "there is no ALiBi");
const Need needs_odd_alibi{needs_alibi,
                           {[](const Plan& plan) { return !std::has_single_bit(plan.heads); },
                            "the heads are a power of two"}};
const Need needs_t5 = needs_bias(PositionBias::Kind::t5, "there is no bias of T5");

const Fix alibi("scores = scores - slopes[:, None, None] * (i - j).abs()",
                "scores = scores - slopes[:, None, None] * np.abs(i - j)");

const std::string slopes_of_any_number =
    "n = 2 ** int(math.log2(H))  # H = 6: 4\nslopes = [2 ** (-8 * (h + 1) / n) for h in range(n)]\n"
    "slopes += [2 ** (-4 * (2 * h + 1) / n) for h in range(H - n)]";

/// Other slopes, one for each head; `{n}` is the power of two up to which they are regular.
void sloped(std::vector<Mistake>& list, const char* id, const char* title, const char* effect,
            const char* lesson, const Need& needs, const std::string& slope) {
    entry(list, id, "slopes", title, effect, Fix(slopes_of_any_number, slopes_of_any_number),
          lesson, needs, follows([slope](const Plan& plan) {
              return "slopes[h] = " +
                     filled(slope, {{"n", std::to_string(std::bit_floor(plan.heads))}});
          }));
}

/// The table that somebody gave beside a walk that adds no bias.
const Tensor* table_of_t5(const Plan& plan) {
    return plan.config.parameters.find("relative_attention_bias");
}

/// The walk with that table as its bias.
Plan with_t5(const Plan& plan) {
    Plan other = plan;
    const auto buckets = static_cast<std::int64_t>(table_of_t5(plan)->shape()[0]);
    other.config.position_bias = PositionBias{PositionBias::Kind::t5, buckets, 4 * buckets, {}};
    return other;
}

bool has_table_of_t5(const Plan& plan) {
    const Tensor* table = table_of_t5(plan);
    return table != nullptr && table->dimension() == 2 && table->shape()[1] == plan.heads &&
           table->shape()[0] >= 4 && table->shape()[0] % 4 == 0;
}

Tensor with_bias_of_t5(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    Ledger other = ledger;
    other.record("relative_attention_bias", cast(*table_of_t5(plan), plan.compute_dtype));
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const ScoreBias<T> bias(with_t5(plan), other);
        return {right.axes(), add_position_bias(right.as<T>(), bias.view())};
    });
}

std::string lines_with_bias_of_t5(const StepLines& of, const std::string& right) {
    const Plan other = with_t5(of.plan);
    const Step& bias = find_step(of.table, "position_bias");
    return right + "\nrelative_attention_bias = " +
           tensor_literal(*table_of_t5(of.plan), of.plan.compute_dtype, of.language) + "\n" +
           lines_of({{other, of.table, bias}, of.language}) + "\nscores = scores + position_bias";
}

/// The rule of T5's bias, of the distance from the key to the query.
Rule mirrored_rule(const Plan& plan) {
    const StepTable& table = step_table();
    const PlannedStep of{plan, table, find_step(table, "position_bias")};
    const std::string heads = plan.has_head ? "h," : "";
    const Rule turned =
        completed("position_bias[" + heads + "q,k] = relative_attention_bias[" +
                      "buckets[k - offset, q + offset], " + (plan.has_head ? "h]" : "0]"),
                  of.step.outline(plan), rule_names(of));
    return inlined(turned, [&](const std::string& name) {
        return name == "buckets" ? rule_of({plan, table, find_step(table, name)}) : std::nullopt;
    });
}

bool fits_both_directions(const Plan& plan) {
    const PositionBias& bias = *plan.config.position_bias;
    return bias.buckets % 4 == 0 && bias.max_distance > bias.buckets / 2;
}

}  // namespace

void alibi_of_keys(std::vector<Mistake>& list, bool harmless) {
    entry(list, harmless ? "alibi-key-form" : "alibi-key-form-bidirectional", "position_bias",
          "ALiBi was counted from the first key",
          harmless ? "all numbers of a row are larger by the same amount"
                   : "weights drift to the last keys, whatever the query",
          alibi,
          harmless ? "Softmax drops what a whole row has in common."
                   : "A bias by keys alone is the same only where later keys are hidden.",
          {needs_alibi,
           {[=](const Plan& plan) { return !harmless || !walk_has(plan, "sink"); },
            "the sink does not grow with the row"},
           {[=](const Plan& plan) { return harmless == plan.config.mask.is_causal(); },
            harmless ? "later keys are seen" : "later keys are hidden"}},
          follows([](const Plan& plan) -> std::string {
              return plan.has_head ? "position_bias[h,q,k] = k * slopes[h]"
                                   : "position_bias[q,k] = k * slopes[0]";
          }));
}

void add_score_bias_mistakes(std::vector<Mistake>& list) {
    const char* const cap = "scores = cap * torch.tanh(scores / cap)";
    entry(list, "softcap-missing", "capped_scores", "The scores were not capped",
          "scores beyond the cap, and weights too sharp", cap,
          "A fused kernel may not know the argument: look for scores beyond the cap.", needs_cap,
          follows("capped_scores[q,k] = scores[q,k]"));
    entry(list, "softcap-outside", "capped_scores",
          "The scores were multiplied by tanh, not the cap",
          "small scores come out near 0, and large ones are not bounded", cap,
          "tanh takes the place of the score: what it is multiplied by is the cap.", needs_cap,
          follows("capped_scores[q,k] = scores[q,k] * tanh(scores[q,k] / cap)"));
    entry(list, "softcap-before-scale", "capped_scores",
          "The scores were capped before they were scaled",
          "no score comes near the cap: they end at the cap times the scale",
          "scores = cap * torch.tanh(scores * scale / cap)",
          "The cap is for what softmax takes: scale first.", {needs_cap, needs_scale},
          follows("capped_scores[q,k] = cap * tanh(scores[q,k]{unscaled} / cap){scale}"));
    entry(list, "softcap-after-mask", "masked_scores", "The cap came after the mask",
          "hidden keys have the score -cap instead of -inf, and a small weight",
          Fix("scores = (cap * torch.tanh(scores / cap)).masked_fill(hidden, float('-inf'))",
              "scores = np.where(hidden, -np.inf, cap * np.tanh(scores / cap))"),
          "tanh makes minus infinity finite: mask last.", {needs_cap, needs_mask},
          follows("masked_scores[q,k] = if mask[q,k] then -cap else scores[q,k]"));
    sloped(list, "alibi-slopes", "The slopes of a power of two were used for another number",
           "every head but the last has another slope",
           "ALiBi's slopes go by powers of two, whatever the number of heads.", needs_odd_alibi,
           "2 ^ (-8 * (h + 1) / H)");
    sloped(list, "alibi-slopes=sorted", "The slopes were sorted",
           "heads have the slopes of other heads",
           "With a number of heads that is no power of two, slopes are not in order.",
           needs_odd_alibi,
           "if h < 2 * (H - {n}) then 2 ^ (-8 * (h + 1) / (2 * {n})) else 2 ^ (-8 * (h - (H - "
           "{n}) + 1) / {n})");
    sloped(list, "alibi-exponent", "The slopes begin one step too early",
           "every slope is too large by the same factor, the first is 1",
           "Heads count from 1 in the exponent.", needs_alibi,
           "if h < {n} then 2 ^ (-8 * h / {n}) else 2 ^ (-8 * (h - {n}) / {n})");
    sloped(list, "alibi-exponent=plain",
           "The slopes of a power of two were used for another number, one step too early",
           "the first slope is 1, and every head has another one than it should",
           "Heads count from 1 in the exponent, and slopes go by powers of two.", needs_odd_alibi,
           "2 ^ (-8 * h / H)");
    entry(list, "alibi-sign", "position_bias", "ALiBi was added instead of taken off",
          "far keys gain what they should lose", alibi,
          "Distance costs: the bias is negative away from the diagonal.", needs_alibi,
          follows("position_bias[q,k] = -position_bias[q,k]"));
    entry(list, "alibi-scale", "biased_scores", "The bias was scaled with the scores",
          "distances count too little, by the root of the head's width", alibi,
          "BLOOM adds the bias after the scale; Falcon, trained so, before.",
          {needs_alibi,
           {[](const Plan& plan) { return plan.scales() && plan.scale.number != 1; },
            "nothing is scaled"}},
          follows("biased_scores[q,k] = scores[q,k] + position_bias[q,k]{scale}"));
    entry(list, "alibi-missing", "biased_scores", "ALiBi's bias was left out",
          "scores know no distance", "scores = scores + alibi",
          "A model trained with ALiBi has no other positions.", needs_alibi,
          left_out({"biased_scores"}));
    alibi_of_keys(list, false);
    entry(list, "t5-cross-bias=dropped", "biased_scores", "T5's bias was left out",
          "scores know no distance", "scores = scores + position_bias",
          "The first layer's table serves every layer of self-attention, and each call of it.",
          needs_t5, left_out({"biased_scores"}));
    entry(list, "t5-cross-bias=decode", "position_bias",
          "The bias of a new token was that of the first one",
          "after a cache every distance is counted from row 0",
          Fix("position_bias[:, :, -T:, :]", "position_bias[:, -T:, :]"),
          "With a cache the query stands at its end: take the last rows of the bias.",
          {needs_t5, rows_beside_positions()},
          with_plan({"buckets", "position_bias"},
                    [](Plan& plan) { plan.config.causal_align = CausalAlign::start; }));
    entry(list, "t5-cross-bias=cross", "scores", "T5's bias was added in cross-attention",
          "scores differ from query times key, though nothing should be added",
          Fix("position_bias = None  # in cross-attention",
              "scores = q @ k.swapaxes(-2, -1)  # no bias in cross-attention"),
          "T5 has its bias in self-attention alone: a decoder's token has no distance to an "
          "encoder's.",
          {{[](const Plan& plan) { return plan.has_memory && !plan.biases(); },
            "it is no cross-attention without a bias"},
           {has_table_of_t5, "no relative_attention_bias with a column for each head was given"}},
          follows({.step = "scores",
                   .compute = with_bias_of_t5,
                   .formula = "scores = query @ key^T + position_bias",
                   .lines = lines_with_bias_of_t5}));
    const char* const bucket = "bucket(j[None, :] - i[:, None], bidirectional=not is_decoder)";
    entry(list, "t5-direction", "position_bias", "The sign of the distance was reversed",
          "earlier keys take the numbers of later ones", bucket,
          "T5 counts from the query to the key: position of the key minus that of the query.",
          {needs_t5, needs_keys}, follows(mirrored_rule));
    entry(list, "t5-direction=flag", "position_bias",
          "The buckets of the other direction were used",
          "an encoder's table is read as a decoder's, or the other way round", bucket,
          "Encoders tell later keys apart, decoders have all buckets for earlier ones.",
          {needs_t5, {fits_both_directions, "the buckets fit one direction alone"}, needs_keys},
          with_plan({"buckets", "position_bias"}, [](Plan& plan) {
              MaskChoice& mask = plan.config.mask;
              mask.causal = bucket_rule(plan).bidirectional;
              mask.prefix.reset();
          }));
}

}  // namespace attn

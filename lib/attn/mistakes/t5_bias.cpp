#include "attn/cards/step_table.hpp"
#include "attn/codegen/literal.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/plan/mask_kinds.hpp"
#include "attn/plan/score_bias.hpp"
#include "attn/rules/inline.hpp"
#include "attn/rules/print.hpp"
#include "attn/walk/step_rule.hpp"

namespace attn {
namespace {

bool is_t5(const Plan& plan) {
    return plan.biases() && plan.config.position_bias->kind == PositionBias::Kind::t5;
}

NotApplicable needs_t5() { return unless(is_t5, "there is no bias of T5"); }

/// T5's bias with the sign of the distance reversed.
Tensor mirrored_buckets(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const DistanceBias<T> bias = distance_bias<T>(plan, ledger);
        Array<T> result = empty_array<T>(right.shape());
        T* cell = result.data();
        for (std::size_t h = 0; h < plan.heads; ++h) {
            for (std::size_t q = 0; q < plan.query_len; ++q) {
                const std::int64_t position = static_cast<std::int64_t>(q) + causal_offset(plan);
                for (std::size_t k = 0; k < plan.key_len; ++k) {
                    *cell++ = bias.at(h, position - static_cast<std::int64_t>(k));
                }
            }
        }
        return {right.axes(), std::move(result)};
    });
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
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const ScoreBias<T> bias(with_t5(plan), other);
        return {right.axes(), loop::add_bias(right.as<T>(), bias.view())};
    });
}

/// The rule of the bias, of the distance from the key to the query.
std::string mirrored_rule(const Plan& plan) {
    const StepTable& table = step_table();
    const PlannedStep of{plan, table, find_step(table, "position_bias")};
    const std::string heads = plan.has_head ? "h," : "";
    const Rule turned =
        completed(parse_rule("position_bias[" + heads + "q,k] = relative_attention_bias[" +
                             "buckets[k - offset, q + offset], " + (plan.has_head ? "h]" : "0]")),
                  of.step.outline(plan), rule_names(of));
    return rule_text(inlined(turned, [&](const std::string& name) {
        return name == "buckets" ? rule_of({plan, table, find_step(table, name)}) : std::nullopt;
    }));
}

const std::string t5_torch = "bucket(k[None, :] - q[:, None], bidirectional=not is_decoder)";

}  // namespace

void add_t5_bias_mistakes(std::vector<Mistake>& list) {
    entry(list, "t5-cross-bias=dropped", "biased_scores", "T5's bias was left out",
          "scores know no distance", "scores = scores + position_bias",
          "scores = scores + position_bias",
          "The first layer's table serves every layer of self-attention, and each call of "
          "it.",
          "", needs_t5(), left_out({"biased_scores"}));
    entry(list, "t5-cross-bias=decode", "position_bias",
          "The bias of a new token was that of the first one",
          "behind a cache every distance is counted from row 0", "position_bias[:, :, -T:, :]",
          "position_bias[:, -T:, :]",
          "With a cache the query stands at its end: take the last rows of the bias.", "",
          first_of({needs_t5(), unless([](const Plan& plan) { return causal_offset(plan) != 0; },
                                       "rows and positions are the same")}),
          with_plan({"buckets", "position_bias"},
                    [](Plan& plan) { plan.config.causal_align = CausalAlign::start; }));
    entry(list, "t5-cross-bias=cross", "scores", "T5's bias was added in cross-attention",
          "scores differ from query times key, though nothing should be added",
          "position_bias = None  # in cross-attention",
          "scores = q @ k.swapaxes(-2, -1)  # no bias in cross-attention",
          "T5 has its bias in self-attention alone: a decoder's token has no distance to an "
          "encoder's.",
          "",
          first_of({unless([](const Plan& plan) { return plan.has_memory && !plan.biases(); },
                           "it is no cross-attention without a bias"),
                    unless(has_table_of_t5,
                           "no relative_attention_bias with a column for each head was given")}),
          computed("scores", "scores = query @ key^T + position_bias", with_bias_of_t5,
                   [](const StepLines& of, const std::string& right) {
                       const Plan other = with_t5(of.plan);
                       const Step& bias = find_step(of.table, "position_bias");
                       return right + "\nrelative_attention_bias = " +
                              tensor_literal(*table_of_t5(of.plan), of.plan.compute_dtype,
                                             of.language) +
                              "\n" + bias.code({{other, of.table, bias}, of.language}) +
                              "\nscores = scores + position_bias";
                   }));
    entry(list, "t5-direction", "position_bias", "The sign of the distance was reversed",
          "earlier keys take the numbers of later ones", t5_torch, t5_torch,
          "T5 counts from the query to the key: position of the key minus that of the query.", "",
          first_of({needs_t5(), unless([](const Plan& plan) { return plan.key_len > 1; },
                                       "there is only one key")}),
          follows({.rule = mirrored_rule, .compute = mirrored_buckets}));
    entry(list, "t5-direction=flag", "position_bias",
          "The buckets of the other direction were used",
          "an encoder's table is read as a decoder's, or the other way round", t5_torch, t5_torch,
          "Encoders tell later keys apart, decoders have all buckets for earlier ones.", "",
          first_of(
              {needs_t5(),
               unless(
                   [](const Plan& plan) {
                       const PositionBias& bias = *plan.config.position_bias;
                       return bias.buckets % 4 == 0 && bias.max_distance > bias.buckets / 2;
                   },
                   "the buckets fit one direction alone"),
               unless([](const Plan& plan) { return plan.key_len > 1; }, "there is only one key")}),
          with_plan({"buckets", "position_bias"}, [](Plan& plan) {
              MaskChoice& mask = plan.config.mask;
              mask.causal = bucket_rule(plan).bidirectional;
              mask.prefix.reset();
          }));
}

}  // namespace attn

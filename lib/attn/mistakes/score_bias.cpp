#include <algorithm>
#include <bit>

#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/steps/position_bias.hpp"
#include "attn/steps/scaling.hpp"
#include "attn/steps/softcap.hpp"
#include "attn/text/number_text.hpp"

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

/// The cells of a tensor by another rule.
TableEdit cells_as(const std::string& step, std::function<double(double, const Plan&)> rule) {
    return replace_step(
        {step}, [rule](const Plan& plan, const Ledger& ledger, const Compute& before) {
            return mapped(before(plan, ledger), [&](double cell) { return rule(cell, plan); });
        });
}

/// Other slopes, one for each head.
Mistake sloped(std::string id, std::string title, std::string effect, std::string lesson,
               NotApplicable not_applicable,
               std::function<std::vector<double>(std::size_t heads)> slopes, Lines lines) {
    const auto compute = [slopes](const Plan& plan, const Ledger&, const Compute&) {
        return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
            using T = decltype(zero);
            const std::vector<double> wrong = slopes(plan.heads);
            Array<T> result = empty_array<T>({plan.heads});
            for (std::size_t h = 0; h < plan.heads; ++h) result(h) = static_cast<T>(wrong[h]);
            return {{"head"}, std::move(result)};
        });
    };
    return {std::move(id),
            "slopes",
            std::move(title),
            std::move(effect),
            "slopes = [2 ** (-8 * (h + 1) / H) for h in range(H)]  # H a power of two",
            "slopes = 2.0 ** (-8 * np.arange(1, H + 1) / H)  # H a power of two",
            std::move(lesson),
            "",
            std::move(not_applicable),
            replace_step({"slopes"}, compute),
            {{"slopes", std::move(lines)}}};
}

NotApplicable odd_alibi() {
    return first_of(
        {needs_alibi(), unless([](const Plan& plan) { return !std::has_single_bit(plan.heads); },
                               "the heads are a power of two")});
}

std::vector<double> plain_slopes(std::size_t heads) {
    std::vector<double> slopes;
    for (std::size_t h = 0; h < heads; ++h) {
        slopes.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(heads)));
    }
    return slopes;
}

/// The same with heads counted from 0.
std::vector<double> plain_early_slopes(std::size_t heads) {
    std::vector<double> slopes = plain_slopes(heads);
    for (double& slope : slopes) slope *= std::exp2(8.0 / static_cast<double>(heads));
    return slopes;
}

std::vector<double> sorted_slopes(std::size_t heads) {
    std::vector<double> slopes = alibi_slopes(heads);
    std::sort(slopes.rbegin(), slopes.rend());
    return slopes;
}

/// 2^(-8 h / H), h from 0 on.
std::vector<double> early_slopes(std::size_t heads) {
    std::vector<double> slopes = alibi_slopes(heads);
    const auto regular = static_cast<double>(std::bit_floor(heads));
    for (std::size_t h = 0; h < heads; ++h) {
        slopes[h] *= std::exp2(8 / (static_cast<double>(h) < regular ? regular : 2 * regular));
    }
    return slopes;
}

void scale_bias(Ledger& ledger, const Plan& plan) {
    const double factor = effect_of(plan.scale);
    for (const char* name : {"slopes", "position_bias"}) {
        const Tensor* right = ledger.find(name);
        if (right == nullptr) continue;
        ledger.record(name, mapped(*right, [factor](double number) { return number * factor; }));
    }
}

/// The score before the cap: the cap has not been applied, or not to this.
Tensor before_cap(const Plan&, const Ledger& ledger, const Compute&) {
    return ledger.latest(Chain::scores, "capped_scores");
}

Tensor capped_first(const Plan& plan, const Ledger& ledger, const Compute&) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger["scores"];
        return {scores.axes(),
                loop::scale(loop::soft_cap(scores.as<T>(), plan.config.softcap), plan.scale)};
    });
}

/// ALiBi that grows with the key's position, whatever the query.
Tensor by_key(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Array<T>& slopes = ledger["slopes"].as<T>();
        Array<T> result = empty_array<T>(right.shape());
        for (std::size_t i = 0; i < result.size(); ++i) {
            const std::size_t head = i / (plan.query_len * plan.key_len);
            result.data()[i] = static_cast<T>(i % plan.key_len) * slopes(head);
        }
        return {right.axes(), std::move(result)};
    });
}

std::string cap_text(const Plan& plan) {
    NumberBuffer buffer;
    return {buffer.data(), write_scalar(buffer.data(), plan.config.softcap)};
}

Lines key_form() {
    return [](const StepLines& of, const std::string& right) {
        const std::string square =
            std::to_string(of.plan.query_len) + ", " + std::to_string(of.plan.key_len);
        return replaced("-(torch|np)\\.abs\\(.* - ((torch|np)\\.arange\\([0-9]+\\))\\)",
                        of.torch() ? "$2.expand(" + square + ")"
                                   : "np.broadcast_to($2, (" + square + "))")(of, right);
    };
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
            replace_step({"position_bias"}, by_key),
            {{"position_bias", key_form()}}};
}

void add_score_bias_mistakes(std::vector<Mistake>& list) {
    add(list,
        {
            {"softcap-missing",
             "capped_scores",
             "The scores were not capped",
             "scores beyond the cap, and weights too sharp",
             cap_torch,
             cap_numpy,
             "A fused kernel may not know the argument: look for scores beyond the cap.",
             "",
             needs_cap(),
             replace_step({"capped_scores"}, before_cap),
             {{"capped_scores", say("capped_scores = {scores}")}}},
            {"softcap-outside",
             "capped_scores",
             "The scores were multiplied by tanh, not the cap",
             "small scores come out near 0, and large ones are not bounded",
             cap_torch,
             cap_numpy,
             "tanh takes the place of the score: what it is multiplied by is the cap.",
             "",
             needs_cap(),
             replace_step({"capped_scores"},
                          [](const Plan& plan, const Ledger& ledger, const Compute& before) {
                              return mapped(before_cap(plan, ledger, before), [&](auto score) {
                                  return score * std::tanh(score / plan.config.softcap);
                              });
                          }),
             {{"capped_scores",
               [](const StepLines& of, const std::string& right) {
                   const std::string scores = say("= {scores} *")(of, "");
                   return replaced("= [0-9.e+-]+ \\*", scores)(of, right);
               }}}},
            {"softcap-before-scale",
             "capped_scores",
             "The scores were capped before they were scaled",
             "no score comes near the cap: they end at the cap times the scale",
             "scores = cap * torch.tanh(scores * scale / cap)",
             "scores = cap * np.tanh(scores * scale / cap)",
             "The cap is for what softmax takes: scale first.",
             "",
             first_of({needs_cap(), needs_scale}),
             replace_step({"capped_scores"}, capped_first),
             {{"capped_scores",
               [](const StepLines& of, const std::string& right) {
                   return say("{right}{scale}")(of, replaced("scaled_scores", "scores")(of, right));
               }}}},
            {"softcap-after-mask",
             "masked_scores",
             "The cap came after the mask",
             "hidden keys have the score -cap instead of -inf, and a small weight",
             "scores = (cap * torch.tanh(scores / cap)).masked_fill(hidden, float('-inf'))",
             "scores = np.where(hidden, -np.inf, cap * np.tanh(scores / cap))",
             "tanh makes minus infinity finite: mask last.",
             "",
             first_of({needs_cap(), needs_mask}),
             cells_as("masked_scores",
                      [](double score, const Plan& plan) {
                          return score == -infinity ? -plan.config.softcap : score;
                      }),
             {{"masked_scores",
               [](const StepLines& of, const std::string& right) {
                   return replaced("float\\(\"-inf\"\\)|-np\\.inf", "-" + cap_text(of.plan))(of,
                                                                                             right);
               }}}},
            with_fix(
                sloped("alibi-slopes", "The slopes of a power of two were used for another number",
                       "every head but the last has another slope",
                       "ALiBi's slopes go by powers of two, whatever the number of heads.",
                       odd_alibi(), plain_slopes,
                       say("slopes = 2.0 ** (-8.0 * torch.arange(1, {H} + 1) / {H})",
                           "slopes = 2.0 ** (-8.0 * np.arange(1, {H} + 1) / {H})")),
                "n = 2 ** int(math.log2(H))  # H = 6: 4\nslopes = [2 ** (-8 * (h + 1) / n) for h "
                "in range(n)]\n"
                "slopes += [2 ** (-4 * (2 * h + 1) / n) for h in range(H - n)]",
                "n = 2 ** int(math.log2(H))  # H = 6: 4\nslopes = [2 ** (-8 * (h + 1) / n) for h "
                "in range(n)]\n"
                "slopes += [2 ** (-4 * (2 * h + 1) / n) for h in range(H - n)]"),
            sloped("alibi-slopes=sorted", "The slopes were sorted",
                   "heads have the slopes of other heads",
                   "With a number of heads that is no power of two, slopes are not in order.",
                   odd_alibi(), sorted_slopes,
                   say("{right}\nslopes = torch.sort(slopes, descending=True).values",
                       "{right}\nslopes = np.sort(slopes)[::-1]")),
            sloped("alibi-exponent", "The slopes begin one step too early",
                   "every slope is too large by the same factor, the first is 1",
                   "Heads count from 1 in the exponent.", needs_alibi(), early_slopes,
                   [](const StepLines& of, const std::string& right) {
                       const Lines first = replaced("\\(h \\+ 1\\)", "h");
                       return replaced("\\(2 \\* h \\+ 1\\)", "2 * h")(of, first(of, right));
                   }),
            with_fix(
                sloped(
                    "alibi-exponent=plain",
                    "The slopes of a power of two were used for another number, one step too early",
                    "the first slope is 1, and every head has another one than it should",
                    "Heads count from 1 in the exponent, and slopes go by powers of two.",
                    odd_alibi(), plain_early_slopes,
                    say("slopes = 2.0 ** (-8.0 * torch.arange({H}) / {H})",
                        "slopes = 2.0 ** (-8.0 * np.arange({H}) / {H})")),
                "n = 2 ** int(math.log2(H))  # H = 6: 4\nslopes = [2 ** (-8 * (h + 1) / n) for h "
                "in range(n)]\n"
                "slopes += [2 ** (-4 * (2 * h + 1) / n) for h in range(H - n)]",
                "n = 2 ** int(math.log2(H))  # H = 6: 4\nslopes = [2 ** (-8 * (h + 1) / n) for h "
                "in range(n)]\n"
                "slopes += [2 ** (-4 * (2 * h + 1) / n) for h in range(H - n)]"),
            {"alibi-sign",
             "position_bias",
             "ALiBi was added instead of taken off",
             "far keys gain what they should lose",
             alibi_torch,
             alibi_numpy,
             "Distance costs: the bias is negative away from the diagonal.",
             "",
             needs_alibi(),
             cells_as("position_bias", [](double bias, const Plan&) { return -bias; }),
             {{"position_bias", replaced("= -", "= ")}}},
            {"alibi-scale",
             "biased_scores",
             "The bias was scaled with the scores",
             "distances count too little, by the root of the head's width",
             alibi_torch,
             alibi_numpy,
             "BLOOM adds the bias after the scale; Falcon, trained so, before.",
             "",
             first_of(
                 {needs_alibi(),
                  unless([](const Plan& plan) { return plan.scales() && plan.scale.number != 1; },
                         "nothing is scaled")}),
             with_ledger({"biased_scores"}, scale_bias),
             {{"biased_scores", say("biased_scores = {scores} + position_bias{scale}")}}},
            {"alibi-missing", "biased_scores", "ALiBi's bias was left out",
             "scores know no distance", "scores = scores + alibi", "scores = scores + alibi",
             "A model trained with ALiBi has no other positions.", "", needs_alibi(),
             left_out({"biased_scores"}), left_out_lines({"biased_scores"})},
            alibi_of_keys(false),
        });
}

}  // namespace attn

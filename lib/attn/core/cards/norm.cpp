#include <algorithm>
#include <cmath>

#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/steps/norm.hpp"

namespace attn {
namespace {

bool is_rms(const Plan& plan) { return *plan.config.x_norm == NormKind::rms; }

std::optional<std::string> norm_word(std::string_view word, const PlannedStep& of) {
    const Plan& plan = of.plan;
    if (word == "eps") return json_number(plan.config.x_norm_eps);
    const bool has_bias = plan.config.parameters.has("b_x");
    if (word == "gained") return has_bias ? " * g_x[c] + b_x[c]" : " * g_x[c]";
    return std::nullopt;
}

}  // namespace

StepTable norm_cards() {
    return {
        drawn_card("g_x", "the gain of the norm of x",
                   [](const Plan& plan) { return plan.config.x_norm.has_value(); }),
        drawn_card("b_x", "the bias of the norm of x",
                   [](const Plan& plan) {
                       return plan.config.x_norm && plan.config.parameters.has("b_x");
                   }),
        with_loop(
            {
                .name = "normed_x",
                .title = "x with rows of one size, which query, key and value are made of",
                .applies = [](const Plan& plan) { return plan.has_x() && plan.config.x_norm; },
                .reads =
                    [](const Plan& plan) {
                        std::vector<Input> inputs{"x", "g_x"};
                        if (plan.config.parameters.has("b_x")) inputs.push_back("b_x");
                        return inputs;
                    },
                .outline = [](const Plan& plan) { return token_outline(plan, plan.embed_dim); },
                .at_once = [](const Plan& plan) { return plan.config.x_norm == NormKind::layer; },
                .rule =
                    texts({{is_rms,
                            "normed_x[t,c] = x[t,c] / sqrt((mean i: x[t,i] ^ 2) + {eps}){gained}"},
                           {"normed_x[t,c] = (x[t,c] - (mean i: x[t,i])) / "
                            "sqrt((mean j: (x[t,j] - (mean i: x[t,i])) ^ 2) + {eps}){gained}"}},
                          norm_word),
            },
            []<class T>(const LoopInputs<T>& in) {
                const WalkConfig& config = in.plan.config;
                return in.like_first(
                    norm(in[0], in[1], in.or_none(2), *config.x_norm, config.x_norm_eps));
            }),
    };
}

}  // namespace attn

#include <algorithm>
#include <cmath>

#include "attn/lint/lint_checks.hpp"
#include "attn/plan/mask_kinds.hpp"
#include "attn/text/number_text.hpp"

namespace attn::lint_checks {
namespace {

std::string window_text(const Plan& plan) {
    return "a window of " + std::to_string(*plan.config.mask.window) +
           (*plan.config.mask.window == 1 ? " key" : " keys");
}

bool is_t5(const Plan& plan) {
    return plan.biases() && plan.config.position_bias->kind == PositionBias::Kind::t5;
}

}  // namespace

Answer window_not_causal(const Plan& plan, const Ledger&) {
    const MaskChoice& mask = plan.config.mask;
    if (!mask.window || mask.causal || mask.prefix) return std::nullopt;
    return window_text(plan) + " hides earlier keys alone: every later one is seen";
}

Answer window_holds_all(const Plan& plan, const Ledger&) {
    const auto last = static_cast<std::int64_t>(plan.query_len) - 1 + causal_offset(plan);
    if (!plan.config.mask.window || *plan.config.mask.window <= last) return std::nullopt;
    return window_text(plan) + " holds all keys of these " + std::to_string(plan.query_len) +
           " queries: it hides nothing";
}

Answer t5_scale(const Plan& plan, const Ledger&) {
    if (!is_t5(plan) || !plan.scales()) return std::nullopt;
    return "the scores are scaled by " +
           brief(plan.scale.operation == ScaleFactor::Operation::divide ? 1 / plan.scale.number
                                                                        : plan.scale.number) +
           " and have T5's bias: T5 was trained without a scale";
}

Answer t5_cross(const Plan& plan, const Ledger&) {
    if (!is_t5(plan) || !plan.has_memory) return std::nullopt;
    return "queries and keys are of two sources, and distances between them get a bias";
}

Answer cap_without_effect(const Plan& plan, const Ledger& ledger) {
    const Tensor* capped = ledger.find("capped_scores");
    if (!plan.caps() || capped == nullptr) return std::nullopt;
    double largest = 0;
    for (std::size_t i = 0; i < capped->size(); ++i) {
        const double size = std::abs(capped->at(i));
        if (std::isfinite(size)) largest = std::max(largest, size);
    }
    if (largest > 0.05 * plan.config.softcap) return std::nullopt;
    return "the largest score is " + brief(largest) + " and the cap " + brief(plan.config.softcap) +
           ": it changes next to nothing";
}

}  // namespace attn::lint_checks

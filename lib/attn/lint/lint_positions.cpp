#include <algorithm>
#include <cmath>
#include <map>

#include "attn/lint/lint_checks.hpp"
#include "attn/text/strings.hpp"

namespace attn::lint_checks {

Answer beyond_training(const Plan& plan, const Ledger&) {
    constexpr double usual_theta = 10000;
    constexpr std::int64_t usual_length = 4096;
    const Rotary& rotary = plan.config.rotary;
    if (!plan.rotates() || rotary.scaling || rotary.theta != usual_theta) return std::nullopt;
    const std::int64_t last = *std::ranges::max_element(plan.config.positions);
    if (last < usual_length) return std::nullopt;
    return "position " + std::to_string(last) +
           " with base 10000 and no $rope-scaling: models "_told +
           "with this base were trained on at most " + std::to_string(usual_length) + " tokens";
}

Answer equal_positions(const Plan& plan, const Ledger&) {
    if (!plan.rotates() && !plan.adds_positions()) return std::nullopt;
    std::map<std::int64_t, std::size_t> seen;
    for (std::size_t t = 0; t < plan.config.positions.size(); ++t) {
        const std::int64_t position = plan.config.positions[t];
        const auto [earlier, is_new] = seen.try_emplace(position, t);
        if (is_new) continue;
        return "tokens " + std::to_string(earlier->second) + " and " + std::to_string(t) +
               " both stand at position " + std::to_string(position);
    }
    return std::nullopt;
}

Answer unseen_scaling(const Plan& plan, const Ledger& ledger) {
    if (!plan.rotates() || !plan.config.rotary.scaling) return std::nullopt;
    const Tensor& scaled = ledger["inverse_frequencies"];
    const std::size_t width = 2 * plan.rotary_pairs();
    const Array<double> without =
        loop::inverse_frequencies<double>(plan.config.rotary.theta, width);
    for (std::size_t i = 0; i < without.size(); ++i) {
        if (std::abs(scaled.at(i) / without(i) - 1) > 1e-5) return std::nullopt;
    }
    if (plan.rotary_factor() != 1) return std::nullopt;
    return "$rope-scaling changes none of the "_told + std::to_string(without.size()) +
           " frequencies: leaving it out would go unnoticed";
}

Answer rotary_width(const Plan& plan, const Ledger&) {
    const bool of_whole_heads = plan.rotates() && plan.first_rotated(plan.head_dim) == 0;
    if (!of_whole_heads || plan.head_dim % 16 == 0) return std::nullopt;
    return "head_dim " + std::to_string(plan.head_dim) +
           " rotates here; onnxruntime's GroupQueryAttention refuses widths that are no multiple "
           "of "
           "16";
}

}  // namespace attn::lint_checks

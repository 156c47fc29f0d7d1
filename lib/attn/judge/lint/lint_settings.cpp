#include <algorithm>
#include <cmath>
#include <map>

#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/lint/lint_checks.hpp"

namespace attn::lint_checks {
Answer beyond_training(const Plan& plan, const Ledger&) {
    constexpr double usual_theta = 10000;
    constexpr std::int64_t usual_length = 4096;
    const Rotary& rotary = plan.config.rotary;
    if (!plan.rotates() || rotary.scaling || rotary.theta != usual_theta) return std::nullopt;
    const std::int64_t last = *std::ranges::max_element(plan.config.positions);
    if (last < usual_length) return std::nullopt;
    return "position " + std::to_string(last) +
           " with base 10000 and no $rope-scaling: models "_message +
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
               " are both at position " + std::to_string(position);
    }
    return std::nullopt;
}

Answer unseen_scaling(const Plan& plan, const Ledger& ledger) {
    if (!plan.rotates() || !plan.config.rotary.scaling) return std::nullopt;
    const Tensor& scaled = ledger["inverse_frequencies"];
    const auto pairs = static_cast<double>(plan.rotary_pairs());
    for (std::size_t i = 0; i < scaled.size(); ++i) {
        const double turns = std::pow(plan.config.rotary.theta, static_cast<double>(i) / pairs);
        if (std::abs(scaled.at(i) * turns - 1) > 1e-5) return std::nullopt;
    }
    if (plan.rotary_factor() != 1) return std::nullopt;
    return "$rope-scaling changes none of the "_message + std::to_string(scaled.size()) +
           " frequencies: leaving it out would go unnoticed";
}

Answer coincident_sizes(const Plan& plan, const Ledger&) {
    struct Size {
        const char* name;
        std::size_t length;
    };
    std::vector<Size> sizes{{"query_len", plan.query_len}, {"head_dim", plan.head_dim}};
    if (plan.has_batch) sizes.push_back({"batch", plan.batch});
    if (plan.has_head) sizes.push_back({"heads", plan.heads});
    // Leave out sizes that are another one by default: they are always equal.
    if (plan.embed_dim != plan.head_dim) sizes.push_back({"embed_dim", plan.embed_dim});
    if (plan.value_dim != plan.head_dim) sizes.push_back({"value_dim", plan.value_dim});
    if (plan.has_memory) sizes.push_back({"key_len", plan.key_len});
    std::string equal;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        for (std::size_t j = i + 1; j < sizes.size(); ++j) {
            if (sizes[i].length != sizes[j].length) continue;
            equal += (equal.empty() ? "" : ", ") + std::string(sizes[i].name) + " = " +
                     sizes[j].name + " = " + std::to_string(sizes[i].length);
        }
    }
    if (equal.empty()) return std::nullopt;
    return equal + ": a wrong axis would go unnoticed";
}

Answer causal_lengths(const Plan& plan, const Ledger&) {
    if (!plan.config.mask.causal || plan.query_len == plan.key_len) return std::nullopt;
    return std::to_string(plan.query_len) + " queries and " + std::to_string(plan.key_len) +
           " keys under a causal mask: it is aligned with the " +
           std::string(word(plan.config.causal_align));
}

Answer no_power(const Plan& plan, const Ledger&) {
    std::string reasons;
    if (plan.query_len == 1 || plan.key_len == 1) {
        reasons = "with " + std::to_string(plan.query_len) +
                  (plan.query_len == 1 ? " query and " : " queries and ") +
                  std::to_string(plan.key_len) + (plan.key_len == 1 ? " key" : " keys") +
                  " there is little to see: softmax over one key is 1";
    }
    if (plan.heads == 1) {
        reasons += std::string(reasons.empty() ? "" : "; ") +
                   "with 1 head nothing is split or merged: mistakes there go unnoticed";
    }
    return reasons.empty() ? std::nullopt : Answer(reasons);
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
           ": it changes almost nothing";
}

Answer sink_share(const Plan&, const Ledger& ledger) {
    const Tensor* selected = ledger.find("sink_weight");
    if (selected == nullptr || selected->size() == 0) return std::nullopt;
    double sum = 0;
    for (std::size_t i = 0; i < selected->size(); ++i) sum += selected->at(i);
    const double share = sum / static_cast<double>(selected->size());
    if (!(share > 0.5)) return std::nullopt;
    return "the sink takes " + four_decimals(share) +
           " of the attention on average: the keys share what is left";
}

}  // namespace attn::lint_checks

#include "attn/lint/lint_checks.hpp"
#include "attn/text/json.hpp"
#include "attn/text/number_text.hpp"

namespace attn::lint_checks {

Answer equal_groups(const Plan& plan, const Ledger& ledger) {
    if (!plan.shares_keys() || ledger.has("latent")) return std::nullopt;
    const std::string keys = std::to_string(plan.kv_heads);
    if (plan.kv_heads == 1) {
        return "one key head for " + std::to_string(plan.heads) +
               " query heads: repeated and tiled keys are the same";
    }
    if (plan.queries_per_key() != plan.kv_heads) return std::nullopt;
    return keys + " key heads, and " + keys +
           " query heads for each: taking one number for the other would go unnoticed";
}

Answer sink_share(const Plan&, const Ledger& ledger) {
    const Tensor* taken = ledger.find("sink_weight");
    if (taken == nullptr || taken->size() == 0) return std::nullopt;
    double sum = 0;
    for (std::size_t i = 0; i < taken->size(); ++i) sum += taken->at(i);
    const double share = sum / static_cast<double>(taken->size());
    if (!(share > 0.5)) return std::nullopt;
    return "the sink takes " + four_decimals(share) +
           " of the attention on average: the keys share what is left";
}

Answer past_positions(const Plan& plan, const Ledger&) {
    const std::vector<std::int64_t>& positions = plan.config.positions;
    if (plan.past_len == 0 || !plan.rotates() || positions.empty()) return std::nullopt;
    if (positions.front() >= static_cast<std::int64_t>(plan.past_len)) return std::nullopt;
    return "the tokens of x stand from position " + std::to_string(positions.front()) +
           " on, behind a past of " + std::to_string(plan.past_len) +
           " keys: their distances to these come out wrong";
}

}  // namespace attn::lint_checks

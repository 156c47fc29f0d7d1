#include "attn/lint/lint_checks.hpp"
#include "attn/plan/words.hpp"
#include "attn/text/json.hpp"
#include "attn/text/number_text.hpp"

namespace attn::lint_checks {

Answer coincident_sizes(const Plan& plan, const Ledger&) {
    struct Size {
        const char* name;
        std::size_t length;
    };
    std::vector<Size> sizes{{"query_len", plan.query_len}, {"head_dim", plan.head_dim}};
    if (plan.has_batch) sizes.push_back({"batch", plan.batch});
    if (plan.has_head) sizes.push_back({"heads", plan.heads});
    // Leave out what is another name for a size above: its being equal says nothing.
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
    return equal + ": a mistaken axis would go unnoticed";
}

Answer causal_lengths(const Plan& plan, const Ledger&) {
    if (!plan.config.mask.causal || plan.query_len == plan.key_len) return std::nullopt;
    return std::to_string(plan.query_len) + " queries and " + std::to_string(plan.key_len) +
           " keys under a causal mask: it is aligned at the " +
           std::string(word(plan.config.causal_align));
}

Answer no_output_projection(const Plan& plan, const Ledger&) {
    if (plan.config.output_projection || plan.context_heads() == 1) return std::nullopt;
    return std::to_string(plan.context_heads()) +
           " heads stand side by side and nothing mixes them: no output projection";
}

Answer fused_by_head(const Plan& plan, const Ledger&) {
    if (plan.config.projection != Projection::fused_by_head) return std::nullopt;
    return "w_qkv is ordered head by head; GPT-2 and PyTorch order it query, key, value first";
}

Answer three_heads(const Plan& plan, const Ledger&) {
    if (!plan.one_weight() || plan.heads != 3) return std::nullopt;
    return "3 heads and 3 parts of w_qkv: cutting it in the wrong order keeps every shape";
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

}  // namespace attn::lint_checks

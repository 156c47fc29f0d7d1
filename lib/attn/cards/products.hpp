#pragma once
#include "attn/cards/cards.hpp"
#include "attn/why/why.hpp"

namespace attn {

// What the cards of query, key, value and output share: features times a weight, and their bias.

/// The formula of a parameter: where it comes from.
std::string learned(const PlannedStep& of);

/// True when the plan makes query, key and value from x.
inline bool projects(const Plan& plan) { return plan.config.projection != Projection::none; }

/// True when all three come out of a single product, x times w_qkv.
inline bool one_product(const Plan& plan) { return plan.one_weight() && !plan.has_memory; }

/// True when a projection gives all heads side by side, so that they still have to be split.
inline bool splits_projected(const Plan& plan) {
    return projects(plan) && plan.has_head && !plan.head_axis_on_weight() && !one_product(plan);
}

/// x (or memory) times the weight of one part, plus its bias.
Tensor project_part(const Plan& plan, const Ledger& ledger, const Projected& part, Axes axes);

/// `x @ w_query^T + b_query`, as the field writes it. An empty bias is none.
std::string product_formula(const Plan& plan, const std::string& source, const std::string& weight,
                            const std::string& bias);

/// What it reads, as a rule, as the field writes it, and as lines.
std::vector<Input> projection_inputs(const Plan& plan, const Projected& part);
std::string projection_rule(const Plan& plan, const Projected& part, const std::string& left,
                            const std::string& out);
std::string projection_formula(const Plan& plan, const Projected& part);
std::string projection_code(const StepLines& of, const Projected& part);

/// `NAME[...] = (sum c: x[t,c] * w_query[o,c]) + b_query[o]`: the rule of a product. `left` is what
/// it makes, `out` the indices of the parameters' outputs.
std::string product_rule(const Plan& plan, const std::string& left, const std::string& source,
                         const std::string& parameter, const std::string& out, bool has_bias);

/// Where feature `f` of head `h` of a part lies among those of all heads side by side, in qkv or
/// in the projected tensor; `h` is empty where there is no head axis.
std::string fused_index(const Plan& plan, const Projected& part, const std::string& h);
std::string split_index(const Projected& part, const Plan& plan, const std::string& h);

/// The index range of a part's features in qkv: of all heads, or of one where they go head by head.
std::string feature_range(const Plan& plan, const Projected& part);

/// In which order the features of qkv stand: `what` lies along `axis` of the subject.
std::string qkv_order(const notes::Subject& subject, const std::string& what,
                      const std::string& axis);

/// Which features of a projected tensor are which head's.
std::string head_features(const notes::Subject& subject, const Projected& part);

/// `The bias b_query adds the same vector to each token.` where the projection has one.
std::string bias_sentence(const PlannedStep& of, const std::string& parameter);

}  // namespace attn

#include "attn/core/steps/mask.hpp"

#include <limits>
#include <set>

#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/visibility.hpp"

namespace attn {
namespace {

// mask: which keys each query may not see.

bool masks(const Plan& plan) { return keeps_scores(plan) && plan.masks(); }

/// The mask has no more axes than it needs: a causal one has those of the queries and the keys.
Outline mask_outline(const Plan& plan) { return {mask_axes(plan), mask_shape(plan)}; }

Tensor compute_mask(const Plan& plan, const Ledger&) { return Visibility(plan).mask(); }

/// Hidden where any kind hides; an index is the first letter of its axis: b, h, q, k.
std::string mask_rule(const PlannedStep& of) {
    std::string hides;
    for (const MaskKind& kind : mask_kinds()) {
        if (!kind.chosen(of.plan.config.mask)) continue;
        const std::string where = kind.rule(of.plan);
        if (where.empty()) return {};
        hides += (hides.empty() ? "" : " or ") + where;
    }
    std::string letters;
    for (const std::string& axis : mask_outline(of.plan).axes) {
        letters += (letters.empty() ? "" : ",") + axis.substr(0, 1);
    }
    return "mask[" + letters + "] = " + hides;
}

}  // namespace

StepTable mask_cards() {
    return {
        {
            .name = "mask",
            .title = "which keys each query may not see (true = hidden)",
            .holds = RuleType::truth,
            .applies = masks,
            .outline = mask_outline,
            .rule = mask_rule,
            .compute = compute_mask,
        },
        with_loop(
            {
                .name = "masked_scores",
                .title = "the scores, with -inf where the mask hides",
                .chain = Chain::scores,
                .applies = masks,
                .reads = these({Chain::scores, "mask"}),
                .outline = score_outline,
                .rule = always("masked_scores[q,k] = if mask[q,k] then -inf else scores[q,k]"),
            },
            []<class T>(const LoopInputs<T>& in) {
                const auto step = in.twin(loop::apply_mask<T>, vectorized::apply_mask<T>);
                return in.like_first(step(in[0], in.truths(1)));
            }),
    };
}

}  // namespace attn

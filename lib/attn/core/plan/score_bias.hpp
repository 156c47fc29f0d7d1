#pragma once
#include "attn/core/plan/ledger.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/steps/position_bias.hpp"

namespace attn {

/// Returns T5's bucket rule: with a causal mask all later keys share a bucket.
BucketRule bucket_rule(const Plan& plan);

/// Returns the bias by distance, from the plan and the ledger's slopes or table.
template <class T>
DistanceBias<T> distance_bias(const Plan& plan, const Ledger& ledger);

/// The bias of each query and key for steps and kernels: the ledger's position_bias if it has one,
/// else computed from the plan by distance, without one number per cell.
template <class T>
class ScoreBias {
public:
    /// The ledger must outlive it.
    ScoreBias(const Plan& plan, const Ledger& ledger);
    /// Returns null numbers without a bias. Points into this object or into the ledger.
    const BiasView<T>& view() const { return view_; }

private:
    Array<T> numbers_;
    BiasView<T> view_;
};

/// Checks the cap and the bias.
///
/// Errors  ConfigError or ShapeError naming the setting.
void resolve_score_changes(const Plan& plan);

}  // namespace attn

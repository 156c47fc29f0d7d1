#pragma once
#include "attn/core/plan/ledger.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/steps/position_bias.hpp"

namespace attn {

/// How T5 sorts distances: under a causal mask it tells no later keys apart.
BucketRule bucket_rule(const Plan& plan);

/// The parts of a bias by distance, from the plan and the ledger's slopes or table.
template <class T>
DistanceBias<T> distance_bias(const Plan& plan, const Ledger& ledger);

/// The bias of each query and key, as steps and kernels read it: the ledger's
/// position_bias where it has one, else the same from the plan, with no number for each cell.
template <class T>
class ScoreBias {
public:
    /// The ledger must outlive it.
    ScoreBias(const Plan& plan, const Ledger& ledger);
    /// Null numbers without a bias. Points into this object or into the ledger.
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

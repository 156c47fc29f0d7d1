#include "attn/core/plan/score_bias.hpp"

#include <cmath>

#include "attn/core/plan/mask_kinds.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using BiasKind = PositionBias::Kind;

/// Broadcasts a bias from a file to the scores of the plan.
template <class T>
BiasView<T> view_for(const Plan& plan, const Array<T>& bias) {
    BiasView<T> view = bias_view(bias, plan.per_head_shape(plan.query_len, plan.key_len));
    // A single leading axis other than the head's is the batch.
    if (!plan.has_head) std::swap(view.batch_stride, view.head_stride);
    view.heads = plan.heads;
    return view;
}

}  // namespace

BucketRule bucket_rule(const Plan& plan) {
    const PositionBias& bias = *plan.config.position_bias;
    const MaskChoice& mask = plan.config.mask;
    return {bias.buckets, bias.max_distance, !mask.is_causal()};
}

template <class T>
DistanceBias<T> distance_bias(const Plan& plan, const Ledger& ledger) {
    if (plan.config.position_bias->kind == BiasKind::alibi) {
        const Array<T>& slopes = ledger["slopes"].as<T>();
        return {column_of(slopes.data(), 1, slopes.size()), {}, {}};
    }
    return {{}, matrices_of(ledger["relative_attention_bias"].as<T>()), bucket_rule(plan)};
}

template <class T>
ScoreBias<T>::ScoreBias(const Plan& plan, const Ledger& ledger) {
    if (!plan.biases()) return;
    if (const Tensor* computed = ledger.find("position_bias")) {
        view_ = view_for(plan, computed->as<T>());
    } else if (plan.config.position_bias->kind == BiasKind::file) {
        numbers_ = cast(*plan.config.position_bias->given, plan.compute_dtype).template as<T>();
        view_ = view_for(plan, numbers_);
    } else {
        numbers_ = bias_by_distance(distance_bias<T>(plan, ledger), causal_offset(plan),
                                    plan.query_len, plan.key_len);
        view_ = view_by_distance(numbers_, plan.key_len);
    }
}

void resolve_score_changes(const Plan& plan) {
    const double cap = plan.config.softcap;
    refuse_unless(std::isfinite(cap) && cap >= 0,
                  "$softcap must be a number above 0, or 0 for none: Gemma 2 uses 50"_message);
    if (!plan.biases()) return;
    const PositionBias& bias = *plan.config.position_bias;
    if (bias.kind == BiasKind::file) {
        refuse_unless(
            bias.given->dimension() > 0,
            "$position-bias: the tensor is a single number: give one for each key"_message);
        broadcast_strides("$position-bias or $mask-file: the tensor"_message, bias.given->shape(),
                          "the scores", plan.per_head_shape(plan.query_len, plan.key_len));
    }
    if (bias.kind != BiasKind::t5) return;
    const BucketRule rule = bucket_rule(plan);
    const std::int64_t least = rule.bidirectional ? 4 : 2;
    refuse_unless(bias.buckets >= least && bias.buckets % least == 0,
                  "$position-bias t5 needs buckets in multiples of "_message +
                      std::to_string(least) +
                      (rule.bidirectional ? " (half of them are for later keys)" : "") + ", not " +
                      std::to_string(bias.buckets) + ": T5 has t5:32:128");
    refuse_unless(bias.max_distance > rule.exact(),
                  "$position-bias t5: the largest distance must be more than "_message +
                      std::to_string(rule.exact()) + ", not " + std::to_string(bias.max_distance) +
                      ": T5 has t5:32:128");
}

template DistanceBias<float> distance_bias(const Plan&, const Ledger&);
template DistanceBias<double> distance_bias(const Plan&, const Ledger&);
template class ScoreBias<float>;
template class ScoreBias<double>;

}  // namespace attn

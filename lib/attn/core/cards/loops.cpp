#include <algorithm>

#include "attn/core/cards/card_text.hpp"
#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/core/steps/cache.hpp"
#include "attn/core/steps/context.hpp"
#include "attn/core/steps/heads.hpp"
#include "attn/core/steps/mask.hpp"
#include "attn/core/steps/norm.hpp"
#include "attn/core/steps/position_bias.hpp"
#include "attn/core/steps/projection.hpp"
#include "attn/core/steps/qk_norm.hpp"
#include "attn/core/steps/rotate.hpp"
#include "attn/core/steps/scaling.hpp"
#include "attn/core/steps/scores.hpp"
#include "attn/core/steps/sink.hpp"
#include "attn/core/steps/softcap.hpp"
#include "attn/core/steps/softmax.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

// The hand-written functions of core/steps, by the words after `loop` in attention files. Each
// takes the inputs of its step, in the order of its card.

namespace attn {
namespace {

/// Returns the axis of softmax in the first input.
template <class T>
std::size_t softmax_axis(const LoopInputs<T>& in) {
    return in.tensor(0).axis(std::string(word(in.plan.config.softmax_axis)));
}

/// Returns a tensor with one number per row of softmax.
template <class T>
Tensor of_rows(const LoopInputs<T>& in, Array<T> numbers) {
    Axes axes = in.tensor(0).axes();
    std::erase(axes, std::string(word(in.plan.config.softmax_axis)));
    return {std::move(axes), std::move(numbers)};
}

/// Computes the share of the sink. Its rule reads the parts of softmax, which a walk may skip.
Step::Compute share_of_sink(const Step& step) {
    return [its_rule = by_rule(step)](const Plan& plan, const Ledger& ledger) {
        // In 16-bit walks the parts are rounded, but softmax is not until its end.
        const Tensor* const sums = ledger.find("row_sum");
        if (sums != nullptr && sums->dtype() == plan.compute_dtype) return its_rule(plan, ledger);
        Ledger with_parts = ledger;
        for (const char* part : {"row_max", "exponentials", "row_sum"}) {
            with_parts.record(part, find_step(step_table(), part).compute(plan, with_parts));
        }
        return its_rule(plan, with_parts);
    };
}

/// Returns the rows (out) of w_qkv or b_qkv that belong to one part.
template <class T>
Array<T> rows_of(const Plan& plan, const Array<T>& parameter, const Projected& part) {
    const std::vector<std::size_t> features = plan.fused_features(part.number);
    if (parameter.dimension() == 1 || *plan.config.weight_layout == WeightLayout::in_out) {
        return take_features(parameter, features);
    }
    const std::size_t width = parameter.shape(1);
    Array<T> rows = empty_array<T>({features.size(), width});
    for (std::size_t r = 0; r < features.size(); ++r) {
        std::copy_n(parameter.data() + features[r] * width, width, rows.data() + r * width);
    }
    return rows;
}

const NamedLoop all_loops[]{
    {"add_position_bias", [](const Step&) -> Step::Compute { return compute_biased_scores; }, true},
    {"angles",
     [](const Step& step) {
         return in_loops(
             step, []<class T>(const LoopInputs<T>& in) { return angles(in.whole(0), in[1]); });
     },
     true},
    {"append",
     [](const Step& step) {
         return in_loops(
             step, []<class T>(const LoopInputs<T>& in) { return append_tokens(in[0], in[1]); });
     }},
    {"apply_mask",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto mask = in.twin(loop::apply_mask<T>, vectorized::apply_mask<T>);
             return in.like_first(mask(in[0], in.truths(1)));
         });
     }},
    {"blocks", [](const Step&) -> Step::Compute { return blockwise_context; }, true},
    {"buckets", [](const Step&) -> Step::Compute { return compute_buckets; }, true},
    {"context",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto mix = in.twin(loop::context<T>, vectorized::context<T>);
             return mix(in[0], in[1], in.plan.attention_arithmetic);
         });
     }},
    {"correction", [](const Step&) { return running_number(&FusedBlock::correction); }, true},
    {"cosines",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             return cosines(in[0], in.plan.rotary_factor());
         });
     },
     true},
    {"exponentials",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto raise = in.twin(loop::exponentials<T>, vectorized::exponentials<T>);
             return in.like_first(raise(in[0], in[1], softmax_axis(in)));
         });
     }},
    {"inverse_frequencies",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             return inverse_frequencies<T>(in.plan.rotary_base(), 2 * in.plan.rotary_pairs());
         });
     },
     true},
    {"mask",
     [](const Step&) -> Step::Compute {
         return [](const Plan& plan, const Ledger&) -> Tensor { return Visibility(plan).mask(); };
     },
     true},
    {"merge_heads",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             return in.twin(loop::merge_heads<T>, vectorized::merge_heads<T>)(in[0]);
         });
     }},
    {"norm",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const WalkConfig& config = in.plan.config;
             return in.like_first(
                 norm(in[0], in[1], in.or_none(2), *config.x_norm, config.x_norm_eps));
         });
     },
     true},
    {"normalise",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const QkNorm& how = in.plan.config.qk_norm;
             const Projected& part = projected_of(in.step == "normed_key" ? 'k' : 'q');
             return in.like_first(normalise(in[0], in.or_none(1), *how.over, how.eps,
                                            in.plan.has_head ? part.heads(in.plan) : 1));
         });
     },
     true},
    {"partial_context", [](const Step&) -> Step::Compute { return partial_context; }, true},
    {"position_bias", [](const Step&) -> Step::Compute { return compute_position_bias; }, true},
    {"positions",
     [](const Step& step) -> Step::Compute {
         return [standing = Standing{step.name.starts_with("memory")}](const Plan& plan,
                                                                       const Ledger&) -> Tensor {
             const std::vector<std::int64_t>& positions = standing.positions(plan);
             Array<std::int64_t> numbers = empty_array<std::int64_t>({positions.size()});
             std::ranges::copy(positions, numbers.data());
             return {{"token"}, std::move(numbers)};
         };
     },
     true},
    {"project",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto project = in.twin(loop::project<T>, vectorized::project<T>);
             const WeightLayout layout = *in.plan.config.weight_layout;
             const Projected* const part = in.plan.one_weight() ? part_of(in.step) : nullptr;
             if (part == nullptr) {
                 return project(in[0], in[1], in.or_none(2), layout, in.plan.arithmetic);
             }
             return project(in[0], rows_of(in.plan, in[1], *part),
                            in.has(2) ? rows_of(in.plan, in[2], *part) : in.or_none(2), layout,
                            in.plan.arithmetic);
         });
     }},
    {"repeat_heads",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             return in.like_first(repeat_heads(in[0], in.plan.queries_per_key()));
         });
     }},
    {"rms_norm",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const double eps = in.step == "normed_context" ? context_norm_eps : latent_norm_eps;
             return in.like_first(norm(in[0], in[1], Array<T>(), NormKind::rms, eps));
         });
     }},
    {"rotate",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             return in.like_first(rotate(in[0], in[1], in[2], *in.plan.config.rotary.pairing,
                                         in.plan.first_rotated(in.tensor(0).shape().back())));
         });
     },
     true},
    {"row_max",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto maximum = in.twin(loop::row_max<T>, vectorized::row_max<T>);
             Array<T> largest = maximum(in[0], softmax_axis(in));
             if (in.has(1)) raise_to_sink(sink_of(in), one_a_query(largest));
             return of_rows(in, std::move(largest));
         });
     }},
    {"row_sum",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto add = in.twin(loop::row_sum<T>, vectorized::row_sum<T>);
             Array<T> sums = add(in[0], softmax_axis(in));
             if (in.has(2)) add_sink(sink_of(in), one_a_query(in[1]), one_a_query(sums));
             return of_rows(in, std::move(sums));
         });
     }},
    {"running_max", [](const Step&) { return running_number(&FusedBlock::maximum); }, true},
    {"running_sum", [](const Step&) { return running_number(&FusedBlock::sum); }, true},
    {"scale",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto scale = in.twin(loop::scale<T>, vectorized::scale<T>);
             return in.like_first(scale(in[0], in.plan.scale));
         });
     }},
    {"scores",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto compare = in.twin(loop::scores<T>, vectorized::scores<T>);
             return compare(in[0], in[1], in.plan.attention_arithmetic);
         });
     }},
    {"sines",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             return sines(in[0], in.plan.rotary_factor());
         });
     },
     true},
    {"sink_weight", share_of_sink, true},
    {"slopes",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const std::vector<double> slopes = alibi_slopes(in.plan.heads);
             Array<T> result = empty_array<T>({slopes.size()});
             std::ranges::transform(slopes, result.data(),
                                    [](double slope) { return static_cast<T>(slope); });
             return result;
         });
     },
     true},
    {"soft_cap",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto cap = in.twin(loop::soft_cap<T>, vectorized::soft_cap<T>);
             return in.like_first(cap(in[0], in.plan.config.softcap));
         });
     }},
    {"softmax",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto softmax = in.twin(loop::softmax<T>, vectorized::softmax<T>);
             return in.like_first(
                 softmax(in[0], softmax_axis(in), in.plan.config.empty_row, sink_of(in)));
         });
     }},
    {"split_heads",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto split = in.twin(loop::split_heads<T>, vectorized::split_heads<T>);
             return in.plan.has_head ? split(in[0], part_of(in.step)->heads(in.plan)) : in[0];
         });
     },
     true},
    {"take_part",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto split = in.twin(loop::split_heads<T>, vectorized::split_heads<T>);
             const Projected& part = *part_of(in.step);
             Array<T> features = take_features(in[0], in.plan.fused_features(part.number));
             return in.plan.has_head ? split(features, part.heads(in.plan)) : features;
         });
     },
     true},
};

}  // namespace

const NamedLoop& loop_called(std::string_view name) {
    const auto known = std::ranges::find(all_loops, name, &NamedLoop::name);
    if (known != std::end(all_loops)) return *known;
    std::vector<std::string> names;
    for (const NamedLoop& each : all_loops) names.emplace_back(each.name);
    throw ConfigError("there is no loop '" + std::string(name) + "'" +
                      did_you_mean(std::string(name), names, ": there are " + joined(names, ", ")));
}

const NamedLoop& loop_for_files(std::string_view name) {
    const NamedLoop& loop = loop_called(name);
    if (!loop.is_of_walk) return loop;
    throw ConfigError("the loop " + std::string(name) +
                      " makes a step of the walk itself: leave it out, and the rule is computed");
}

}  // namespace attn

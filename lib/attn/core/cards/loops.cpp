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
#include "attn/core/steps/projection.hpp"
#include "attn/core/steps/qk_norm.hpp"
#include "attn/core/steps/scaling.hpp"
#include "attn/core/steps/scores.hpp"
#include "attn/core/steps/sink.hpp"
#include "attn/core/steps/softcap.hpp"
#include "attn/core/steps/softmax.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

// The hand-written functions of core/steps, by the words that attention files say after `loop`.
// Each takes what its step reads, in the order in which its card says it.

namespace attn {
namespace {

/// The axis that softmax goes along, of the tensor that is read first.
template <class T>
std::size_t softmax_axis(const LoopInputs<T>& in) {
    return in.tensor(0).axis(std::string(word(in.plan.config.softmax_axis)));
}

/// A tensor of one number for each row of softmax.
template <class T>
Tensor of_rows(const LoopInputs<T>& in, Array<T> numbers) {
    Axes axes = in.tensor(0).axes();
    std::erase(axes, std::string(word(in.plan.config.softmax_axis)));
    return {std::move(axes), std::move(numbers)};
}

/// The share of the sink. Its rule reads the parts of softmax, which a walk may leave out.
Step::Compute share_of_sink(const Step& step) {
    return [its_rule = by_rule(step)](const Plan& plan, const Ledger& ledger) {
        // Those of a walk in 16 bits are rounded, and softmax is not until it is whole.
        const Tensor* const sums = ledger.find("row_sum");
        if (sums != nullptr && sums->dtype() == plan.compute_dtype) return its_rule(plan, ledger);
        Ledger with_parts = ledger;
        for (const char* part : {"row_max", "exponentials", "row_sum"}) {
            with_parts.record(part, find_step(step_table(), part).compute(plan, with_parts));
        }
        return its_rule(plan, with_parts);
    };
}

const NamedLoop all_loops[]{
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
    {"blocks", [](const Step&) -> Step::Compute { return blockwise_context; }},
    {"context",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto mix = in.twin(loop::context<T>, vectorized::context<T>);
             return mix(in[0], in[1], in.plan.attention_arithmetic);
         });
     }},
    {"context_norm",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             return in.like_first(norm(in[0], in[1], Array<T>(), NormKind::rms, context_norm_eps));
         });
     }},
    {"exponentials",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto raise = in.twin(loop::exponentials<T>, vectorized::exponentials<T>);
             return in.like_first(raise(in[0], in[1], softmax_axis(in)));
         });
     }},
    {"mask",
     [](const Step&) -> Step::Compute {
         return [](const Plan& plan, const Ledger&) -> Tensor { return Visibility(plan).mask(); };
     }},
    {"merge_heads",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             return in.twin(loop::merge_heads<T>, vectorized::merge_heads<T>)(in[0]);
         });
     }},
    {"normalise",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const QkNorm& how = in.plan.config.qk_norm;
             const Projected& part = projected_of(in.step == "normed_key" ? 'k' : 'q');
             return in.like_first(normalise(in[0], in.or_none(1), *how.over, how.eps,
                                            in.plan.has_head ? part.heads(in.plan) : 1));
         });
     }},
    {"project",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             const auto project = in.twin(loop::project<T>, vectorized::project<T>);
             return project(in[0], in[1], in.or_none(2), *in.plan.config.weight_layout,
                            in.plan.arithmetic);
         });
     }},
    {"repeat_heads",
     [](const Step& step) {
         return in_loops(step, []<class T>(const LoopInputs<T>& in) {
             return in.like_first(repeat_heads(in[0], in.plan.queries_per_key()));
         });
     }},
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
    {"running_max", [](const Step&) { return running_number(&FusedBlock::maximum); }},
    {"running_sum", [](const Step&) { return running_number(&FusedBlock::sum); }},
    {"correction", [](const Step&) { return running_number(&FusedBlock::correction); }},
    {"partial_context", [](const Step&) -> Step::Compute { return partial_context; }},
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
    {"sink_weight", share_of_sink},
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

}  // namespace attn

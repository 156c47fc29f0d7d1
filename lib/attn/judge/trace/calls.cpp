#include <algorithm>

#include "attn/core/plan/given_sizes.hpp"
#include "attn/judge/trace/heads.hpp"

namespace attn {
namespace {

constexpr std::string_view call_prefix = "step ";

bool is_of_call(const Traced& tensor) { return tensor.name.starts_with(call_prefix); }

Arranged whole(const Traced& tensor) {
    return {tensor.is_row ? Shape{tensor.all.size()} : tensor.shape, tensor.all, tensor.dtype};
}

Alignment of_call(const Trace& trace, std::size_t first, std::size_t last,
                  const RequestedWalk& base) {
    Alignment alignment;
    alignment.requested.config = base.config;
    alignment.from = first;
    Ledger given;
    std::vector<std::size_t> results;
    for (std::size_t i = first; i <= last; ++i) {
        const std::string step = trace[i].name.substr(call_prefix.size());
        const Arranged all = whole(trace[i]);
        if (step == "output" || step == "context" || step == "query" || step == "key" ||
            step == "value") {
            results.push_back(i);
        } else {
            given.record(step, all.tensor());
            if (step == "x" || step == "memory") alignment.beside[i].push_back(step);
        }
    }
    if (given.find("dropout") != nullptr) {
        alignment.ask(trace[first],
                      "dropout is on, so this result is random and was not judged: call .eval() "
                      "of the model first");
        return alignment;
    }
    Ledger start;
    for (const std::size_t i : results) {
        const std::string step = trace[i].name.substr(call_prefix.size());
        const Arranged all = whole(trace[i]);
        alignment.requested.user_tensors.record(trace[i].label, all.tensor());
        alignment.steps[trace[i].label] = step;
        alignment.places[trace[i].label] = i;
        start.record(step, all.tensor());
    }
    SpecifiedSettings specified = base.specified;
    const Traced& result = trace[results.empty() ? first : results.back()];
    const std::size_t tokens = result.shape[result.rank() - 2];
    const Tensor* const hidden = given.find("mask");
    const bool is_causal_call =
        hidden == nullptr ||
        (hidden->shape().back() == tokens && hidden->shape()[hidden->dimension() - 2] == tokens);
    if (!given.has("x")) {
        alignment.takes_projections = true;
        take_direct_sizes(start, specified, alignment.requested.config);
    }
    take_given(given, specified, alignment.requested.config);
    const auto beside = is_causal_call && hidden != nullptr
                            ? next_to_causal(hidden->numbers(), tokens)
                            : std::nullopt;
    const bool has_tensor = tokens > 1 && has_causal_tensor(trace, first, tokens);
    const bool is_of_itself = given.has("x") && !given.has("memory");
    if (has_tensor && (hidden == nullptr || (is_of_itself && !is_causal_call))) {
        alignment.ask(trace[first], no_mask_here);
    }
    if (is_causal_call && tokens > 1 && (beside || (has_tensor && hidden != nullptr))) {
        alignment.requested.config.mask.causal = true;  // together with the mask
        std::optional<Tensor>& more = alignment.requested.config.mask.given;
        if (beside) more = Arranged{hidden->shape(), *beside, DType::boolean}.tensor();
        if (beside && std::ranges::count(*beside, 0) == std::ssize(*beside)) more.reset();
    }
    // Steps that PyTorch computes in between have no line of their own.
    for (const std::size_t i : results) {
        const std::string step = trace[i].name.substr(call_prefix.size());
        if (step != "output" && step != "context") continue;
        std::vector<std::string> inner{"scores", "scaled_scores", "weights"};
        if (alignment.requested.config.mask.any()) inner.insert(inner.begin() + 2, "masked_scores");
        if (given.has("x")) {
            const std::vector<std::string> before{
                "projected_query", "projected_key", "projected_value", "query", "key", "value"};
            inner.insert(inner.begin(), before.begin(), before.end());
            inner.insert(inner.end(), {"context", "merged"});
        }
        alignment.beside[i] = std::move(inner);
    }
    specified.heads = specified.projection = specified.source = specified.mask = true;
    alignment.requested.specified = specified;
    return alignment;
}

}  // namespace

std::vector<Alignment> alignments_of_calls(const Trace& trace, const RequestedWalk& base) {
    std::vector<Alignment> found;
    for (std::size_t i = 0; i < trace.size(); ++i) {
        if (!is_of_call(trace[i])) continue;
        std::size_t last = i;
        const auto goes_on = [&](std::size_t next) {
            return next < trace.size() && is_of_call(trace[next]) &&
                   trace[next - 1].name != "step heads";
        };
        while (goes_on(last + 1)) ++last;
        found.push_back(of_call(trace, i, last, base));
        i = last;
    }
    return found;
}

}  // namespace attn

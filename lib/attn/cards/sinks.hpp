#pragma once
#include <span>

#include "attn/cards/cards.hpp"
#include "attn/steps/sink.hpp"
#include "attn/why/why.hpp"

namespace attn {

// What the cards of softmax ask of the sink.

/// The logits of the sink, one for each head; empty without one.
template <class T>
std::span<const T> sink_of(const Ledger& ledger) {
    const Tensor* sink = ledger.find("sink");
    if (sink == nullptr) return {};
    const Array<T>& logits = sink->as<T>();
    return {logits.data(), logits.size()};
}

/// What row_sum reads.
std::vector<Input> summed_with_sink(const Plan& plan);

/// Its cell in a rule.
std::string sink_cell(const Plan& plan);
/// The sink as it meets one number for each query.
std::string sink_code(const StepLines& of);
/// Softmax over the keys and the sink, of which the keys' part is kept.
std::string weights_with_sink_code(const StepLines& of);

}  // namespace attn

#pragma once
#include <map>

#include "attn/judge/trace/explain.hpp"

namespace attn {

/// Moves a mistake to the line of its own step if it was found later. A missing step has no line:
/// its mistake belongs to the line before it, which should be followed by the step.
void move_to_missing_steps(const Diagnosis& diagnosis, std::map<std::size_t, ExplainedLine>& lines);

/// Moves a wrong scale to the line that scaled the query or the key, and a wrong mask, if the
/// scores were masked several times, to the line that hides such cells: padding hides the same keys
/// from all queries.
void move_to_causes(const Alignment& alignment, const Trace& trace, ExplainedAttention& result);

}  // namespace attn

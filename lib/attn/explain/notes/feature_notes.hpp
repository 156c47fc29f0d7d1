#pragma once
#include <string>

#include "attn/explain/notes/notes.hpp"

namespace attn::notes {

/// Names the features along the axes of a tensor, and the example that they are from; empty if no
/// one named them.
std::string feature_sentence(const PlannedStep& of, const Tensor& tensor);

}  // namespace attn::notes

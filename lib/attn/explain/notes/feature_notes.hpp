#pragma once
#include <string>

#include "attn/explain/notes/notes.hpp"

namespace attn::notes {

/// Lists the names of the features along the axes of a tensor, and their example; empty if features
/// have no names.
std::string feature_sentence(const PlannedStep& of, const Tensor& tensor);

}  // namespace attn::notes

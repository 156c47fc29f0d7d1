#pragma once
#include <string>

#include "attn/tensor/tensor.hpp"

namespace attn {

/// Where the cells of a tensor of truths are true, in runs, as a rule says it: `k >= 3`,
/// `b == 1 and k < 2 or ...`. `letters` are the indices of its axes.
std::string where_true(const Array<bool>& cells, const std::string& letters);

}  // namespace attn

#pragma once
#include <string>
#include <vector>

#include "attn/core/walk/step.hpp"
#include "attn/explain/document/size_polynomial.hpp"

namespace attn {

/// A walk of other sizes, which is planned but not computed.
struct Resized {
    Plan plan;
    Sizes sizes{};
    std::string tokens = "T";  ///< the letter of the number of keys
};

/// Returns a walk as it is, and with eight random choices of its sizes. The number of tokens is a
/// multiple of the settings that divide indices, and not below any setting. Some walks need x to be
/// as wide as all heads: then it is tied to them.
std::vector<Resized> resized_walks(const Plan& plan, const StepTable& table, bool is_tied);
/// Returns the walk as it is.
Resized own_size(const Plan& plan);

}  // namespace attn

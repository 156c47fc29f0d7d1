#pragma once
#include <functional>
#include <string>

#include "attn/rules/complete.hpp"

namespace attn {

/// What a rule is written for in Python.
struct RulePython {
    bool is_torch = true;
    Outline made;
    std::string type;  ///< `float32`; empty for truth
    std::function<Outline(const std::string& variable)> outline;
};

/// The lines that make the tensor of a completed rule: an index is a variable that counts along a
/// dimension of its own, a sum adds up along one, and nothing else has to be known of the tensors.
std::string rule_python(const Rule& rule, const RulePython& with);

}  // namespace attn

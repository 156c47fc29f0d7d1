#pragma once
#include <string>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// The name of a tensor in a program: `def_` if Python or the program itself uses the name.
/// Single letters but x are left to the variables of loops.
std::string python_name(const std::string& name);

/// The surroundings of a rule that is written in Python.
struct RulePython {
    bool is_torch = true;
    Shape made;
    std::string type;      ///< of numbers: `float32`, `int64`
    bool records = false;  ///< PyTorch goes back through the line by itself
};

/// The lines that make the tensor of a completed rule: an index is a variable that counts along a
/// dimension of its own, a sum adds up along one, and nothing else has to be known of the tensors.
std::string rule_python(const Rule& rule, const RulePython& with);

}  // namespace attn

#pragma once
#include <string>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// Returns the variable name for a tensor: `def_` if Python or the program itself uses the name.
/// Single letters except x are reserved for loop variables.
std::string python_name(const std::string& name);

/// The context of a rule that is written in Python.
struct RulePython {
    bool is_torch = true;
    Shape result_shape;
    std::string type;      ///< of numbers: `float32`, `int64`
    bool records = false;  ///< autograd differentiates the line
};

/// Returns the lines for a completed rule: an index becomes an array along a dimension of its own,
/// and a sum reduces one dimension, so the code needs no knowledge of the tensors.
std::string rule_python(const Rule& rule, const RulePython& with);

}  // namespace attn

#pragma once
#include <functional>
#include <map>
#include <string>

#include "attn/rules/rule.hpp"
#include "attn/walk/step.hpp"

namespace attn {

/// What the names in a rule stand for where it is written in Python.
struct RulePython {
    bool is_torch = true;
    Axes axes;  ///< of the result
    Shape shape;
    std::string type;                                            ///< `float32`; empty for truth
    std::function<std::string(const std::string& name)> tensor;  ///< the variable
    std::function<Outline(const std::string& variable)> outline;
    std::map<std::string, double> settings;
};

/// The lines that make the tensor of a rule: an index is a variable that counts along a dimension
/// of its own, a sum adds up along one, and nothing else has to be known of the tensors.
std::string rule_python(const Rule& rule, const RulePython& with);

}  // namespace attn

#pragma once
#include <functional>
#include <string>
#include <vector>

#include "attn/rules/rule.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

/// The gradient that a tensor is given by one rule that reads it: the derivative of the rule by
/// each cell of the tensor, times the gradient of what the rule makes, which is called `d_` and its
/// name. A cell that is read many times gets the sum:
///
///     scores[q,k] = sum f: query[q,f] * key[k,f]
///     d_key[k,f] = sum q: d_scores[q,k] * query[q,f]
///
/// A rule that makes one number is the loss, whose own gradient is 1.
/// A plain index drops its sum, and an index that is made of others is solved for them.
///
/// `rule` is a completed one; `indices` are the names of the axes of the tensor. Returns nothing
/// where the rule reads the tensor in indices and conditions alone.
RuleTree gradient_of(const Rule& rule, const std::string& tensor,
                     const std::vector<std::string>& indices,
                     const std::function<Outline(const std::string& tensor)>& outline);

}  // namespace attn

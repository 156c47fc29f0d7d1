#pragma once
#include <string>
#include <vector>

#include "attn/core/walk/step.hpp"

namespace attn {

/// The names of the features along one axis of a tensor: one list, or one per head.
using FeatureNames = std::vector<std::vector<std::string>>;

/// Returns the list of one head, or the shared one.  Range  `head` below their number.
inline const std::vector<std::string>& in_head(const FeatureNames& lists, std::size_t head) {
    return lists.size() == 1 ? lists.front() : lists.at(head);
}

/// Returns the names of the features along an axis of a step's tensor; empty for an axis of tokens,
/// and without names of these features (WalkConfig::feature_names).
FeatureNames feature_names(const PlannedStep& of, const Tensor& tensor, std::size_t axis);

}  // namespace attn

#pragma once
#include <functional>
#include <memory>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/walk/step.hpp"

namespace attn {

/// Returns the axes of a new step of an attention file, from its letters and the tensors that they
/// index.
///
/// Errors  ConfigError for a letter of unknown length.
std::function<Outline(const Plan&)> outline_of_letters(
    const Rule& rule, const PlannedStep& of, const std::shared_ptr<const AttentionFile>& file);

}  // namespace attn

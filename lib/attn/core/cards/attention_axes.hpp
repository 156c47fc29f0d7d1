#pragma once
#include <functional>
#include <memory>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/walk/step.hpp"

namespace attn {

/// The axes of a new step of an attention file: its letters, and what leads them in the tensors
/// that it reads.
///
/// Errors  ConfigError for a letter whose length is not known.
std::function<Outline(const Plan&)> outline_of_letters(
    const Rule& rule, const PlannedStep& of, const std::shared_ptr<const AttentionFile>& file);

}  // namespace attn

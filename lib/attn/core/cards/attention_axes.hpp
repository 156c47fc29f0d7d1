#pragma once
#include <functional>
#include <memory>
#include <set>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/walk/step.hpp"

namespace attn {

/// Returns the axes of a new step of an attention file, from its letters and the tensors that they
/// index.
///
/// Errors  ConfigError for a letter of unknown length.
std::function<Outline(const Plan&)> outline_of_letters(
    const Rule& rule, const PlannedStep& of, const std::shared_ptr<const AttentionFile>& file);

/// Errors  ConfigError for a form or a setting that no file defines.
void check_names(const WalkConfig& config);

/// Errors  InputError for a step that extends a chain without readers. Adds a remark to other steps
/// without readers, which may be there for display.
void require_reader(const AttentionFile& file, const AttentionStep& stated,
                    const std::set<std::string>& needed, Step& step);

/// Errors  InputError for a context with other numbers of heads or features than the plan has,
/// which cannot be merged.
void require_merged_sizes(const AttentionFile& file, const StepTable& table, const Plan& plan);

}  // namespace attn

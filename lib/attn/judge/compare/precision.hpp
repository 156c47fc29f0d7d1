#pragma once
#include <map>
#include <string>
#include <vector>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/plan.hpp"

namespace attn {

/// The precision of a form in the type of a walk, at some numbers of tokens.
struct FormPrecision {
    std::string form;
    std::vector<std::string> steps{};  ///< of the file, in their order
    /// By number of tokens the decimal digits that each step loses; nan if a number is not finite.
    std::map<std::int64_t, std::vector<double>> lost{};
    std::map<std::int64_t, std::string> skipped{};  ///< why there are none
};

/// Walks each form with 64, 256 and 1024 tokens in the type of the plan, and in float64 from the
/// same inputs by the same rules. A step loses log10(e / u) digits, where e is the root mean square
/// error relative to that of its numbers, and u the largest error of storing one number: none if
/// rounding it once explains the error. A walk that would take more than a few seconds is skipped.
///
/// Errors  ConfigError if the inputs of the walk are given.
std::vector<FormPrecision> precision_of_forms(const Plan& plan, const AttentionFile& file);

}  // namespace attn

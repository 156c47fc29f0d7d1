#pragma once
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/plan/attention_file.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/judge/compare/compare.hpp"
#include "attn/judge/compare/proof.hpp"

namespace attn {

/// A tensor that should be equal in two forms of one attention.
struct FormComparison {
    std::string file, left, right;  ///< the attention and the two forms
    StepComparison step;
    Proof proof{};
    /// Other shapes at which it is proved, too: `$seq-len 7`; and those at which it is undecided,
    /// but float64 finds no difference.
    std::vector<std::string> shapes{}, float64_shapes{};
    /// No rule bounds the difference, but float64 shows that it is rounding.
    bool is_rounding = false;
    /// Where it is refuted if that is not this walk: another shape, or float64.
    std::string refuted_at{};

    /// True if the forms agree: to rounding on this walk, and exactly if that is decided. A proof
    /// takes precedence over an estimate of rounding.
    bool equal() const {
        if (!step.same_shape() || proof.verdict == Proof::Verdict::refuted) return false;
        const bool is_proved = proof.verdict == Proof::Verdict::proved && !step.is_bounded &&
                               std::isfinite(step.distance.absolute);  // not if one of them is nan
        return step.equal() || is_rounding || is_proved;
    }
    /// `context[0,1] is 0.5 in parallel and 0.7 in recurrent: 0.2 apart at most, and rounding
    /// explains up to 1e-06`
    std::string text() const;
};

/// `{"name": "context", "left": "parallel", ..., "same": true, "verdict": "proved"}`
JsonText json_of(const FormComparison& compared);

/// Thoroughness of the comparison: bounds only for tensors that differ by more than sums of that
/// many terms usually do, or for all tensors, with a proof.
enum class FormBounds { where_far, all };

/// Returns why the walk of a form would take more than a few seconds; empty if none does.
std::string too_large_to_compare(const Plan& plan);
/// Errors  ConfigError in that case.
void require_comparable(const Plan& plan);
/// Walks the other forms of a plan's attentions from the same numbers, and compares the tensors
/// that their files declare to be equal; `ledger` is the walk of the plan's own form. With proofs,
/// other shapes are tried, too, and undecided ones are compared in float64.
///
/// Errors  as the step tables of the other forms.
std::vector<FormComparison> compare_forms(const Plan& plan, const Ledger& given,
                                          const Ledger& ledger, FormBounds bounds);
/// Compares the gradients of inputs and parameters in the same way, for a loss that multiplies each
/// number of the last step by one of its own.
std::vector<FormComparison> compare_gradients(const Plan& plan, const Ledger& given);
/// Compares the n-th rule of the user with the rule that it replaces. `computed` is the walk with
/// it.
FormComparison compare_rule(const Plan& plan, std::size_t n, const Ledger& given,
                            const Ledger& computed);
/// Returns the plan with another form of a file.
Plan with_form(const Plan& plan, const AttentionFile& file, const std::string& form);

}  // namespace attn

#pragma once
#include <string>
#include <vector>

#include "attn/ground/text/json.hpp"
#include "attn/judge/compare/compare.hpp"
#include "attn/judge/compare/proof.hpp"

namespace attn {

/// A tensor that two forms of one attention promise to make alike.
struct FormComparison {
    std::string file, left, right;  ///< the attention and the two forms
    StepComparison step;
    Proof proof{};

    /// Whether the forms agree: to rounding on this walk, and exactly where that is decided.
    bool equal() const { return step.equal() && proof.verdict != Proof::Verdict::refuted; }
    /// `context[0,1] is 0.5 in parallel and 0.7 in recurrent: 0.2 apart, where rounding explains
    /// 1e-06`
    std::string text() const;
};

/// `{"name": "context", "left": "parallel", ..., "same": true, "proof": "proved"}`
JsonText json_of(const FormComparison& compared);

/// How far promised tensors are looked into: the bounds of their cells are computed where they are
/// farther apart than sums of as many terms usually scatter; or those of all, with a proof.
enum class FormBounds { where_far, all };

/// Walks the other forms of the attentions of a plan from the same numbers, and compares what their
/// files promise; `ledger` is the walk of the plan's own form.
///
/// Errors  as the tables of the other forms.
std::vector<FormComparison> compare_forms(const Plan& plan, const Ledger& given,
                                          const Ledger& ledger, FormBounds bounds);

}  // namespace attn

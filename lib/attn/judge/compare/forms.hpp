#pragma once
#include <string>
#include <vector>

#include "attn/judge/compare/compare.hpp"

namespace attn {

/// A tensor that two forms of one attention promise to make alike.
struct FormComparison {
    std::string file, left, right;  ///< the attention and the two forms
    StepComparison step;

    /// `context[0,1] is 0.5 in parallel and 0.7 in recurrent: 0.2 apart, where rounding explains
    /// 1e-06`
    std::string text() const;
};

/// Of which promised tensors the bounds of their cells are worked out: where these are farther
/// apart than sums of so many terms scatter, or of all.
enum class FormBounds { where_far, all };

/// Walks the other forms of the attentions of a plan from the same numbers, and compares what their
/// files promise; `ledger` is the walk of the plan's own form.
///
/// Errors  as the tables of the other forms.
std::vector<FormComparison> compare_forms(const Plan& plan, const Ledger& given,
                                          const Ledger& ledger, FormBounds bounds);

}  // namespace attn

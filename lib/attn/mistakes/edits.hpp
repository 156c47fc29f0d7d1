#pragma once
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "attn/mistakes/mistake.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

// The ways to make a mistake: another rule, another tensor read, another plan followed, and what no
// rule says.

using Compute = std::function<Tensor(const Plan&, const Ledger&)>;
/// A step's new way to compute, given the one it replaces.
using StepEdit = std::function<Tensor(const Plan&, const Ledger&, const Compute& before)>;
/// The plan that a step is made to follow instead of the true one.
using PlanEdit = std::function<void(Plan&)>;

/// Text that may depend on the plan. A name in braces stands for a number of it: `{B}` samples,
/// `{Hc}` heads of contexts, `{r}` features that rotate, `{base}` of their frequencies, `{eps}` of
/// the norms,
/// `{W}` the window, `{scale}` what scores are divided by, `{unscaled}` the inverse, `{root}` for
/// each of query and key.
class Text {
public:
    Text() = default;
    Text(const char* text) : Text(std::string(text)) {}
    Text(std::string pattern);
    template <class F>
    requires std::is_invocable_r_v<std::string, F, const Plan&> Text(F text)
        : text_(std::move(text)) {}

    std::string operator()(const Plan& plan) const { return text_ ? text_(plan) : std::string(); }

private:
    std::function<std::string(const Plan&)> text_;
};

/// Lines of Python, from those that the table had.
using Lines = std::function<std::string(const StepLines& of, const std::string& right)>;

/// A step that follows another rule. It may read the tensor that it should make, by its own name:
/// what was done to it afterwards.
struct WrongRule {
    Text rule{};
    std::string step{};                             ///< where the rule may be empty
    std::function<Outline(const Plan&)> outline{};  ///< where the tensor has another shape
    // Where no rule says it, or it may be too long to tell:
    StepEdit compute{};
    std::string formula{};
    Lines lines{};
};
TableEdit follows(WrongRule wrong);
TableEdit follows(Text rule);

/// The named steps read another tensor in the place of one: `w_key`, or a rule for the tensor that
/// they should read, `sink[h] = sink[h] / sqrt(D)`. It may be named by its chain.
TableEdit reads(std::vector<std::string> steps, Text tensor, Text instead);
/// The named steps compute as before, under an altered plan; all that are computed without a name.
TableEdit with_plan(std::vector<std::string> steps, PlanEdit alter);
/// Leaves the named steps as their chain was in front of them.
TableEdit left_out(const std::vector<std::string>& steps);

/// `[h,t,f]`: the first letters of the last axes.
std::string index_letters(const Outline& outline, std::size_t most = 4);

/// Makes several edits, one after the other.
TableEdit all_of(std::vector<TableEdit> edits);
/// Makes one edit for each of these steps.
TableEdit for_each_step(const std::vector<std::string>& steps,
                        const std::function<TableEdit(const std::string& step)>& edit);

}  // namespace attn

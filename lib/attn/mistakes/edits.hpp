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

/// Text that may depend on the plan.
class Text {
public:
    Text() = default;
    Text(const char* text) : Text(std::string(text)) {}
    Text(std::string text) {
        if (!text.empty()) text_ = [text = std::move(text)](const Plan&) { return text; };
    }
    template <class F>
    requires std::is_invocable_r_v<std::string, F, const Plan&> Text(F text)
        : text_(std::move(text)) {}

    bool empty() const { return !text_; }
    std::string operator()(const Plan& plan) const { return text_ ? text_(plan) : std::string(); }

private:
    std::function<std::string(const Plan&)> text_;
};

/// Lines of Python, from those that the table had.
using Lines = std::function<std::string(const StepLines& of, const std::string& right)>;

/// Lines from a text for each language: `{right}` stands for those of the table, `{queries}`,
/// `{keys}`, `{values}`, `{scores}`, `{weights}` and `{contexts}` for the latest of a chain, `{B}`,
/// `{H}`, `{context heads}`, `{Tq}` and `{Tk}` for sizes, `{bh}` for the axes of batch and head in
/// an einsum, `{shape}` for that of the step, `{feature by head}` with the heads last, `{grid}` for
/// that of the scores. NumPy has PyTorch's lines where it has none. Where they come out empty, the
/// rule's own are taken.
Lines say(std::string torch, std::string numpy = "");

/// A step that follows another rule. It may read the tensor that it should make, by its own name:
/// what was done to it afterwards.
struct WrongRule {
    Text rule;
    Lines lines{};                                  ///< where the rule's own would be hard to read
    std::function<Outline(const Plan&)> outline{};  ///< where the tensor has another shape
    StepEdit compute{};  ///< where the rule would take long, or may be too long to tell
    std::string step{};  ///< where the rule may be empty
};
TableEdit follows(WrongRule wrong);
TableEdit follows(Text rule, Lines lines = {});

/// The named steps read another tensor in the place of one: `w_key`, or a rule for the tensor that
/// they should read, `sink[h] = sink[h] / sqrt(D)`. It may be named by its chain.
/// `make` gives it where the rule would lose a digit.
TableEdit reads(std::vector<std::string> steps, Text tensor, Text instead, Lines lines = {},
                Compute make = {});
/// The named steps compute as before, under an altered plan.
TableEdit with_plan(std::vector<std::string> steps, PlanEdit alter);
/// Leaves the named steps as their chain was in front of them.
TableEdit left_out(const std::vector<std::string>& steps);
/// What no rule says.
TableEdit computed(std::string step, std::string formula, StepEdit how, Lines lines);

/// Makes several edits, one after the other.
TableEdit all_of(std::vector<TableEdit> edits);
/// Makes one edit for each of these steps.
TableEdit for_each_step(const std::vector<std::string>& steps,
                        const std::function<TableEdit(const std::string& step)>& edit);
/// All steps are written as under an altered plan, and computed as before.
TableEdit written_with_plan(PlanEdit alter);
/// Other lines for the named steps, whatever they compute.
TableEdit written(std::vector<std::string> steps, Lines lines);

/// Titles and remarks of a mistake in a table in which it was made: lines that differ from those of
/// the table without it are marked.
void write_mistake(StepTable& table, const StepTable& without, const Plan& plan,
                   const Mistake& mistake);

}  // namespace attn

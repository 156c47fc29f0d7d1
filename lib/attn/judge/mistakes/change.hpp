#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "attn/judge/mistakes/paragraphs.hpp"

namespace attn {

// How a mistake is made: by another rule, another input, another plan, or by code if no rule can
// express it.

using Compute = std::function<Tensor(const Plan&, const Ledger&)>;
/// A step's replacement, which may call the computation that it replaces.
using StepEdit = std::function<Tensor(const Plan&, const Ledger&, const Compute& before)>;
/// A change of the plan that a step follows.
using PlanEdit = std::function<void(Plan&)>;
/// A text that may depend on the plan.
class PlanText {
public:
    PlanText(const char* text) : PlanText(std::string(text)) {}
    PlanText(std::string text) : text_([text = std::move(text)](const Plan&) { return text; }) {}
    template <class F>
    requires std::is_invocable_r_v<std::string, F, const Plan&> PlanText(F text)
        : text_(std::move(text)) {}

    std::string operator()(const Plan& plan) const { return text_(plan); }

private:
    std::function<std::string(const Plan&)> text_;
};

/// A rule that may depend on the plan: a text with words in braces for its step, or a rule built
/// from others.
class PlanRule {
public:
    PlanRule() = default;
    PlanRule(const char* text) : PlanRule(std::string(text)) {}
    PlanRule(std::string text);
    template <class F>
    requires std::is_invocable_r_v<Rule, F, const Plan&> PlanRule(F rule)
        : rule_(std::move(rule)) {}

    Rule operator()(const Plan& plan) const { return rule_ ? rule_(plan) : Rule(); }

private:
    std::function<Rule(const Plan&)> rule_;
};

/// Returns lines of Python, given the original ones.
using Lines = std::function<std::string(const StepLines& of, const std::string& right)>;

/// A step that follows another rule, which may read the right tensor by the step's own name.
struct WrongRule {
    PlanRule rule{};
    std::string step{};                             ///< needed if the rule may be empty
    std::function<Outline(const Plan&)> outline{};  ///< if the tensor has another shape
    // If no rule can express it, or the rule may be too long to print:
    StepEdit compute{};
    std::string formula{};
    Lines lines{};
};
TableEdit follows(WrongRule wrong);
TableEdit follows(PlanRule rule);

/// Makes the named steps read another tensor: `w_key`, or a rule for the tensor to read, `sink[h] =
/// sink[h] / sqrt(D)`. `tensor` may be the name of a chain.
TableEdit reads(std::vector<std::string> steps, PlanText tensor, PlanText instead);
/// Makes the named steps, or all computed ones if none is named, follow an altered plan.
TableEdit with_plan(std::vector<std::string> steps, PlanEdit alter);
/// Makes the named steps copy the previous tensor of their chain.
TableEdit left_out(const std::vector<std::string>& steps);
/// Makes the named steps compute and print as if there were no sink.
TableEdit without_sink(const std::vector<std::string>& steps);
/// Makes a step compute like another one.
TableEdit copy_of_step(const std::string& step, const std::string& other);
/// Uses another mask, which also hides cells by the condition.
TableEdit masked_as(std::function<void(MaskChoice&)> change, PlanText also_hides);

/// Combines several edits, applied in order.
TableEdit all_of(std::vector<TableEdit> edits);

// Names in the texts of mistakes.

/// Returns the mistake that a paragraph describes, for one number if it is numbered.
Mistake mistake_of(const MistakeText& text, double number = 0);
/// Returns a mistake with only the title, effect, lesson and fixes of a paragraph.
Mistake described(const MistakeText& text);
/// Returns why the mistake has no effect in a walk: the reason of the first unmet need.
NotApplicable needs_of(std::shared_ptr<const MistakeText> text, double number);
std::string repeats_exceed_memory(const Plan& plan);
/// Fills in the words in braces of a rule for this step.
std::string in_words(std::string_view pattern, const std::string& step, const Plan& plan);

/// Returns a number or fact (1 or 0) of a plan; nullopt for an unknown name.
using PlanValue = std::function<double(const Plan&)>;
PlanValue find_fact(std::string_view name);
/// Parses an expression with numbers, facts, steps and conditions of a plan, and `N` for `number`.
///
/// Errors  ConfigError for an unknown name.
PlanValue plan_value(std::string_view remainder, double number = 0);

/// Parses `with STEPS: NAME NUMBER`.  Errors  ConfigError for an unknown name.
PlanEdit plan_change(std::string_view remainder);
/// Parses `mask NAME NUMBER, NAME`, a change of the mask alone.
std::function<void(MaskChoice&)> mask_change(std::string_view remainder);

/// `code NAME: WORDS`, for mistakes that no rule expresses.
struct NamedEdit {
    std::string_view name;
    TableEdit (*edit)(const std::string& words);
};
const NamedEdit* find_edit(std::string_view name);

// Code of these edits, in one file per place in the walk.
TableEdit count_repeats(const std::string&);
TableEdit exchange_batch_and_tokens(const std::string&);
TableEdit leave_biases_out(const std::string& parts);
TableEdit repeat_tokens(const std::string&);
TableEdit add_bias_of_t5(const std::string&);
TableEdit drop_a_tenth(const std::string& formula);
TableEdit show_mean_of_heads(const std::string& again);

/// The steps that may multiply x or memory by a projection weight.
inline const std::vector<std::string> projecting_steps{
    "projected_query", "projected_key", "projected_value", "qkv", "query", "key", "value"};

/// One cell per score, true for hidden ones.
struct Grid {
    std::vector<bool> cells;
};
/// Returns the mask of a walk, or the mask with a mistake, broadcast to its scores.
Grid hidden_cells(const Plan& plan);
Grid hidden_cells(const Plan& plan, const Mistake& mistake);

/// Returns the factor of the scores.
double effect_of(const ScaleFactor& factor);

/// True if the reference table has a step of that name for this walk.
bool walk_has(const Plan& plan, std::string_view step);
/// True if a relative_attention_bias was given with one column per head.
bool has_table_of_t5(const Plan& plan);

/// Sets the positions of a plan to 0, 1, 2, ...
void count_from_zero(Plan& plan);
/// Returns the number of query features that are not rotated.
std::size_t unturned(const Plan& plan);
}  // namespace attn

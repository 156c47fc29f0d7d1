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

// The ways to make a mistake: another rule, another tensor read, another plan, or code if no rule
// can express it.

using Compute = std::function<Tensor(const Plan&, const Ledger&)>;
/// A step's new way to compute, given the one it replaces.
using StepEdit = std::function<Tensor(const Plan&, const Ledger&, const Compute& before)>;
/// The plan that a step follows instead of the true one.
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

/// Lines of Python, from those that the table had.
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

/// The named steps read another tensor instead of one: `w_key`, or a rule for the tensor that
/// they should read, `sink[h] = sink[h] / sqrt(D)`. It may be named by its chain.
TableEdit reads(std::vector<std::string> steps, PlanText tensor, PlanText instead);
/// The named steps compute as before under an altered plan; all computed steps if none is named.
TableEdit with_plan(std::vector<std::string> steps, PlanEdit alter);
/// The named steps pass on the tensor before them in their chain.
TableEdit left_out(const std::vector<std::string>& steps);
/// The named steps compute and print as without a sink.
TableEdit without_sink(const std::vector<std::string>& steps);
/// A step that is computed like another one.
TableEdit made_as(const std::string& step, const std::string& other);
/// The mask of another choice, which also hides cells by the condition.
TableEdit masked_as(std::function<void(MaskChoice&)> change, PlanText also_hides);

/// `[h,t,f]`: the first letters of the last axes.
std::string index_letters(const Outline& outline, std::size_t most = 4);

/// Makes several edits, one after the other.
TableEdit all_of(std::vector<TableEdit> edits);
/// Makes one edit for each of these steps.
TableEdit for_each_step(const std::vector<std::string>& steps,
                        const std::function<TableEdit(const std::string& step)>& edit);

// Names in the texts of mistakes.

/// The mistake that a paragraph describes, for one number if it is numbered.
Mistake mistake_of(const MistakeText& text, double number = 0);
/// The title, effect, lesson and fixes of a paragraph.
Mistake described(const MistakeText& text);
/// Returns why a walk cannot show it: the reason of the first unmet need.
NotApplicable needs_of(std::shared_ptr<const MistakeText> text, double number);
std::string no_room_for_repeats(const Plan& plan);
/// The text with words in braces filled in, in a rule for this step.
std::string in_words(std::string_view pattern, const std::string& step, const Plan& plan);

/// Returns a number or fact (1 or 0) of a plan; nullopt for an unknown name.
std::function<double(const Plan&)> find_fact(std::string_view name);

/// `with STEPS: NAME NUMBER`.  Errors  ConfigError for an unknown name.
PlanEdit plan_change(std::string_view says);
/// `mask NAME NUMBER, NAME`: the same of masks alone.
std::function<void(MaskChoice&)> mask_change(std::string_view says);

/// `code NAME: WORDS`, for mistakes that no rule expresses.
struct NamedEdit {
    std::string_view name;
    TableEdit (*edit)(const std::string& words);
};
const NamedEdit* find_edit(std::string_view name);

// Parts of these edits, one file for each place in the walk.
TableEdit count_repeats(const std::string&);
TableEdit exchange_batch_and_tokens(const std::string&);
TableEdit read_in_other_layout(const std::string&);
TableEdit skip_projections(const std::string&);
TableEdit share_one_block(const std::string&);
TableEdit take_other_weight(const std::string& parts);
TableEdit leave_biases_out(const std::string& parts);
TableEdit repeat_tokens(const std::string&);
TableEdit rearrange_for_query_heads(const std::string&);
TableEdit norm_by(const std::string& pattern);
TableEdit norm_over_other_axes(const std::string& pattern);
TableEdit exchange_sources(const std::string&);
TableEdit add_bias_of_t5(const std::string&);
TableEdit soften_all_heads(const std::string&);
TableEdit soften_each_head(const std::string&);
TableEdit drop_a_tenth(const std::string& formula);
TableEdit show_mean_of_heads(const std::string& again);
TableEdit read_value_first(const std::string&);
TableEdit zero_padded_rows(const std::string& step);

/// Every step that may multiply x or memory by a projection weight.
inline const std::vector<std::string> projecting_steps{
    "projected_query", "projected_key", "projected_value", "qkv", "query", "key", "value"};

/// Every cell of a floating tensor passed through `f`, in order.
template <class F>
Tensor mapped(const Tensor& tensor, F&& f) {
    return with_floating(tensor.dtype(), [&]<class T>(T) -> Tensor {
        Array<T> cells = tensor.as<T>();
        for (T& cell : cells) cell = static_cast<T>(f(cell));
        return {tensor.axes(), std::move(cells)};
    });
}

/// The cells of all scores, true for hidden ones.
struct Grid {
    std::vector<bool> cells;
};
/// The mask of a walk broadcast over its scores, and the mask with a mistake in it.
Grid hidden_cells(const Plan& plan);
Grid hidden_cells(const Plan& plan, const Mistake& mistake);
/// A tensor with a cell for each score.
Outline score_cells(const Plan& plan);

/// The factor of the scores.
double effect_of(const ScaleFactor& factor);

/// True if the reference table has a step of that name for this walk.
bool walk_has(const Plan& plan, std::string_view step);
/// True if query, key and value are x multiplied by weights, not made from a latent.
bool projects_x(const Plan& plan);
/// True if a relative_attention_bias was given with a column for each head.
bool has_table_of_t5(const Plan& plan);

/// The plan with positions 0, 1, 2, ...
void count_from_zero(Plan& plan);
/// The smallest position.
std::int64_t first_position_row(const Plan& plan);
/// Features of a query that do not rotate.
std::size_t unturned(const Plan& plan);
/// The prefix of the names of the angles that rotate a step.
inline std::string angle_prefix(const Plan& plan, const std::string& step) {
    return step == "rotated_key" && plan.has_memory ? "memory_" : "";
}

}  // namespace attn

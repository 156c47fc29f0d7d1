#pragma once
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace attn {

// The ways to make a mistake: another rule, another tensor read, another plan followed, and what no
// rule says.

using Compute = std::function<Tensor(const Plan&, const Ledger&)>;
/// A step's new way to compute, given the one it replaces.
using StepEdit = std::function<Tensor(const Plan&, const Ledger&, const Compute& before)>;
/// The plan that a step is made to follow instead of the true one.
using PlanEdit = std::function<void(Plan&)>;

/// Text that may depend on the plan. A name in braces is a number of it: `{B}` samples,
/// `{Hc}` heads of contexts, `{r}` features that rotate, `{base}` of their frequencies, `{eps}` of
/// the norms,
/// `{W}` the window, `{scale}` what scores are divided by, `{unscaled}` the inverse, `{root}` for
/// each of query and key. Others are filled in by who reads the text.
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

/// A rule that may depend on the plan: text of it, or one that was made of others.
class PlanRule {
public:
    PlanRule() = default;
    PlanRule(const char* text) : PlanRule(Text(text)) {}
    PlanRule(std::string text) : PlanRule(Text(std::move(text))) {}
    template <class F>
    requires std::is_invocable_r_v<Rule, F, const Plan&> PlanRule(F rule)
        : rule_(std::move(rule)) {}

    Rule operator()(const Plan& plan) const { return rule_ ? rule_(plan) : Rule(); }

private:
    std::function<Rule(const Plan&)> rule_;
};

/// Lines of Python, from those that the table had.
using Lines = std::function<std::string(const StepLines& of, const std::string& right)>;

/// A step that follows another rule. It may read the tensor that it should make, by its own name:
/// what was done to it afterwards.
struct WrongRule {
    PlanRule rule{};
    std::string step{};                             ///< where the rule may be empty
    std::function<Outline(const Plan&)> outline{};  ///< where the tensor has another shape
    // Where no rule says it, or it may be too long to tell:
    StepEdit compute{};
    std::string formula{};
    Lines lines{};
};
TableEdit follows(WrongRule wrong);
TableEdit follows(PlanRule rule);

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

// Parts of the entries of the catalogue.

/// A need of a mistake, without which it cannot show: gives the reason where it cannot, which names
/// settings after a dollar.
class Need {
public:
    Need() = default;
    Need(std::string (*why_not)(const Plan&)) : why_not_(why_not) {}
    Need(std::function<bool(const Plan&)> holds, std::string reason);
    /// Several things: the first reason that holds.
    Need(std::initializer_list<Need> all);

    std::string operator()(const Plan& plan) const {
        return why_not_ ? why_not_(plan) : std::string();
    }

private:
    NotApplicable why_not_;
};

inline const Need needs_mask{&Plan::masks, "nothing is masked"};
inline const Need needs_scale{&Plan::scales, "nothing is scaled"};
inline const Need needs_rope{&Plan::rotates, "nothing rotates: there is no $rope"};
inline const Need needs_no_mask{[](const Plan& plan) { return !plan.masks(); },
                                "the mask would not fit the scores, and the program would stop"};
inline bool is_square(const Plan& plan) { return plan.query_len == plan.key_len; }
inline const Need needs_square{is_square, "there are not as many keys as queries"};
inline const Need needs_keys{[](const Plan& plan) { return plan.key_len > 1; },
                             "there is only one key"};
inline const Need needs_pairs{{needs_rope,
                               {[](const Plan& plan) { return plan.rotary_pairs() > 1; },
                                "one pair is the same either way"}}};
/// A walk with a step of that name, and one without.
Need with_step(std::string step, std::string reason);
Need without_step(std::string step, std::string reason);
/// Where the first key is not the first query.
Need rows_beside_positions();

/// Lines that mend a mistake: for NumPy those of PyTorch in its words, where they are not given.
struct Fix {
    Fix(const char* line) : Fix(std::string(line)) {}
    Fix(const std::string& line);
    Fix(std::string of_torch, std::string of_numpy)
        : torch(std::move(of_torch)), numpy(std::move(of_numpy)) {}

    std::string torch, numpy;
};
inline constexpr const char* fill_with_inf = "scores.masked_fill(hidden, float('-inf'))";

/// Adds an entry to the catalogue; `same_as` is what entries with the same numbers have in common.
Mistake& entry(std::vector<Mistake>& list, std::string id, std::string step, std::string title,
               std::string effect, const Fix& fix, std::string lesson, Need needs, TableEdit apply,
               std::string same_as = "");

/// The steps compute and write as without a sink.
TableEdit without_sink(const std::vector<std::string>& steps);

/// Every step that may multiply x or memory by a projection weight.
inline const std::vector<std::string> projecting_steps{
    "projected_query", "projected_key", "projected_value", "qkv", "query", "key", "value"};
inline const std::vector<std::string> head_steps{"query", "key", "value"};
inline constexpr std::array<const char*, 3> part_names{"query", "key", "value"};
inline const std::vector<std::string> rotated_steps{"rotated_query", "rotated_key"};
/// Whether query, key and value are x multiplied by weights: not of a latent.
bool projects_x(const Plan& plan);
/// The plan with weights stored in the other layout.
void other_layout(Plan& plan);

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Every cell of a floating tensor passed through `f`, in order.
template <class F>
Tensor mapped(const Tensor& tensor, F&& f) {
    return with_floating(tensor.dtype(), [&]<class T>(T) -> Tensor {
        Array<T> cells = tensor.as<T>();
        for (T& cell : cells) cell = static_cast<T>(f(cell));
        return {tensor.axes(), std::move(cells)};
    });
}

/// The cells of all scores: true where hidden.
struct Grid {
    std::vector<bool> cells;
};
/// The mask of a walk spread over its scores, and the one that it has with a mistake in it.
Grid hidden_cells(const Plan& plan);
Grid hidden_cells(const Plan& plan, const Mistake& mistake);
/// A tensor with a cell for each score.
Outline score_cells(const Plan& plan);
/// The mask of another choice, which also hides where `more` says so.
TableEdit masked_as(std::function<void(MaskChoice&)> change, Text more = {});

/// The factor of the scores.
double effect_of(const ScaleFactor& factor);

/// Whether the reference table has a step of that name for this walk.
bool walk_has(const Plan& plan, std::string_view step);

/// The prefix of the names of the angles that rotate a step.
inline std::string angle_prefix(const Plan& plan, const std::string& step) {
    return step == "rotated_key" && plan.has_memory ? "memory_" : "";
}
/// A rule about the pairs that rotate, of the features from `first` on: `{first}` and `{end}` of
/// these, `{pairs}` how many there are, `{place}` that of the feature, `{is_first}` of its pair,
/// which is number `{pair}` and in the other pairing `{other}`, `{apart}` its features.
std::string of_pairs(const Plan& plan, const std::string& rule, std::size_t first,
                     std::size_t pairs);
/// Both rotations by such a rule, for `{step}` of the latest of `{chain}`, with its `{sin}`.
TableEdit rotations_follow(const std::string& rule);
/// The rule of a rotation: `left` is turned by `angle`, of which `{pair}` is the number of the
/// pair.
std::string rotation_rule(const Plan& plan, const std::string& left, const std::string& right,
                          std::size_t first, std::size_t pairs, const std::string& angle);
/// Whether a part of each head stays as it is.
inline bool is_partial(const Plan& plan) {
    return 2 * plan.rotary_pairs() < plan.head_dim && plan.first_rotated(plan.head_dim) == 0;
}

/// The rule of heads that are merged without moving their axis back.
inline constexpr const char* merged_as_it_lies =
    "merged[t,c] = contexts[(t * {Hc} * Dv + c) / (Tq * Dv), (t * {Hc} * Dv + c) % (Tq * Dv) / Dv, "
    "c % Dv]";
/// A mask that is used otherwise.
void in_mask_use(std::vector<Mistake>& list, std::string id, std::string title, std::string effect,
                 const Fix& fix, std::string lesson, const std::string& cell,
                 std::string same_as = "");
/// The query rotated so many tokens too far.
void rotated_too_far(std::vector<Mistake>& list, double tokens, const std::string& word);
/// Slots of a cache that hold nothing, and are not hidden.
void slots_that_take_part(std::vector<Mistake>& list, double number, const std::string& word);
/// A window of that size in the place of another.
void window_of(std::vector<Mistake>& list, double number, const std::string& word);
/// Softmax summed up block by block, and what is not done when a block raises the maximum.
enum class RunningSum {
    unrescaled,
    unrescaled_sum,
    unrescaled_output,
    upside_down,
    upside_down_output,
    averaged,
    rest_left_out
};
void running_sum(std::vector<Mistake>& list, RunningSum how, double block, const std::string& word);
/// ALiBi in the form of a number for each key: harmless where later keys are hidden.
void alibi_of_keys(std::vector<Mistake>& list, bool harmless);

// The catalogue is written in parts, one file for each place in the walk.
using CataloguePart = void(std::vector<Mistake>& list);
CataloguePart add_input_mistakes, add_projection_mistakes, add_qk_norm_mistakes,
    add_pairing_mistakes, add_rotary_mistakes, add_frequency_mistakes, add_grouped_mistakes,
    add_cache_mistakes, add_latent_mistakes, add_score_mistakes, add_scale_mistakes,
    add_score_bias_mistakes, add_mask_kind_mistakes, add_mask_use_mistakes, add_mask_shape_mistakes,
    add_softmax_mistakes, add_context_mistakes;
CataloguePart add_rotated_value_mistakes, add_harmless_rotations, add_harmless_pairings;

}  // namespace attn

#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/walk/step.hpp"

namespace attn {

struct AttentionFile;

/// A change of the step table.
using TableEdit = std::function<StepTable(StepTable, const Plan&)>;
/// Returns why a mistake has no effect in a walk; empty if it has one.
using NotApplicable = std::function<std::string(const Plan&)>;

struct StepLines;

/// A common mistake in attention code: a named replacement of one step of the step table, or of the
/// few steps that it changes together.
///
/// An id may carry a variant after `=`: `softmax-axis=query` and `softmax-axis=head` are two
/// variants of the family `softmax-axis`.
struct Mistake {
    std::string id;
    std::string step;  ///< the first step that it changes
    Prose title;       ///< the mistake in a few words
    Prose effect;      ///< its effect on the numbers
    Prose fix_torch;
    Prose fix_numpy;
    Prose lesson;  ///< one sentence to remember
    /// The common name of entries with the same numbers; empty if there are none.
    std::string indistinguishable_from;
    /// The mistake's own reason; see why_not.
    NotApplicable not_applicable;
    /// The table with the mistake made. Mistakes compose: the next one takes this table.
    TableEdit apply;
    /// True for a harmless difference that changes cells which are never read: later steps that use
    /// them are right.
    bool rewrites_result = false;
    /// Changes random cells, so the result alone cannot identify it.
    bool by_chance = false;
    bool of_file = false;  ///< it belongs to an attention file
    /// Settings of a walk that reveals it, `heads 2, mask causal`, and parameters to give to this
    /// walk, `g_query = 1 2 3 4`.
    std::string witness{};
    std::vector<std::string> given{};

    /// Returns why it has no effect in this walk: its own reason, or that an attention file
    /// replaced its step. Empty if it can.
    std::string why_not(const Plan& plan) const;
    bool applies(const Plan& plan) const { return why_not(plan).empty(); }
    std::string family() const { return id.substr(0, id.find('=')); }
};

/// All catalogued mistakes, in the order of the steps that they replace.
const std::vector<Mistake>& mistakes();

/// Returns the mistakes listed in an attention file.
const std::vector<Mistake>& mistakes_of(const std::shared_ptr<const AttentionFile>& file);
/// Returns the mistakes of a walk's attentions, then those of the catalogue.
std::vector<const Mistake*> mistakes_in(const Plan& plan);

/// Returns the walk with the mistake; nullopt if an attention file lacks a step that it reads.
std::optional<Ledger> walk_with(const Mistake& mistake, const Plan& plan, const Ledger& given);

/// Differences that change no result: other forms of the same attention.
const std::vector<Mistake>& harmless_differences();

/// Returns the mistake of a family, `scale-other=N`, for one number.
const Mistake& numbered_mistake(std::string_view family, double number);
/// Returns the entry for filling hidden scores with `fill`, or for adding it to them: a harmless
/// difference if it is far below every score, else a mistake.  Range  finite.
const Mistake& finite_fill(double fill);
const Mistake& added_fill(double fill);
const Mistake& mistaken_fill(double fill);
const Mistake& mistaken_addition(double fill);
/// Returns the entry for dividing the scores by another number.
const Mistake& other_scale(double divisor);

/// A family with one entry per number, and the numbers to start a search from.
struct NumberedEntry {
    std::function<const Mistake&(double)> entry;
    std::vector<double> starts;
    bool positive = false;  ///< only positive numbers make sense
    bool whole = false;     ///< only the numbers in `starts` exist
    bool nested = false;    ///< slow, or many entries: tried only for results of up to 64 tokens
    /// Infers the number from the user's weights and the right ones.
    double (*seen)(const Tensor& weights, const Tensor& expected) = nullptr;
    double (*right)(const Plan&) = nullptr;  ///< the right number, if there is one
};
const std::vector<NumberedEntry>& numbered_entries();

/// Formats a number in the fewest characters: -1e9, -100, -65504.
std::string shortest_number(double number);

/// True if rows of queries belong to padding tokens; and the tensor with those rows set to 0.
bool pads_queries(const Plan& plan);
Tensor without_padded_rows(const Plan& plan, const Tensor& tensor);

/// Finds a mistake or harmless difference by its id. A family without a variant means its first
/// variant; families of fills accept any number.
///
/// Errors  ConfigError, naming similar ids.
const Mistake& find_mistake(std::string_view id);
/// Finds it with the mistakes of the walk's attentions first.
const Mistake& find_mistake(std::string_view id, const Plan& plan);

/// The right rule of a step, and its rule with a mistake.
struct RulePair {
    std::string right, wrong;
};

/// Returns the walk of its witness; nullopt for a mistake of an attention file.
std::optional<Plan> witness_of(const Mistake& mistake);

/// Returns the rules that a mistake changes in the walk of its witness; empty if it is not a rule.
std::vector<RulePair> rule_pairs(const Mistake& mistake);
/// Returns the rules for this walk.
std::vector<RulePair> rule_pairs(const Mistake& mistake, const Plan& plan);

/// Returns `table` with all mistakes of `ids`, in that order. The steps that they change get the
/// title and code of the mistake; the lines that differ are marked.
///
/// Errors  ConfigError for an unknown id, and for one without effect in this walk.
StepTable with_mistakes(StepTable table, const Plan& plan, const std::vector<std::string>& ids);
/// Returns the table with a mistake that is not in the catalogue.
StepTable with_mistake(StepTable table, const Plan& plan, const Mistake& mistake);

/// Returns the steps of `wrong` with titles and code of `right`, so that nothing names the mistake.
/// Notes, which would reveal it, are left out.
StepTable with_mistakes_hidden(StepTable right, const StepTable& wrong);

}  // namespace attn

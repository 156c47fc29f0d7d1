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
/// Why something cannot show in a walk; empty when it can.
using NotApplicable = std::function<std::string(const Plan&)>;

struct StepLines;

/// A well-known way to get attention wrong: a named replacement of one step of the step table, or
/// of the few steps that go wrong together.
///
/// An id may carry a variant after `=`: `softmax-axis=query` and `softmax-axis=head` are two
/// variants of the family `softmax-axis`.
struct Mistake {
    std::string id;
    std::string step;  ///< ledger name where it shows first
    Prose title;       ///< what was done, in a few words
    Prose effect;      ///< what that does to the numbers
    Prose fix_torch;
    Prose fix_numpy;
    Prose lesson;  ///< one sentence to remember
    /// The common name of entries with the same numbers; empty without such.
    std::string indistinguishable_from;
    /// The reason of its own; see why_not.
    NotApplicable not_applicable;
    /// The table with the mistake made. Mistakes compose: the next one takes this table.
    TableEdit apply;
    /// Of a harmless difference: it writes other numbers where nobody reads them, and what follows
    /// is right with these.
    bool rewrites_result = false;
    /// Which cells it changes is drawn: the result alone cannot tell it.
    bool by_chance = false;
    bool of_file = false;  ///< it belongs to an attention file
    /// Settings of a walk on which it shows, `heads 2, mask causal`, and parameters that this walk
    /// is given, `g_query = 1 2 3 4`.
    std::string witness{};
    std::vector<std::string> given{};

    /// Why it cannot show in this walk, its own reason or that an attention file has made its step
    /// another one; empty when it can.
    std::string why_not(const Plan& plan) const;
    bool applies(const Plan& plan) const { return why_not(plan).empty(); }
    std::string family() const { return id.substr(0, id.find('=')); }
};

/// Every catalogued mistake, in the order of the steps they replace.
const std::vector<Mistake>& mistakes();

/// Those that belong to an attention, as its file says them.
const std::vector<Mistake>& mistakes_of(const std::shared_ptr<const AttentionFile>& file);
/// The mistakes of the attentions of a walk, then those of the catalogue.
std::vector<const Mistake*> mistakes_in(const Plan& plan);

/// The walk with a mistake made; nullopt if an attention file lacks what the mistake reads.
std::optional<Ledger> walk_with(const Mistake& mistake, const Plan& plan, const Ledger& given);

/// Differences that change no result: other ways to write the same attention.
const std::vector<Mistake>& harmless_differences();

/// The mistake of a family, `scale-other=N`, for one number.
const Mistake& numbered_mistake(std::string_view family, double number);
/// The name of filling hidden scores with `fill`, or of adding it to them: a harmless difference
/// far below every score, a mistake elsewhere. Range  finite.
const Mistake& finite_fill(double fill);
const Mistake& added_fill(double fill);
const Mistake& mistaken_fill(double fill);
const Mistake& mistaken_addition(double fill);
/// The name of dividing the scores by another number.
const Mistake& other_scale(double divisor);

/// Entries that are one for each number, and where to begin looking for it.
struct NumberedEntry {
    std::function<const Mistake&(double)> entry;
    std::vector<double> starts;
    bool positive = false;  ///< only such numbers make sense, and what counts is their size
    bool whole = false;     ///< only those in `starts`
    bool nested = false;    ///< of results of up to 64 tokens alone: they are many, or slow
    /// What weights show of it at once, theirs beside what they should be.
    double (*seen)(const Tensor& weights, const Tensor& expected) = nullptr;
    double (*right)(const Plan&) = nullptr;  ///< the number that is right, where there is one
};
const std::vector<NumberedEntry>& numbered_entries();

/// A number in the fewest letters: -1e9, -100, -65504.
std::string shortest_number(double number);

/// Whether rows of queries belong to padding tokens, and a tensor of such rows with those set to 0.
bool pads_queries(const Plan& plan);
Tensor without_padded_rows(const Plan& plan, const Tensor& tensor);

/// The mistake, or the harmless difference, of that id; a family without its variant means the
/// first variant, and the families of fills take any number.
///
/// Errors  ConfigError, naming the ids that come close.
const Mistake& find_mistake(std::string_view id);
/// The same among those of the walk's attentions too, which come first.
const Mistake& find_mistake(std::string_view id, const Plan& plan);

/// The rule that a step should follow, and the one that it follows with a mistake.
struct RulesBeside {
    std::string right, wrong;
};

/// The walk of its witness; nothing for a mistake of an attention file.
std::optional<Plan> witness_of(const Mistake& mistake);

/// The rules that a mistake changes in the walk of its witness; none if no rule says what it does.
std::vector<RulesBeside> rules_beside(const Mistake& mistake);
/// The same in this walk.
std::vector<RulesBeside> rules_beside(const Mistake& mistake, const Plan& plan);

/// `table` with every mistake of `ids` made, in that order. The steps that they change are titled
/// and written as what was done; the lines that differ are marked.
///
/// Errors  ConfigError for an unknown id, and for one that cannot show in this walk.
StepTable with_mistakes(StepTable table, const Plan& plan, const std::vector<std::string>& ids);
/// The same of one that is in no catalogue.
StepTable with_mistake(StepTable table, const Plan& plan, const Mistake& mistake);

/// The steps as `wrong` makes them, with what `right` says of them: nothing names the mistake. What
/// a note would say of its numbers is left out, as that tells where to look.
StepTable with_mistakes_hidden(StepTable right, const StepTable& wrong);

}  // namespace attn

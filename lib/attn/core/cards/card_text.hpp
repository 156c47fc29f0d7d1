#pragma once
#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/cards/texts.hpp"
#include "attn/core/walk/step.hpp"

namespace attn {

// Attention as a text: data/attentions/standard.attn and the files of its variants next to it. Each
// paragraph begins with a step and its rule; the lines below are the rest of the card.
// app/attentions.md lists their words.

/// A condition of `when causal` or `when not sink`, from the table of conditions.
struct Condition {
    When when = unconditional;
    bool negated = false;

    bool holds(const PlannedStep& of) const { return when.holds(of) != negated; }
};

bool all_true(const std::vector<Condition>& conditions, const PlannedStep& of);

/// A line below a rule: `loop softmax`.
struct CardLine {
    std::string_view word, remainder;
};

/// One paragraph: how to compute a step under some conditions.
struct Way {
    std::string_view rule;  ///< only its cell if the tensor is drawn or given
    std::vector<CardLine> lines{};
    std::vector<Condition> conditions{};
    CardWords words = nullptr;  ///< of its file

    bool is_meant(const PlannedStep& of) const;
    bool has_rule() const { return rule.find('=') != rule.npos; }
    bool has(std::string_view word) const;
    /// Returns the text after a word, one line for each occurrence.
    std::string specified(std::string_view word) const;
};

/// The paragraphs of one step, those of variants first. A paragraph inherits `loop`, `reads`,
/// `formula`, lines of Python and `at once` from the last one, the card, unless it has its own or
/// `inherits nothing`.
struct CardText {
    std::vector<Way> ways;
    Step card{};  ///< for words that are needed before there is a table

    /// The inputs and computation of a way, created when a walk first needs them: a walk uses few
    /// of all steps.
    struct CompiledCards {
        std::once_flag once{};
        CardFunction<std::vector<Input>(const Plan&)> reads{};
        Step::Compute compute{};
    };
    mutable std::vector<CompiledCards> compiled{};

    /// Returns the first way whose conditions are true; null if there is none.
    const Way* way(const PlannedStep& of) const;
    /// Returns the same way before there is a step table.
    const Way* way(const Plan& plan) const;
};

/// Returns the step of a text before there is a step table, for words and conditions.
PlannedStep before_tables(const Plan& plan, const CardText& text);

/// Fills in the functions of a step from its ways.
void let_follow(Step& step, CardText& text);

/// True if a rule of the user makes the exponentials, from which softmax is then computed.
bool has_own_exponentials(const PlannedStep& of);

/// Parses a list `CONDITION, not CONDITION` and adds its conditions.
///
/// Errors  ConfigError for an unknown condition.
void add_conditions(std::string_view list, std::vector<Condition>& all);

/// Hand-written functions of both variants, by the word after `loop`.
struct NamedLoop {
    std::string_view name;
    Step::Compute (*compute)(const Step& step);
    bool is_of_walk = false;  ///< it computes the walk's own step, whatever the paragraph reads
};
/// Errors  ConfigError for an unknown loop.
const NamedLoop& loop_called(std::string_view name);
/// Returns a loop that any step with the right inputs may use.
///
/// Errors  ConfigError also for a loop of the walk's own steps.
const NamedLoop& loop_for_files(std::string_view name);

/// Parses the axes and lengths in a line `shape batch head query key`.
///
/// Errors  ConfigError for an unknown axis, or an unknown size after its colon.
std::function<Outline(const Plan&)> outline_in(std::string_view text);

/// Returns the words in braces that a file has in addition to those of all cards; null for none.
CardWords words_of_file(std::string_view name);

/// Returns the steps in the walk's texts, in their order.
StepTable cards_of_text();
/// Returns the steps in such texts, in order. The texts must outlive the table.
///
/// Errors  InputError with file and line for an unknown word, condition, loop or size.
StepTable cards_of(std::string_view texts);

}  // namespace attn

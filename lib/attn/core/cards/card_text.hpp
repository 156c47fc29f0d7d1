#pragma once
#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/cards/texts.hpp"
#include "attn/core/walk/step.hpp"

namespace attn {

// Attention as a text: data/attentions/standard.attn and the files of its variants beside it. Each
// paragraph begins with a step and its rule; the lines below it say the rest of the card.
// app/attentions.md lists the words.

/// `when causal`, `when not sink`: a word of the table of conditions.
struct Condition {
    When when = always_meant;
    bool negated = false;

    bool holds(const PlannedStep& of) const { return when.holds(of) != negated; }
};

bool all_hold(const std::vector<Condition>& conditions, const PlannedStep& of);

/// A line below a rule: `loop softmax`.
struct CardLine {
    std::string_view word, says;
};

/// One paragraph: how a step is made under some conditions.
struct Way {
    std::string_view rule;  ///< its cell alone for what is drawn or given
    std::vector<CardLine> lines{};
    std::vector<Condition> conditions{};
    CardWords words = nullptr;  ///< of the file that it is in

    bool is_meant(const PlannedStep& of) const;
    bool has_rule() const { return rule.find('=') != rule.npos; }
    bool has(std::string_view word) const;
    /// The text after a word, one line for each time that it is there.
    std::string said(std::string_view word) const;
};

/// The paragraphs of one step: those of variants first. A paragraph has the `loop`, `reads`,
/// `formula`, lines of Python and `at once` of the last one, the card, unless it says its own or
/// `inherits nothing`.
struct CardText {
    std::vector<Way> ways;
    Step card{};  ///< of which words are asked before there is a table

    /// What a way reads and computes, made when a walk first asks: it has few of all steps.
    struct Made {
        std::once_flag once{};
        CardFunction<std::vector<Input>(const Plan&)> reads{};
        Step::Compute compute{};
    };
    mutable std::vector<Made> made{};

    /// The first way whose conditions hold; null if none does.
    const Way* way(const PlannedStep& of) const;
    /// The same, before there is a table.
    const Way* way(const Plan& plan) const;
};

/// The step of a text before there is a table of them: for words and conditions.
PlannedStep before_tables(const Plan& plan, const CardText& text);

/// Fills in what a step does from its ways.
void let_follow(Step& step, CardText& text);

/// True if a rule of the user makes the exponentials, of which softmax is then made.
bool has_own_exponentials(const PlannedStep& of);

/// Adds those of a list `CONDITION, not CONDITION`.
///
/// Errors  ConfigError for a word that is no condition.
void add_conditions(std::string_view list, std::vector<Condition>& all);

/// Hand-written functions of both variants, by the word that `loop` says.
struct NamedLoop {
    std::string_view name;
    Step::Compute (*compute)(const Step& step);
    bool is_of_walk = false;  ///< it makes the walk's own step, whatever it is told to read
};
/// Errors  ConfigError for a word that is no loop.
const NamedLoop& loop_called(std::string_view name);
/// A loop that any step may have which reads what it needs.
///
/// Errors  ConfigError for a loop of a step of the walk, too.
const NamedLoop& loop_for_files(std::string_view name);

/// The axes and lengths that a line `shape batch head query key` says.
///
/// Errors  ConfigError for a word that is no axis, or no size after its colon.
std::function<Outline(const Plan&)> outline_in(std::string_view text);

/// The words in braces that a file knows beside those of all cards; null for none.
CardWords words_of_file(std::string_view name);

/// The steps of the texts of the walk, in the order in which they have them.
StepTable cards_of_text();
/// The steps of such texts, one after another. They must outlive the table.
///
/// Errors  InputError with file and line for a word, condition, loop or size that there is not.
StepTable cards_of(std::string_view texts);

}  // namespace attn

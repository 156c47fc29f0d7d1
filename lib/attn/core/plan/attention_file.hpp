#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/rules/define.hpp"
#include "attn/ground/random/generator.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {

struct Plan;

/// The facts that notes of files may name in braces: the place of the largest number, that number,
/// and both for the smallest.
const std::vector<std::string>& note_facts();

/// A step of an attention file: its rule, and the rest of its card.
struct AttentionStep {
    Rule rule;
    std::size_t line = 0;
    std::string form{};      ///< its form; empty: part of all
    std::string extends{};   ///< a chain: `scores`
    std::string after{};     ///< the step to insert it after
    std::string when{};      ///< conditions on the walk: `masked, not sink`
    std::string loop{};      ///< the hand-written function that computes it
    bool at_once = false;    ///< in 16 bits it is rounded once
    bool is_detail = false;  ///< shown on request
    std::string title{}, note{}, torch{}, numpy{}, called{};
};

/// A parameter: drawn after all others, or an expression in its indices.
struct AttentionParameter {
    std::string name;
    std::vector<std::string> letters;
    Initialisation how = Initialisation::zeros;
    double shift = 0, spread = 1;  ///< shift + spread * the drawn number
    RuleTree value{};              ///< if it is not drawn
    std::size_t line = 0;
    std::string title{};
};

/// A named number: `setting chunk = 2`, or the length of an axis by its letter.
struct AttentionNumber {
    std::string name;
    RuleTree value;
    std::size_t line = 0;
};

/// Steps of one recurrence that read each other.
struct AttentionGroup {
    std::vector<std::string> names;
    std::size_t line = 0;
    std::string form{};
};

/// A mistake that belongs to this attention.
struct AttentionMistake {
    std::string id, step;
    Rule rule{};
    std::size_t line = 0;
    std::string title{}, effect{}, lesson{}, torch{}, numpy{};
};

/// The content of an attention file.
struct AttentionFile {
    std::string label;  ///< in messages: the file, or its name
    std::string text;   ///< the complete text
    std::string name, title{}, source{}, lesson{}, begins{};
    std::string explains{};  ///< for a law: the steps and mistakes that it explains (laws.hpp)
    std::size_t begins_line = 0;
    std::vector<AttentionNumber> settings{}, axes{};
    std::vector<AttentionParameter> parameters{};
    std::vector<AttentionStep> steps{};
    std::vector<std::string> forms{}, same{};
    std::size_t same_line = 0;
    std::vector<AttentionMistake> mistakes{};
    Definitions definitions{};

    /// Returns the form to compute: the requested one, alone or as NAME=FORM in a list, or the
    /// first if the file does not have it.
    std::string walked_form(const std::string& requested) const;
    /// Returns the steps of the form and those of all forms whose conditions are true: the first of
    /// each name.
    std::vector<AttentionStep> steps_of(const Plan& plan) const;
    /// Calls `make`; adds the file and the line to the message of an exception.
    template <class Make>
    auto at(std::size_t line, Make make) const {
        try {
            return make();
        } catch (const Error& error) {
            refuse(line, error.what());
        }
    }
    [[noreturn]] void refuse(std::size_t line, const std::string& message) const;
};

/// Returns the other forms of the walk's attentions: `$form recurrent or $form chunked`.
std::string other_forms(const Plan& plan);

/// Joins steps that read each other: all become rows of one more step, made row by row, from which
/// each is read. A cell of the same row is replaced by the rule of its step.
///
/// Errors  InputError if they have no order, or other axes.
void join_together(AttentionFile& file, const AttentionGroup& group);

/// Returns the words that a line of a file may begin with.
const std::vector<std::string>& attention_words();

/// Parses a file line by line: a word and its text; `#` begins a comment.
///
///     file        { line }
///     line        attention NAME | title TEXT | source TEXT | lesson TEXT | begins FLAGS
///                 | explains STEPS, MISTAKES | setting NAME = expression | axis LETTER <
///                 expression | parameter cell ~ distribution | parameter cell = expression | form
///                 NAME | same NAME { NAME } | together NAME NAME { NAME } | define
///                 NAME(names)[...] = expression | step rule | mistake NAME at STEP
///     of a step   title TEXT | note TEXT | torch TEXT | numpy TEXT | called TEXT
///                 | extends CHAIN | after STEP | when CONDITIONS | loop NAME | at once | detail
///     mistake     rule rule | title TEXT | effect TEXT | lesson TEXT | fix torch: TEXT
///
/// Errors  InputError with the label, the line and a caret; also for a text above 64 KB, and for
///         control characters: line ends that only Python recognises, escape sequences.
AttentionFile parse_attention(const std::string& text, const std::string& label);

/// Returns the text of a shipped attention; empty for another name.
std::string shipped_attention(std::string_view name);
/// Return the names in the program's order: of data/attentions, and of the laws in data/laws, whose
/// forms are two sides of one fact.
std::vector<std::string> shipped_attention_names();
std::vector<std::string> shipped_law_names();

/// Evaluates an expression of numbers and settings.
double number_of(const RuleTree& expression, const std::map<std::string, double>& settings);

/// Returns the settings that a rule of this plan may name: `H` heads, `G` heads of keys and values,
/// `group` queries per key head, `D` head_dim, `Dv` value_dim, `C` embed_dim, `Tq` and `Tk` numbers
/// of queries and keys, `P` keys of the past, `offset` keys before the first query's own, `scale`
/// divisor of the scores, `cap` of the scores if there is one, `pi`, and those of attention files.
std::map<std::string, double> rule_settings(const Plan& plan);
/// Returns the function for a setting that all walks have; nullptr for any other name.
double (*walk_number(std::string_view name))(const Plan&);
/// True if a name is a setting of all walks, not of an attention file.
bool is_walk_number(const std::string& name);

}  // namespace attn

#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/random/generator.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {

struct Plan;

/// What notes of files may name in braces: the place of the largest number, that number, the same
/// of the smallest.
const std::vector<std::string>& note_facts();

/// A step of an attention file: its rule, and what its card says beside it.
struct AttentionStep {
    Rule rule;
    std::size_t line = 0;
    std::string form{};      ///< that it is a part of; empty: of all
    std::string extends{};   ///< a chain: `scores`
    std::string after{};     ///< the step before it
    std::string when{};      ///< conditions on the walk: `masked, not sink`
    std::string loop{};      ///< the hand-written function that makes it
    bool at_once = false;    ///< in 16 bits it is rounded once
    bool is_detail = false;  ///< shown on request
    std::string title{}, note{}, torch{}, numpy{}, called{};
};

/// A parameter: drawn after all others, or what an expression of its indices says.
struct AttentionParameter {
    std::string name;
    std::vector<std::string> letters;
    Initialisation how = Initialisation::zeros;
    double shift = 0, spread = 1;  ///< of what is drawn
    RuleTree value{};              ///< where nothing is drawn
    std::size_t line = 0;
    std::string title{};
};

/// A number with a name: `setting chunk = 2`, or how many places the letter of an axis has.
struct AttentionNumber {
    std::string name;
    RuleTree value;
    std::size_t line = 0;
};

/// A mistake that belongs to this attention.
struct AttentionMistake {
    std::string id, step;
    Rule rule{};
    std::size_t line = 0;
    std::string title{}, effect{}, lesson{}, torch{}, numpy{};
};

/// An attention as a file says it.
struct AttentionFile {
    std::string label;  ///< what messages call it: the file, or its name
    std::string text;   ///< all of it
    std::string name, title{}, source{}, lesson{}, begins{};
    std::string explains{};  ///< of a law: the steps and mistakes that it explains (laws.hpp)
    std::size_t begins_line = 0;
    std::vector<AttentionNumber> settings{}, axes{};
    std::vector<AttentionParameter> parameters{};
    std::vector<AttentionStep> steps{};
    std::vector<std::string> forms{}, same{};
    std::size_t same_line = 0;
    std::vector<AttentionMistake> mistakes{};

    /// The form that is walked: the first where it has none of that name.
    std::string walked_form(const std::string& asked) const;
    /// The steps of the walked form and those of all whose conditions hold: the first of each name.
    std::vector<AttentionStep> steps_of(const Plan& plan) const;
    /// Calls `make`; what it refuses is said with the file and the line.
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

/// `$form recurrent or $form chunked`: the forms of the walk's attentions beside the one walked.
std::string other_forms(const Plan& plan);

/// The words that a line of a file may begin with.
const std::vector<std::string>& attention_words();

/// Reads a file, line by line: a word and what it says; `#` begins a remark.
///
///     file        { line }
///     line        attention NAME | title TEXT | source TEXT | lesson TEXT | begins FLAGS
///                 | explains STEPS, MISTAKES | setting NAME = expression | axis LETTER <
///                 expression | parameter cell ~ distribution | parameter cell = expression | form
///                 NAME | same NAME { NAME } | step rule | mistake NAME at STEP
///     of a step   title TEXT | note TEXT | torch TEXT | numpy TEXT | called TEXT
///                 | extends CHAIN | after STEP | when CONDITIONS | loop NAME | at once | detail
///     mistake     rule rule | title TEXT | effect TEXT | lesson TEXT | fix torch: TEXT
///
/// Errors  InputError with the label, the line and a caret, for a text above 64 KB too, and for
///         controls in what a line says: a line end that only Python knows, an escape sequence.
AttentionFile parse_attention(const std::string& text, const std::string& label);

/// The text of an attention that the program holds, or nothing.
std::string shipped_attention(std::string_view name);
/// Their names, in the order of the program's list: those of data/attentions, and the laws of
/// data/laws, whose forms are two sides of one fact.
std::vector<std::string> shipped_attention_names();
std::vector<std::string> shipped_law_names();

/// The value of an expression of numbers and settings.
double number_of(const RuleTree& expression, const std::map<std::string, double>& settings);

/// The settings that a rule of this plan may name: `H` heads, `G` heads of keys and values, `group`
/// queries for each of these, `D` head_dim, `Dv` value_dim, `C` embed_dim, `Tq` and `Tk` queries
/// and keys, `P` keys of the past, `offset` keys before the first query's own, `scale` what scores
/// are divided by, `cap` of the scores where there is one, `pi`, and those of attention files.
std::map<std::string, double> rule_settings(const Plan& plan);
/// How a plan tells one of these that has it in every walk; nullptr for any other name.
double (*walk_number(std::string_view name))(const Plan&);
/// Whether a name is one of these in every walk, and no attention file's own.
bool is_walk_number(const std::string& name);

}  // namespace attn

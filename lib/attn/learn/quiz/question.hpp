#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/walk/walk.hpp"
#include "attn/ground/tensor/array.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace attn {

/// The only right answer to a question.
struct RightAnswer {
    enum class Kind { number, shape, names, choice, made };
    Kind kind = Kind::number;
    double number = 0;
    Shape shape{};
    /// All names that must be given, in any order, each in one of its spellings: `2` or `eat`. For
    /// a choice, all its texts, a) first.
    std::vector<std::vector<std::string>> names{};
    std::vector<double> numbers{};      ///< for a choice between numbers
    std::size_t choice = 0;             ///< the index of the right one
    std::vector<std::string> others{};  ///< names that are wrong here; empty: all others
    /// For an answer to construct: its number of numbers, and whether they have the requested
    /// effect.
    std::size_t count = 0;
    std::function<bool(const std::vector<double>&)> holds{};
};

/// The result of checking an answer.
struct Judgement {
    enum class Is { right, wrong, unread };
    Is is = Is::wrong;
    std::string advice{};  ///< for an unread answer, neither right nor wrong: the accepted forms
};

/// Compares a typed answer with the right one.
///
/// Range   A number has at least two significant digits, unless it is exact, and is right within
///         half a unit of its last digit: 0.52 and .5167 for 0.516667. Arithmetic is right within a
///         thousandth: 31/60, ln 2, 1/sqrt(2). A shape is given by its numbers: (2,3), 2x3, [2, 3].
///         A choice is given by its letter, its number in any form, or its text.
Judgement check_answer(const RightAnswer& right, std::string_view typed);

/// Returns the index of the typed choice; nullopt if it is not a choice, or ambiguous.
std::optional<std::size_t> parse_choice(const RightAnswer& right, std::string_view typed);

/// Random numbers for a question, the same on every machine.
///
/// Errors  ConfigError for empty ranges: a count of 0, most below least, an empty list.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}
    std::size_t below(std::size_t count);
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(
                           below(most < least ? 0 : static_cast<std::size_t>(most - least) + 1));
    }
    template <class T>
    T pick(std::initializer_list<T> from) {
        return from.begin()[below(from.size())];
    }
    template <class T>
    void shuffle(std::vector<T>& all) {
        for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below(i)]);
    }

private:
    std::mt19937_64 engine_;
};

/// A small walk for questions. Tensors that are not drawn are parameters of its configuration.
struct QuizWalk {
    WalkConfig config{};
    std::string flags{};        ///< that make it
    std::string description{};  ///< for the reader: `There are 2 heads. The mask is causal.`
    bool has_backward = false;  ///< it has gradients, of the sum of its last step

    Walked walked_with(const Mistake* mistake = nullptr) const;
};

/// A possible answer, and the mistake that leads to it.
struct QuizChoice {
    std::string text;
    const Mistake* mistake = nullptr;  ///< null for the right one
    double number = 0;                 ///< for a cell
};

/// A question about a walk, with its one right answer.
struct Question {
    QuizWalk walk{};
    std::string topic{};
    std::string asks{};
    std::vector<std::string> shown{};    ///< lines such as `query = [[1, 0], [2, 1]]`
    std::vector<QuizChoice> choices{};   ///< after a), b), ...; empty for a free answer
    std::vector<QuizChoice> mistaken{};  ///< numbers that mistakes give for the cell
    RightAnswer right{};
    std::string answer{};  ///< in words
    std::vector<std::string> hints{};
    std::string why{};                 ///< its derivation
    std::string cell{};                ///< of the walk, to confirm the answer
    const Mistake* mistake = nullptr;  ///< that the walk was computed with
};

/// A kind of question: it generates a walk, and asks about it. If the walk has several right
/// answers, or one that cannot be known, it asks nothing, and another walk is generated.
struct QuizEntry {
    std::string topic;
    std::function<QuizWalk(Dice&)> looks;
    std::function<std::optional<Question>(const QuizWalk&, Dice&)> asks;
};

/// All kinds of questions.
const std::vector<QuizEntry>& quiz_entries();
/// Returns the questions about one walk; the topics are its steps, and `construct`.
std::vector<QuizEntry> own_entries(const QuizWalk& walk);
/// Their topics, in the best order for learning.
std::vector<std::string> quiz_topics();

/// A sequence of questions: topics alternate, and within each topic its kinds. Another seed gives
/// other numbers in the same kinds of questions.
class QuizSession {
public:
    /// Asks questions on one topic, or on those of a level from 1 to 3: four topics each, in the
    /// best order for learning.
    /// Errors  ConfigError for an unknown topic; empty means all.
    QuizSession(const std::string& topic, std::uint64_t seed, std::size_t level = 0);
    /// Asks about one walk with given numbers: its steps, and numbers to construct.
    /// Errors  ConfigError for a walk without a step that fits on paper.
    QuizSession(const QuizWalk& own, const std::string& topic, std::uint64_t seed);
    /// Returns the next question, one not yet asked in this session as long as there are any.
    Question next();

private:
    std::vector<std::string> topics_;
    std::vector<QuizEntry> own_{};
    std::uint64_t seed_;
    std::size_t number_ = 0;
    std::set<std::string> requested_;
};

/// Returns the mistake that leads to this answer; nullptr if there is none.
const Mistake* mistake_in_answer(const Question& question, std::string_view typed);

// Building blocks of questions.

using QuestionMaker = decltype(QuizEntry::asks);
/// Asks for a cell of a step, given other tensors, sometimes as a choice between the results of
/// mistakes: for a cell in the last of `parts` parts of the step.
QuestionMaker ask_cell(const std::string& step, const std::vector<std::string>& shown,
                       std::size_t parts = 1);
/// Asks for the shape of one of these steps.  Errors  ConfigError if the list is empty.
QuestionMaker ask_shape(const std::vector<std::string>& steps);
/// Asks which cell of another tensor a cell is copied from.
QuestionMaker ask_origin(const std::string& step, const std::string& of);
/// Asks for the keys that a query sees, or does not see.
std::optional<Question> ask_keys(const QuizWalk& walk, Dice& dice);
/// Ask which mistake made the numbers, which line of the walk is wrong, which rule a step has, and
/// which form of an attention its lines are.
std::optional<Question> ask_mistake(const QuizWalk& walk, Dice& dice);
std::optional<Question> ask_line(const QuizWalk& walk, Dice& dice);
std::optional<Question> ask_rule(const QuizWalk& walk, Dice& dice);
std::optional<Question> ask_form(const QuizWalk& walk, Dice& dice);

/// Returns the beginning of a question: `Here: 2 heads. `
std::string given(const QuizWalk& walk);
/// Formats `query = [[1, 0], [2, 1]]` with numbers as in handwriting: `0.5`, `ln 3`, else four
/// significant digits.
std::string quiz_number(double number);
std::string shown_tensor(const std::string& name, const Tensor& tensor);
/// Arranges choices, the first of which is right, in random order.
void put_choices(Question& question, std::vector<QuizChoice> choices, Dice& dice);

/// A format of sheets, by its name and suffixes.
struct SheetForm {
    std::string name;
    std::vector<std::string_view> endings;
};
const std::vector<SheetForm>& sheet_forms();

/// The syntax of a format for each part of a sheet or handout, with `{}` for its text.
struct Paper {
    std::string (*prose)(std::string_view);
    std::string (*lines)(std::string_view);
    const char *head, *section, *paragraph, *block, *names, *blank, *end, *tail;

    static std::string put(const char* part, const std::string& text);
    /// Formats lines of numbers and derivations, none wider than a page.
    std::string block_of(const std::string& text) const;
};
/// Errors  ConfigError for a format that does not exist, or that is not text.
const Paper& paper(const std::string& format);

/// Formats questions as a sheet, or with answers and derivations as its key.
///
/// `format` is one of those above: markdown, html (one file that needs no network), latex (a
/// document), ipynb (with the numbers in Python cells) or text.
std::string sheet_text(const std::string& title, const std::vector<Question>& questions,
                       bool with_answers, const std::string& format,
                       const std::string& command = {});
/// Returns the page of a text whose parts are those of `paper("html")`.
std::string text_page(const std::string& title, const std::string& command,
                      const std::string& text);

/// Formats the questions as a JSON list, with everything needed to confirm the answers: flags,
/// given tensors, the cell, and the mistakes of wrong choices.
std::string questions_json(const std::vector<Question>& questions);

/// Formats the choices: `a) 0.5`.
std::vector<std::string> choice_lines(const Question& question);

}  // namespace attn

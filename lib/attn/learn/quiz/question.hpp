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

/// The one right answer to a question.
struct RightAnswer {
    enum class Kind { number, shape, names, choice };
    Kind kind = Kind::number;
    double number = 0;
    Shape shape{};
    /// All that are to be named, in any order, each by one of its spellings: `2` or `eat`. Of a
    /// choice all that there are, a) first.
    std::vector<std::vector<std::string>> names{};
    std::vector<double> numbers{};      ///< of a choice between numbers
    std::size_t choice = 0;             ///< the place of the right one
    std::vector<std::string> others{};  ///< names that are wrong here; empty: all others are
};

/// The judgement of an answer.
struct Judgement {
    enum class Is { right, wrong, unread };
    Is is = Is::wrong;
    std::string advice{};  ///< of an answer that is unread, neither right nor wrong: what to write
};

/// Compares what somebody typed with the right answer.
///
/// Range   A number has two significant digits or more, unless it is exact, and is right within
///         half a unit of its last digit: 0.52 and .5167 for 0.516667. Arithmetic is right within
///         a thousandth: 31/60, ln 2, 1/sqrt(2). A shape is its numbers: (2,3), 2x3, [2, 3]. A
///         choice goes by its letter, its number however it is written, or its text.
Judgement check_answer(const RightAnswer& right, std::string_view typed);

/// The place of the choice that somebody typed; nothing where it is none, or may be several.
std::optional<std::size_t> said_choice(const RightAnswer& right, std::string_view typed);

/// Numbers drawn for a question, the same on every machine.
///
/// Errors  ConfigError for one of none: a count of 0, most below least, an empty list.
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

/// A small walk that questions are about. What was written down and not drawn is among the
/// parameters of its configuration.
struct QuizWalk {
    WalkConfig config{};
    std::string flags{};  ///< that make it
    std::string told{};   ///< what a reader has to know of the settings: `2 heads, a causal mask`
    bool goes_back = false;  ///< from the sum of its last step

    Walked made(const Mistake* mistake = nullptr) const;
};

/// A possible answer, and whose answer that would be.
struct QuizChoice {
    std::string text;
    const Mistake* mistake = nullptr;  ///< none for the right one
    double number = 0;                 ///< of a cell
};

/// A question about a walk, with its one right answer.
struct Question {
    QuizWalk walk{};
    std::string topic{};
    std::string asks{};
    std::vector<std::string> shown{};    ///< lines such as `query = [[1, 0], [2, 1]]`
    std::vector<QuizChoice> choices{};   ///< after a), b), ...; empty where one writes
    std::vector<QuizChoice> mistaken{};  ///< what mistakes make of the cell that is asked for
    RightAnswer right{};
    std::string answer{};  ///< in words
    std::vector<std::string> hints{};
    std::string why{};                 ///< its derivation
    std::string cell{};                ///< of the walk, that confirms it
    const Mistake* mistake = nullptr;  ///< that the walk was made with
};

/// One kind of question: how it looks for a walk, and what it asks about that. It asks nothing
/// where the walk would have two answers, or one that nobody could know; then it looks further.
struct QuizEntry {
    std::string topic;
    std::function<QuizWalk(Dice&)> looks;
    std::function<std::optional<Question>(const QuizWalk&, Dice&)> asks;
};

/// All kinds of questions.
const std::vector<QuizEntry>& quiz_entries();
/// Their topics, in the order in which they are best learned.
std::vector<std::string> quiz_topics();

/// Questions one after the other: topics take turns, and within each its kinds. Another seed has
/// other numbers in the same kinds of questions.
class QuizSession {
public:
    /// Of one topic, or of those of a level from 1 to 3: four each, in the order in which they are
    /// best learned.
    /// Errors  ConfigError for a topic that there is not; empty means all.
    QuizSession(const std::string& topic, std::uint64_t seed, std::size_t level = 0);
    /// The next question, which was not asked before in this session, as long as there are such.
    Question next();

private:
    std::vector<std::string> topics_;
    std::uint64_t seed_;
    std::size_t number_ = 0;
    std::set<std::string> asked_;
};

/// The mistake of somebody who gave this answer; none where it is nobody's.
const Mistake* mistake_behind(const Question& question, std::string_view typed);

// Parts of the kinds of questions.

using Asks = decltype(QuizEntry::asks);
/// Asks for a cell of a step beside other tensors, at times as a choice between what mistakes make:
/// for one in the last of so many parts of the step.
Asks ask_cell(const std::string& step, const std::vector<std::string>& shown,
              std::size_t parts = 1);
/// Asks for the shape of one of these steps.  Errors  ConfigError without any.
Asks ask_shape(const std::vector<std::string>& steps);
/// Asks which cell of another tensor a cell is.
Asks ask_origin(const std::string& step, const std::string& of);
/// Asks for the keys that a query sees, or does not see.
std::optional<Question> ask_keys(const QuizWalk& walk, Dice& dice);
/// Asks which mistake made the numbers, which line of the walk is wrong, which rule is a step's,
/// and which form of an attention its lines are.
std::optional<Question> ask_mistake(const QuizWalk& walk, Dice& dice);
std::optional<Question> ask_line(const QuizWalk& walk, Dice& dice);
std::optional<Question> ask_rule(const QuizWalk& walk, Dice& dice);
std::optional<Question> ask_form(const QuizWalk& walk, Dice& dice);

/// The beginning of a question: `Here: 2 heads. `
std::string given(const QuizWalk& walk);
/// `query = [[1, 0], [2, 1]]`, in numbers as they are written by hand: `0.5`, `ln 3`, else four
/// significant digits.
std::string quiz_number(double number);
std::string shown_tensor(const std::string& name, const Tensor& tensor);
/// Lays out choices, the first of which is right.
void put_choices(Question& question, std::vector<QuizChoice> choices, Dice& dice);

/// A form of sheets, by its name and the endings of its files.
struct SheetForm {
    std::string name;
    std::vector<std::string_view> endings;
};
const std::vector<SheetForm>& sheet_forms();

/// How a form writes each part of a sheet or handout, `{}` for its text.
struct Paper {
    std::string (*prose)(std::string_view);
    std::string (*lines)(std::string_view);
    const char *head, *section, *paragraph, *block, *names, *blank, *end, *tail;

    static std::string put(const char* part, const std::string& text);
    /// Lines of numbers and derivations, none of them wider than a page.
    std::string block_of(const std::string& text) const;
};
/// Errors  ConfigError for a form that there is not, or that is no text.
const Paper& paper(const std::string& format);

/// Questions on paper, or with their answers and derivations the key to it.
///
/// `format` is one of those above: markdown, html (one file that needs no network), latex (a
/// document), ipynb (whose cells hold the numbers as Python) or text.
std::string sheet_text(const std::string& title, const std::vector<Question>& questions,
                       bool with_answers, const std::string& format);

/// The questions as a JSON list, with all that a stranger needs to confirm the answers: flags, the
/// tensors given, the cell, and the mistakes after wrong choices.
std::string questions_json(const std::vector<Question>& questions);

/// The choices as they are read: `a) 0.5`.
std::vector<std::string> choice_lines(const Question& question);

}  // namespace attn

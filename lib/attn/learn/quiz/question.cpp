#include "attn/learn/quiz/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/gradient_mistakes.hpp"

namespace attn {
namespace {

using MaybeQuestion = std::optional<Question>;

std::string letter(std::size_t choice) { return std::string(1, static_cast<char>('a' + choice)); }

/// Returns a cell of a computed walk by its index.
Cell cell_at(const Walked& walked, const std::string& step, std::size_t number) {
    const Tensor& tensor = walked.ledger[step];
    return {step, indices_of(number, tensor.shape()), tensor.at(number)};
}

std::string why_cell(const Walked& walked, const Cell& cell) {
    return why_text(walked.plan, walked.table, walked.ledger, cell, {.depth = 1});
}

/// Returns the formula of a step.
std::string formula_in(const Walked& walked, const std::string& step) {
    return formula_of(find_step(walked.table, step), walked.plan, walked.table);
}

/// Returns the numbers that mistakes give for a cell: each value once, and none close to the right
/// one.
std::vector<QuizChoice> mistaken_cells(const QuizWalk& walk, const std::string& step,
                                       const Tensor& right, std::size_t cell) {
    const Plan plan = resolve(walk.config);
    std::vector<QuizChoice> found;
    std::vector<const Mistake*> all;
    if (walk.has_backward) {
        for (const Mistake& mistake : gradient_mistakes()) all.push_back(&mistake);
    } else {
        all = mistakes_in(plan);
    }
    for (const Mistake* each : all) {
        const Mistake& mistake = *each;
        if (!mistake.applies(plan)) continue;
        try {
            const Tensor tensor = walk.walked_with(&mistake).ledger[step];
            if (tensor.shape() != right.shape() || !std::isfinite(tensor.at(cell))) continue;
            const QuizChoice choice{quiz_number(tensor.at(cell)), &mistake, tensor.at(cell)};
            const bool is_known =
                std::ranges::find(found, choice.text, &QuizChoice::text) != found.end();
            const double away = std::abs(choice.number - right.at(cell));
            if (!is_known && away > std::abs(right.at(cell)) / 50 + 1e-9) found.push_back(choice);
        } catch (const Error&) {
            continue;  // the mistake causes an error
        }
    }
    return found;
}

/// Returns the derivation without its result, one line per step.
std::vector<std::string> hints_of(const Derivation& derivation) {
    std::vector<std::string> hints{"it is " + derivation.rule};
    for (const Term& term : derivation.terms) {
        const auto& [left, right, value, form] = term;
        std::string text = cell_text(left) + " = " + quiz_number(left.value);
        if (right) text += " times " + cell_text(*right) + " = " + quiz_number(right->value);
        hints.push_back(form.empty() ? text : form);
    }
    const std::string& numbers = derivation.arithmetic;
    if (!numbers.empty()) hints.push_back("with its numbers: " + numbers);
    return hints;
}

/// Returns the number, with a fraction if it is a simple one: `0.6667, 2/3`.
std::string with_fraction(double number) {
    const std::string text = quiz_number(number);
    for (int below = 3; below <= 60 && text.size() > 4; ++below) {
        const double above = std::round(number * below);
        if (std::abs(number * below - above) < 1e-9) {
            return fmt::format("{}, {:g}/{}", text, above, below);
        }
    }
    return text;
}

}  // namespace

std::size_t Dice::below(std::size_t count) {
    if (count == 0) throw ConfigError("nothing can be drawn from none: give at least one choice");
    return engine_() % count;
}

Walked QuizWalk::walked_with(const Mistake* mistake) const {
    Plan plan = resolve(config);
    StepTable table = step_table(plan);
    if (mistake != nullptr && !has_backward) table = mistake->apply(std::move(table), plan);
    if (has_backward) table = with_gradients(std::move(table), plan, {});
    if (mistake != nullptr && has_backward) table = mistake->apply(std::move(table), plan);
    Ledger ledger = attn::walk(plan, draw(plan), table);
    return {std::move(plan), std::move(table), std::move(ledger)};
}

QuestionMaker ask_cell(const std::string& step, const std::vector<std::string>& shown,
                       std::size_t parts) {
    return [=](const QuizWalk& walk, Dice& dice) -> MaybeQuestion {
        const Walked walked = walk.walked_with();
        const Tensor& tensor = walked.ledger[step];
        const std::size_t last = tensor.size() / parts;
        const std::size_t number = tensor.size() - last + dice.below(last);
        const Cell cell = cell_at(walked, step, number);
        Question question{.walk = walk, .cell = cell_text(cell)};
        question.asks = given(walk) + "What is " + question.cell + "?";
        question.right.number = cell.value;
        question.answer = with_fraction(cell.value);
        for (const std::string& name : shown) {
            question.shown.push_back(shown_tensor(name, walked.ledger[name]));
        }
        question.hints = hints_of(derive(walked.plan, walked.table, walked.ledger, cell));
        question.why = why_cell(walked, cell);
        question.mistaken = mistaken_cells(walk, step, tensor, number);
        if (question.mistaken.size() < 2 || dice.below(4) != 0) {
            const bool is_whole = question.answer.find_first_of(".l") == std::string::npos;
            if (!is_whole)
                question.asks += " Give two digits or more, or an exact form such as 2/3 or ln 2.";
            return question;
        }
        std::vector<QuizChoice> choices = question.mistaken;
        dice.shuffle(choices);
        choices.resize(std::min<std::size_t>(choices.size(), 3));
        choices.insert(choices.begin(), {quiz_number(cell.value), nullptr, cell.value});
        put_choices(question, std::move(choices), dice);
        return question;
    };
}

QuestionMaker ask_shape(const std::vector<std::string>& steps) {
    if (steps.empty()) throw ConfigError("a question about shapes needs a step");
    return [=](const QuizWalk& walk, Dice& dice) -> MaybeQuestion {
        const Walked walked = walk.walked_with();
        const std::string& step = steps[dice.below(steps.size())];
        const Tensor& tensor = walked.ledger[step];
        const std::string formula = formula_in(walked, step);
        const bool has_heads = tensor.axes().size() > 2 && tensor.axes().back() == "feature" &&
                               std::ranges::find(tensor.axes(), "head") != tensor.axes().end();
        return Question{.walk = walk,
                        .asks = given(walk) + "What is the shape of " + step +
                                (has_heads ? ", with the head axis before the token axis" : "") +
                                (walk.config.batch ? "?" : ", without a batch axis?"),
                        .right = {.kind = RightAnswer::Kind::shape, .shape = tensor.shape()},
                        .answer = shape_text(tensor.shape()),
                        .hints = {"its axes are " + joined(tensor.axes()), formula},
                        .why = step + ": " + tensor.described() + "\n  " + formula + "\n",
                        .cell = step};
    };
}

QuestionMaker ask_origin(const std::string& step, const std::string& of) {
    return [=](const QuizWalk& walk, Dice& dice) -> MaybeQuestion {
        const Walked walked = walk.walked_with();
        const Tensor &tensor = walked.ledger[step], &source = walked.ledger[of];
        const Cell cell = cell_at(walked, step, dice.below(tensor.size()));
        const std::vector<double> numbers = source.numbers();
        if (std::ranges::count(numbers, cell.value) != 1) return std::nullopt;
        const auto place = std::ranges::find(numbers, cell.value) - numbers.begin();
        const auto from = indices_of(static_cast<std::size_t>(place), source.shape());
        return Question{.walk = walk,
                        .asks = fmt::format("{}{} has shape {}; {}, computed from it, has shape "
                                            "{}. Which cell of {} is {}? Give its indices, from 0.",
                                            given(walk), of, source.described(), step,
                                            tensor.described(), of, cell_text(cell)),
                        .right = {.kind = RightAnswer::Kind::shape, .shape = from},
                        .answer = of + index_text(from),
                        .hints = {formula_in(walked, step)},
                        .why = why_cell(walked, cell),
                        .cell = cell_text(cell)};
    };
}

MaybeQuestion ask_keys(const QuizWalk& walk, Dice& dice) {
    const Walked walked = walk.walked_with();
    const std::size_t keys = walked.plan.key_len, query = dice.below(walked.plan.query_len);
    const bool hidden = dice.below(2) == 0;
    Question question{.walk = walk, .right = {.kind = RightAnswer::Kind::names}};
    for (std::size_t key = 0; key < keys; ++key) {
        const Cell cell = cell_at(walked, "mask", query * keys + key);
        const bool is_right = (cell.value != 0) == hidden;
        std::vector<std::string> spellings{std::to_string(key)};
        if (!walked.plan.key_tokens.empty()) spellings.push_back(walked.plan.key_tokens[0][key]);
        if (is_right) {
            question.cell = cell_text(cell);
            question.answer += (question.answer.empty() ? "" : ", ") + joined(spellings, " ");
            question.why += why_cell(walked, cell);
            question.right.names.push_back(spellings);
        } else {
            for (std::string& each : spellings) question.right.others.push_back(std::move(each));
        }
    }
    if (question.right.names.empty() || question.right.others.empty()) return std::nullopt;
    const auto& words = walked.plan.key_tokens;
    if (!words.empty()) question.shown = {"tokens = " + json_list(words[0])};
    question.asks =
        fmt::format("{}Which keys does query {}{} {}? Give their numbers, from 0{}.", given(walk),
                    query, words.empty() ? "" : " ('" + words[0][query] + "')",
                    hidden ? "not see" : "see", words.empty() ? "" : ", or words");
    question.hints = {formula_in(walked, "mask") + ", which is true where a key is hidden",
                      fmt::format("{} of {} keys", question.right.names.size(), keys)};
    return question;
}

std::string given(const QuizWalk& walk) {
    return walk.description.empty() ? "" : walk.description + " ";
}

std::string quiz_number(double number) {
    const auto is_whole = [](double n) { return std::abs(n - std::round(n)) < 1e-9; };
    if (std::isnan(number)) return "nan";
    if (!std::isfinite(number)) return fmt::format("{}", number);
    if (is_whole(number * 4)) return fmt::format("{:g}", std::round(number * 4) / 4 + 0.0);
    const double power = std::exp(std::abs(number));
    if (power < 30 && is_whole(power)) {
        return fmt::format("{}ln {:g}", number < 0 ? "-" : "", std::round(power));
    }
    return fmt::format("{:.4g}", number);
}

std::string shown_tensor(const std::string& name, const Tensor& tensor) {
    const Shape shape = tensor.shape();
    std::string text = name + " = ";
    for (std::size_t number = 0; number < tensor.size(); ++number) {
        // A bracket for each axis that begins or ends at this cell.
        std::string open, close;
        std::size_t row = 1;
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            row *= shape[axis];
            if (number % row == 0) open += '[';
            if ((number + 1) % row == 0) close += ']';
        }
        text += (number > 0 ? ", " : "") + open + quiz_number(tensor.at(number)) + close;
    }
    return text;
}

void put_choices(Question& question, std::vector<QuizChoice> choices, Dice& dice) {
    if (choices.empty()) throw ConfigError("a question needs the right one among its choices");
    const std::string right = choices.front().text;
    const bool are_numbers = question.right.kind == RightAnswer::Kind::number;
    dice.shuffle(choices);
    question.right = {.kind = RightAnswer::Kind::choice};
    for (std::size_t i = 0; i < choices.size(); ++i) {
        std::vector<std::string> spellings{choices[i].text};
        if (choices[i].mistake != nullptr) spellings.push_back(choices[i].mistake->id);
        if (choices[i].text == right) {
            question.right.choice = i;
            question.answer = letter(i) + ") " + right;
        }
        if (are_numbers) question.right.numbers.push_back(choices[i].number);
        question.right.names.push_back(std::move(spellings));
    }
    question.choices = std::move(choices);
}

QuizSession::QuizSession(const std::string& topic, std::uint64_t seed, std::size_t level)
    : topics_(quiz_topics()), seed_(seed) {
    if (level > 0) {
        const auto begin = topics_.begin() + static_cast<std::ptrdiff_t>(4 * (level - 1));
        topics_ = {begin, std::min(begin + 4, topics_.end())};
    }
    if (topic.empty()) return;
    if (std::ranges::find(topics_, topic) == topics_.end()) {
        throw ConfigError("$topic "_message + topic + " is not one of " + joined(topics_));
    }
    topics_ = {topic};
}

QuizSession::QuizSession(const QuizWalk& own, const std::string& topic, std::uint64_t seed)
    : own_(own_entries(own)), seed_(seed) {
    for (const QuizEntry& entry : own_) {
        if (topic.empty() || entry.topic == topic) topics_.push_back(entry.topic);
    }
    if (topics_.empty())
        throw ConfigError("$topic "_message + topic + " is not a step of this walk");
}

Question QuizSession::next() {
    const std::string& topic = topics_[number_ % topics_.size()];
    std::vector<const QuizEntry*> kinds;
    for (const QuizEntry& entry : own_.empty() ? quiz_entries() : own_) {
        if (entry.topic == topic) kinds.push_back(&entry);
    }
    const QuizEntry& entry = *kinds[number_ / topics_.size() % kinds.size()];
    // Questions of adjacent seeds must be unrelated.
    std::seed_seq mixed{seed_ & 0xFFFFFFFFU, seed_ >> 32U, std::uint64_t{number_++}};
    std::uint32_t start[2];
    mixed.generate(start, start + 2);
    // Walks, questions and dice are large, and the stack may be small.
    const auto dice = std::make_unique<Dice>(start[0] + (std::uint64_t{start[1]} << 32U));
    constexpr std::size_t most_tries = 500;
    for (std::size_t tries = 0;; ++tries) {
        std::optional<Question> question = entry.asks(entry.looks(*dice), *dice);
        if (!question && tries < most_tries) continue;
        if (!question) throw ConfigError("this walk has no question about " + topic);
        const std::string same = question->asks + question->answer + joined(question->shown);
        if (!requested_.insert(same).second && tries < most_tries) continue;
        question->topic = topic;
        return *std::move(question);
    }
}

const Mistake* mistake_in_answer(const Question& question, std::string_view typed) {
    if (question.right.kind == RightAnswer::Kind::choice) {
        const auto specified = parse_choice(question.right, typed);
        return specified ? question.choices[*specified].mistake : nullptr;
    }
    for (const QuizChoice& choice : question.mistaken) {
        if (check_answer({.number = choice.number}, typed).is == Judgement::Is::right) {
            return choice.mistake;
        }
    }
    return nullptr;
}

}  // namespace attn

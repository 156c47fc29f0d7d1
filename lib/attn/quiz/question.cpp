#include "attn/quiz/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/backward/backward.hpp"
#include "attn/backward/gradient_mistakes.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/slice.hpp"
#include "attn/text/strings.hpp"
#include "attn/text/told.hpp"
#include "attn/walk/step_rule.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

using Asked = std::optional<Question>;
using Made = QuizWalk::Made;

std::string letter(std::size_t choice) { return std::string(1, static_cast<char>('a' + choice)); }

/// A cell of a made walk, by its number.
Cell cell_at(const Made& made, const std::string& step, std::size_t number) {
    const Tensor& tensor = made.ledger[step];
    return {step, indices_of(number, tensor.shape()), tensor.at(number)};
}

std::string why_cell(const Made& made, const Cell& cell) {
    return why_text(made.plan, made.table, made.ledger, cell, {.depth = 1});
}

/// The formula of a step.
std::string formula_in(const Made& made, const std::string& step) {
    return formula_of(find_step(made.table, step), made.plan, made.table);
}

/// What mistakes make of a cell: each number once, and none that is right.
std::vector<QuizChoice> mistaken_cells(const Question& question, const Cell& cell) {
    const QuizWalk& walk = question.walk;
    const Plan plan = resolve(walk.config);
    std::vector<QuizChoice> found;
    for (const Mistake& mistake : walk.goes_back ? gradient_mistakes() : mistakes()) {
        if (!mistake.applies(plan)) continue;
        try {
            const Ledger ledger = walk.made(&mistake).ledger;
            const double number =
                slice(ledger[cell.step],
                      cell_text(cell).substr(cell.step.size() + 1,
                                             cell_text(cell).size() - cell.step.size() - 2))
                    .at(0);
            const std::string text = quiz_number(number);
            const bool is_near = std::abs(number - cell.value) <= std::abs(cell.value) / 50 + 1e-9;
            if (std::isfinite(number) && !is_near &&
                std::ranges::find(found, text, &QuizChoice::text) == found.end()) {
                found.push_back({text, &mistake, number});
            }
        } catch (const Error&) {
            continue;  // its walk ends here, or its tensor has another shape
        }
    }
    return found;
}

/// The derivation without its end, a line for each step.
std::vector<std::string> hints_of(const Derivation& derivation) {
    std::vector<std::string> hints{"it is " + derivation.rule};
    const auto valued = [](const Cell& cell) {
        return cell_text(cell) + " = " + quiz_number(cell.value);
    };
    for (const Term& term : derivation.terms) {
        hints.push_back(!term.form.empty() ? term.form
                        : term.right       ? valued(term.left) + " meets " + valued(*term.right)
                                           : valued(term.left));
    }
    if (!derivation.arithmetic.empty())
        hints.push_back("with its numbers: " + derivation.arithmetic);
    return hints;
}

/// The number, and the fraction that it is where that is short: `0.6667, 2/3`.
std::string with_fraction(double number) {
    const std::string text = quiz_number(number);
    for (int below = 3; below <= 60 && text.size() > 5; ++below) {
        const double above = std::round(number * below);
        if (std::abs(number * below - above) < 1e-9) {
            return fmt::format("{}, {:g}/{}", text, above, below);
        }
    }
    return text;
}

Asked cell_question(const QuizWalk& walk, Dice& dice, const std::string& step,
                    const std::vector<std::string>& shown) {
    const Made made = walk.made();
    const Cell cell = cell_at(made, step, dice.below(made.ledger[step].size()));
    if (!std::isfinite(cell.value)) return std::nullopt;
    Question question{.walk = walk};
    question.cell = cell_text(cell);
    question.asks = walk.told + (walk.told.empty() ? "" : " ") + "What is " + question.cell + "?";
    question.right.number = cell.value;
    question.answer = with_fraction(cell.value);
    for (const std::string& name : shown) {
        question.shown.push_back(shown_tensor(name, made.ledger[name]));
    }
    question.hints = hints_of(derive(made.plan, made.table, made.ledger, cell));
    question.why = why_cell(made, cell);
    question.mistaken = mistaken_cells(question, cell);
    if (question.mistaken.size() < 2 || dice.below(4) != 0) {
        question.asks += " Two significant digits or more, or arithmetic such as 2/3 or ln 2.";
        return question;
    }
    std::vector<QuizChoice> choices = question.mistaken;
    dice.shuffle(choices);
    choices.resize(std::min<std::size_t>(choices.size(), 3));
    choices.insert(choices.begin(), {quiz_number(cell.value)});
    put_choices(question, std::move(choices), dice);
    return question;
}

Asked shape_question(const QuizWalk& walk, Dice& dice, const std::vector<std::string>& steps) {
    const Made made = walk.made();
    const std::string& step = steps[dice.below(steps.size())];
    const Tensor& tensor = made.ledger[step];
    Question question{.walk = walk, .asks = walk.told + " What is the shape of " + step + "?"};
    question.cell = step;
    question.right = {.kind = RightAnswer::Kind::shape, .shape = tensor.shape()};
    question.answer = shape_text(tensor.shape());
    question.hints = {"its axes are " + joined(tensor.axes()), formula_in(made, step)};
    question.why = step + ": " + tensor.described() + "\n  " + formula_in(made, step) + "\n";
    return question;
}

Asked origin_question(const QuizWalk& walk, Dice& dice, const std::string& step,
                      const std::string& of) {
    const Made made = walk.made();
    const Tensor &tensor = made.ledger[step], &source = made.ledger[of];
    const Cell cell = cell_at(made, step, dice.below(tensor.size()));
    const std::vector<double> numbers = source.numbers();
    if (std::ranges::count(numbers, cell.value) != 1) return std::nullopt;
    const auto place = std::ranges::find(numbers, cell.value) - numbers.begin();
    const auto from = indices_of(static_cast<std::size_t>(place), source.shape());
    Question question{.walk = walk};
    question.cell = cell_text(cell);
    question.asks = fmt::format(
        "{} is {}; {} is made of it and is {}. Which cell of {} is {}? Give its indices.", of,
        source.described(), step, tensor.described(), of, question.cell);
    question.right = {.kind = RightAnswer::Kind::shape, .shape = from};
    question.answer = of + index_text(from);
    question.hints = {formula_in(made, step)};
    question.why = why_cell(made, cell);
    return question;
}

}  // namespace

QuizWalk::Made QuizWalk::made(const Mistake* mistake) const {
    Made result{resolve(config), {}, {}};
    StepTable table = step_table(result.plan);
    if (mistake != nullptr && !goes_back) table = mistake->apply(std::move(table), result.plan);
    if (goes_back) table = with_gradients(std::move(table), result.plan, {});
    if (mistake != nullptr && goes_back) table = mistake->apply(std::move(table), result.plan);
    result.ledger = attn::walk(result.plan, draw(result.plan), table);
    result.table = std::move(table);
    return result;
}

Asks ask_cell(const std::string& step, const std::vector<std::string>& shown) {
    return [=](const QuizWalk& walk, Dice& dice) { return cell_question(walk, dice, step, shown); };
}

Asks ask_shape(const std::vector<std::string>& steps) {
    return [=](const QuizWalk& walk, Dice& dice) { return shape_question(walk, dice, steps); };
}

Asks ask_origin(const std::string& step, const std::string& of) {
    return [=](const QuizWalk& walk, Dice& dice) { return origin_question(walk, dice, step, of); };
}

Asked ask_keys(const QuizWalk& walk, Dice& dice) {
    const Made made = walk.made();
    const std::size_t keys = made.plan.key_len, query = dice.below(made.plan.query_len);
    const bool hidden = dice.below(2) == 0;
    Question question{.walk = walk, .right = {.kind = RightAnswer::Kind::names}};
    for (std::size_t key = 0; key < keys; ++key) {
        const Cell cell = cell_at(made, "mask", query * keys + key);
        const bool is_right = (cell.value != 0) == hidden;
        std::vector<std::string> spellings{std::to_string(key)};
        if (!made.plan.key_tokens.empty()) spellings.push_back(made.plan.key_tokens[0][key]);
        if (is_right) {
            question.cell = cell_text(cell);
            question.answer += (question.answer.empty() ? "" : ", ") + joined(spellings, " ");
            question.why += why_cell(made, cell);
            question.right.names.push_back(spellings);
        } else {
            for (std::string& each : spellings) question.right.others.push_back(std::move(each));
        }
    }
    if (question.right.names.empty() || question.right.others.empty()) return std::nullopt;
    const std::size_t count = question.right.names.size();
    const std::string name =
        made.plan.query_tokens.empty() ? "" : ", '" + made.plan.query_tokens[0][query] + "',";
    question.asks =
        fmt::format("{} Which keys does query {}{} {}? Give their numbers, from 0{}.", walk.told,
                    query, name, hidden ? "not see" : "see", name.empty() ? "" : ", or words");
    question.hints = {formula_in(made, "mask") + ", which is true where a key is hidden",
                      fmt::format("{} of {} keys", count, keys)};
    return question;
}

std::string quiz_number(double number) {
    const auto is_whole = [](double n) { return std::abs(n - std::round(n)) < 1e-9; };
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
        // A bracket for each axis that begins in this cell, and for each that ends.
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
    const std::string right = choices.front().text;
    dice.shuffle(choices);
    question.right = {.kind = RightAnswer::Kind::names};
    for (std::size_t i = 0; i < choices.size(); ++i) {
        std::vector<std::string> spellings{letter(i), choices[i].text};
        if (choices[i].mistake != nullptr) spellings.push_back(choices[i].mistake->id);
        if (choices[i].text == right) {
            question.answer = letter(i) + ") " + right;
            question.right.names.push_back(std::move(spellings));
        } else {
            for (std::string& each : spellings) question.right.others.push_back(std::move(each));
        }
    }
    question.choices = std::move(choices);
}

QuizSession::QuizSession(const std::string& topic, std::uint64_t seed)
    : topics_(quiz_topics()), seed_(seed) {
    if (topic.empty()) return;
    if (std::ranges::find(topics_, topic) == topics_.end()) {
        throw ConfigError("$topic "_told + topic + " is not one of " + joined(topics_));
    }
    topics_ = {topic};
}

Question QuizSession::next() {
    const std::string& topic = topics_[number_ % topics_.size()];
    std::vector<const QuizEntry*> kinds;
    for (const QuizEntry& entry : quiz_entries()) {
        if (entry.topic == topic) kinds.push_back(&entry);
    }
    const QuizEntry& entry = *kinds[number_ / topics_.size() % kinds.size()];
    // Questions of neighbouring seeds shall have nothing in common.
    std::seed_seq mixed{seed_ & 0xFFFFFFFFU, seed_ >> 32U, std::uint64_t{number_++}};
    std::uint32_t start[2];
    mixed.generate(start, start + 2);
    Dice dice(start[0] + (std::uint64_t{start[1]} << 32U));
    constexpr std::size_t most_tries = 500;
    for (std::size_t tries = 0;; ++tries) {
        std::optional<Question> question = entry.asks(entry.looks(dice), dice);
        if (!question) continue;
        const std::string same = question->asks + question->answer + joined(question->shown);
        if (!asked_.insert(same).second && tries < most_tries) continue;
        question->topic = topic;
        return *std::move(question);
    }
}

const Mistake* mistake_behind(const Question& question, std::string_view typed) {
    const auto is_said = [&](const RightAnswer& right) {
        return check_answer(right, typed).is == Verdict::Is::right;
    };
    for (std::size_t i = 0; i < question.choices.size(); ++i) {
        const QuizChoice& choice = question.choices[i];
        if (is_said({.kind = RightAnswer::Kind::names, .names = {{letter(i), choice.text}}})) {
            return choice.mistake;
        }
    }
    for (const QuizChoice& choice : question.mistaken) {
        if (question.choices.empty() && is_said({.number = choice.number})) return choice.mistake;
    }
    return nullptr;
}

}  // namespace attn

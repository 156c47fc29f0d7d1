#include <algorithm>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/learn/quiz/question.hpp"

namespace attn {
namespace {

using MaybeQuestion = std::optional<Question>;

constexpr std::size_t most_choices = 4;

/// Returns the tensors of a walk for a reader, line by line, beginning with the given ones.
std::vector<std::string> shown_steps(const Walked& wrong_walk) {
    std::vector<std::string> lines;
    for (const char* name : {"query", "key", "value", "scores", "scaled_scores", "masked_scores",
                             "weights", "context"}) {
        if (wrong_walk.ledger.has(name))
            lines.push_back(shown_tensor(name, wrong_walk.ledger[name]));
    }
    return lines;
}

struct WrongWalk {
    const Mistake* mistake;
    Walked wrong_walk;
    std::vector<std::string> shown;
};

/// Calls `takes` with the walk of each mistake that shows in it, in random order, until it returns
/// true.
void with_each_mistake(const QuizWalk& walk, Dice& dice,
                       const std::function<bool(const WrongWalk&)>& takes) {
    const Walked right = walk.walked_with();
    const std::vector<std::string> shown = shown_steps(right);
    std::vector<const Mistake*> all;
    for (const Mistake& mistake : mistakes()) {
        if (mistake.applies(right.plan)) all.push_back(&mistake);
    }
    dice.shuffle(all);
    for (const Mistake* mistake : all) {
        try {
            WrongWalk wrong{mistake, walk.walked_with(mistake), {}};
            wrong.shown = shown_steps(wrong.wrong_walk);
            if (wrong.shown != shown && takes(wrong)) return;
        } catch (const Error&) {
            continue;  // this mistake causes an error
        }
    }
}

std::string about(const Mistake& mistake) {
    return mistake.title.visible() + " (" + mistake.id + "): " + mistake.effect.visible() + ".\n" +
           mistake.lesson.visible() + "\n";
}

/// Removes zeros that come from settings from an expression: `q + offset` without a past.
RuleTree without_zeros(const RuleTree& tree) {
    return changed(tree, [](const RuleNode& node) -> RuleTree {
        const bool is_sum = node.kind == RuleNode::Kind::operate && node.parts.size() == 2 &&
                            (node.word == "+" || node.word == "-");
        return is_sum && is_number(*node.parts[1], 0) ? without_zeros(node.parts[0]) : nullptr;
    });
}

/// The rule of a step as a line to read. Softmax may be written in parts or as a whole: all lines
/// of a question use the same style, so that the style does not reveal the wrong ones.
struct Line {
    std::string text{};
    bool names_parts = false;

    Line(const Walked& wrong_walk, const std::string& step) {
        Rule rule = rule_as_displayed(
            {wrong_walk.plan, wrong_walk.table, find_step(wrong_walk.table, step)});
        if (rule.value == nullptr) return;
        rule.value = without_zeros(rule.value);
        text = rule_text(rule);
        names_parts = std::ranges::any_of(tensors_read(rule), [&](const std::string& name) {
            const auto read = std::ranges::find(wrong_walk.table, name, &Step::name);
            return read != wrong_walk.table.end() && read->kind == Step::Kind::detail;
        });
    }
    /// True if both lines exist and have the same style.
    bool is_like(const Line& other) const {
        return !text.empty() && !other.text.empty() && names_parts == other.names_parts;
    }
};

}  // namespace

MaybeQuestion ask_mistake(const QuizWalk& walk, Dice& dice) {
    Question question{.walk = walk};
    std::vector<QuizChoice> choices;
    std::vector<std::vector<std::string>> seen;
    with_each_mistake(walk, dice, [&](const WrongWalk& wrong) {
        if (std::ranges::find(seen, wrong.shown) != seen.end()) return false;
        seen.push_back(wrong.shown);
        choices.push_back({wrong.mistake->title.visible(), wrong.mistake});
        return choices.size() == most_choices;
    });
    if (choices.size() < 3) return std::nullopt;
    const Mistake& mistake = *choices.front().mistake;
    question.asks = given(walk) + "One mistake produced these numbers. Which one?";
    question.shown = seen.front();
    question.mistake = &mistake;
    question.cell = mistake.step;
    question.hints = {"it is first visible in " + mistake.step};
    question.why = about(mistake);
    put_choices(question, std::move(choices), dice);
    return question;
}

MaybeQuestion ask_line(const QuizWalk& walk, Dice& dice) {
    const Walked right = walk.walked_with();
    Question question;
    with_each_mistake(walk, dice, [&](const WrongWalk& wrong) {
        question = {.walk = walk, .right = {.kind = RightAnswer::Kind::names}};
        for (const Step& step : right.table) {
            if (!step.applies(right.plan) || step.kind == Step::Kind::detail) continue;
            const Line rule(right, step.name);
            if (rule.text.empty()) continue;
            const Line line(wrong.wrong_walk, step.name);
            const std::string number = std::to_string(question.shown.size() + 1);
            question.shown.push_back(number + "  " + line.text);
            if (!line.is_like(rule)) return false;
            if (line.text != rule.text) {
                question.right.names.push_back({number, step.name});
                question.answer = number + "; it should be " + rule.text;
                question.cell = step.name;
            } else {
                question.right.others.insert(question.right.others.end(), {number, step.name});
            }
        }
        question.mistake = wrong.mistake;
        return question.right.names.size() == 1;
    });
    if (question.right.names.size() != 1) return std::nullopt;
    question.asks =
        given(walk) + "These lines should compute attention. Which one is wrong? Give its number.";
    question.hints = {"it is not line " + question.right.others.front()};
    question.why = about(*question.mistake);
    return question;
}

MaybeQuestion ask_rule(const QuizWalk& walk, Dice& dice) {
    const Walked right = walk.walked_with();
    const std::string step = dice.pick({"scores", "scaled_scores", "weights", "context"});
    const Line rule(right, step);
    std::vector<QuizChoice> choices{{rule.text}};
    with_each_mistake(walk, dice, [&](const WrongWalk& wrong) {
        const Line line(wrong.wrong_walk, step);
        const bool is_other =
            wrong.mistake->step == step && line.is_like(rule) &&
            std::ranges::find(choices, line.text, &QuizChoice::text) == choices.end();
        if (is_other && !same_numbers(wrong.wrong_walk.ledger[step], right.ledger[step])) {
            choices.push_back({line.text, wrong.mistake});
        }
        return choices.size() == most_choices;
    });
    if (choices.size() < 3) return std::nullopt;
    Question question{.walk = walk, .asks = given(walk) + "Which rule computes " + step + "?"};
    question.cell = step;
    question.hints = {"q counts queries, k keys, f features"};
    question.why = formula_of(find_step(right.table, step), right.plan, right.table) + "\n";
    put_choices(question, std::move(choices), dice);
    return question;
}

MaybeQuestion ask_form(const QuizWalk& walk, Dice& dice) {
    const AttentionFile& file = *walk.config.attentions.front();
    Question question{.walk = walk, .asks = given(walk) + "Which form of the attention is this?"};
    std::vector<QuizChoice> choices{{walk.config.form}};
    for (const std::string& form : file.forms) {
        if (form != walk.config.form) choices.push_back({form});
        QuizWalk other = walk;
        other.config.form = form;
        const Walked wrong_walk = other.walked_with();
        question.why += form + "\n";
        for (const Step& step : wrong_walk.table) {
            if (step.file.empty() || !step.applies(wrong_walk.plan)) continue;
            const std::optional<Rule> rule = rule_of({wrong_walk.plan, wrong_walk.table, step});
            if (!rule) continue;  // a parameter
            const bool reads_itself = std::ranges::count(tensors_read(*rule), step.name) > 0;
            question.why += "  " + step.name + ": " + wrong_walk.ledger[step.name].described() +
                            (reads_itself ? ", computed one after the other" : ", made at once") +
                            "\n";
            if (form == walk.config.form)
                question.shown.push_back(Line(wrong_walk, step.name).text);
        }
    }
    question.cell = "context";
    question.hints = {"a recurrence reads its own row before, [t - 1]; chunks divide tokens by //"};
    put_choices(question, std::move(choices), dice);
    return question;
}

}  // namespace attn

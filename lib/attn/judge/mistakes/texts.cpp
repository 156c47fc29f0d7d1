#include <algorithm>
#include <memory>
#include <mutex>

#include "attn/core/cards/card_text.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// Builds a mistake from a paragraph of data/mistakes.

namespace attn {
namespace {

std::vector<std::string> words_in(std::string_view list) {
    std::vector<std::string> all;
    while (!list.empty()) all.emplace_back(next_token(list));
    return all;
}

/// Splits `STEPS: TEXT`.
std::pair<std::vector<std::string>, std::string> steps_and_text(const MistakeText& text,
                                                                const MistakeLine& line) {
    const std::size_t colon = line.remainder.find(": ");
    if (colon == std::string::npos) {
        text.refuse("'" + line.word + " " + line.remainder + "' names no steps, as in " +
                    line.word + " scores: ...");
    }
    const std::string steps = line.remainder.substr(0, colon);
    return {steps == "all" ? std::vector<std::string>() : words_in(steps),
            line.remainder.substr(colon + 2)};
}

PlanText filled_for(const std::string& step, std::string pattern) {
    return [step, pattern = std::move(pattern)](const Plan& plan) {
        return in_words(pattern, step, plan);
    };
}

/// Parses `context: weights[q,k] = weights[k,q]`, or `scores: queries = keys` for another tensor.
TableEdit reads_instead(const MistakeText& text, const MistakeLine& line) {
    const auto [steps, remainder] = steps_and_text(text, line);
    const std::size_t sign = remainder.find(" = ");
    if (sign == std::string::npos) text.refuse("'reads " + line.remainder + "' lacks its =");
    const std::size_t bracket = remainder.find('[');
    const std::string tensor = remainder.substr(0, std::min(sign, bracket));
    const bool is_rule = bracket < sign;
    return reads(steps, filled_for(steps.front(), tensor),
                 filled_for(steps.front(), is_rule ? remainder : remainder.substr(sign + 3)));
}

/// Replaces a rule that reads tensors of later steps by one with their rules inlined.
TableEdit follows_early(const std::string& pattern) {
    return follows([pattern](const Plan& plan) {
        const StepTable& table = step_table();
        const std::string step = pattern.substr(0, pattern.find('['));
        const Step& result = find_step(table, step);
        const Rule rule = completed(Rule(in_words(pattern, step, plan)), result.outline(plan),
                                    rule_names({plan, table, find_step(table, "context")}));
        return inlined(rule, [&](const std::string& name) {
            return name == step ? std::nullopt : rule_of({plan, table, find_step(table, name)});
        });
    });
}

Outline of_last_context(const Plan& plan) {
    const StepTable& table = step_table();
    const PlannedStep of{plan, table, find_step(table, "output")};
    return find_step(table, of.latest(Chain::contexts)).outline(plan);
}

TableEdit code_called(const MistakeText& text, const std::string& remainder) {
    const std::size_t colon = std::min(remainder.find(": "), remainder.size());
    const NamedEdit* const known = find_edit(std::string_view(remainder).substr(0, colon));
    if (known == nullptr) text.refuse("there is no code '" + remainder.substr(0, colon) + "'");
    return known->edit(remainder.substr(std::min(colon + 2, remainder.size())));
}

/// Builds the edits of a paragraph's lines, in order.
class Edits {
public:
    explicit Edits(const MistakeText& text) : text_(text) {
        for (at_ = 0; at_ < text.lines.size(); ++at_) add(text.lines[at_]);
    }
    std::vector<TableEdit> all;

private:
    void add(const MistakeLine& line) {
        const auto& [word, remainder] = line;
        if (word == "rule") {
            all.push_back(follows({.rule = remainder, .outline = shape_below()}));
        } else if (word == "reads") {
            all.push_back(reads_instead(text_, line));
        } else if (word == "with") {
            const auto [steps, change] = steps_and_text(text_, line);
            all.push_back(with_plan(steps, plan_change(change)));
        } else if (word == "without") {
            all.push_back(left_out(words_in(remainder)));
        } else if (word == "sinkless") {
            all.push_back(without_sink(words_in(remainder)));
        } else if (word == "mask") {
            const std::string hides = text_below("hides");
            all.push_back(masked_as(mask_change(remainder), filled_for("mask", hides)));
        } else if (word == "made") {
            const std::vector<std::string> words = words_in(remainder);
            if (words.size() != 3)
                text_.refuse("made names a step and another, as in made key as value");
            all.push_back(copy_of_step(words[0], words[2]));
        } else if (word == "early") {
            all.push_back(follows_early(remainder));
        } else if (word == "code") {
            all.push_back(code_called(text_, remainder));
        } else if (word == "when") {
            add_conditional(remainder);
        }
    }

    /// Adds the edit of `CONDITION: LINE`, for walks in which the condition is true.
    void add_conditional(const std::string& remainder) {
        const std::size_t colon = std::min(remainder.find(": "), remainder.size());
        std::string_view rest =
            std::string_view(remainder).substr(std::min(colon + 2, remainder.size()));
        const std::size_t before = all.size();
        const std::string word(next_token(rest));
        add({word, std::string(rest)});
        if (all.size() == before) text_.refuse("'when " + remainder + "' makes no change");
        all.back() = [holds = plan_value(remainder.substr(0, colon)), edit = all.back()](
                         StepTable table, const Plan& plan) {
            return holds(plan) != 0 ? edit(std::move(table), plan) : std::move(table);
        };
    }

    /// Returns the text of the next line if it begins with the word.
    std::string text_below(std::string_view word) const {
        const bool is_there = at_ + 1 < text_.lines.size() && text_.lines[at_ + 1].word == word;
        return is_there ? text_.lines[at_ + 1].remainder : std::string();
    }

    std::function<Outline(const Plan&)> shape_below() const {
        const std::string shape = text_below("shape");
        if (shape.empty()) return {};
        return shape == "contexts" ? of_last_context : outline_in(shape);
    }

    const MistakeText& text_;
    std::size_t at_ = 0;
};

/// Returns the edits of a paragraph, parsed on first use.
TableEdit edits_of(std::shared_ptr<const MistakeText> text) {
    struct Kept {
        std::once_flag once;
        TableEdit edit;
    };
    return [text = std::move(text), kept = std::make_shared<Kept>()](StepTable table,
                                                                     const Plan& plan) {
        std::call_once(kept->once, [&] { kept->edit = all_of(Edits(*text).all); });
        return kept->edit(std::move(table), plan);
    };
}

/// Translates a line of PyTorch to NumPy.
std::string in_numpy(std::string line) {
    // Names that differ in NumPy, and names that are the same there.
    static const std::vector<std::pair<std::string, std::string>> numpy_words{
        {"scores.masked_fill(hidden, float('-inf'))", "np.where(hidden, -np.inf, scores)"},
        {"F.softmax(scores, dim=-1)", "softmax(scores)"},
        {"torch.cat(", "np.concatenate("},
        {"torch.", "np."},
        {"math.", "np."},
        {"config.", ""},
        {".transpose(", ".swapaxes("},
        {".view(", ".reshape("},
        {".size(-1)", ".shape[-1]"},
        {"keepdim=", "keepdims="},
        {"dim=", "axis="}};
    return replaced_all(std::move(line), numpy_words);
}

/// Parses `fix TEXT` for both languages, or `fix torch: TEXT` and `fix numpy: TEXT`.
void read_fix(Mistake& mistake, const MistakeText& text) {
    std::string torch, numpy;
    for (const MistakeLine& line : text.lines) {
        if (line.word != "fix") continue;
        constexpr std::string_view of_torch = "torch: ", of_numpy = "numpy: ";
        const bool is_numpy = line.remainder.starts_with(of_numpy);
        const bool is_torch = line.remainder.starts_with(of_torch);
        std::string& lines = is_numpy ? numpy : torch;
        lines += (lines.empty() ? "" : "\n") + line.remainder.substr(is_numpy || is_torch ? 7 : 0);
    }
    mistake.fix_numpy = numpy.empty() ? in_numpy(torch) : numpy;
    mistake.fix_torch = torch;
}

/// Formats a number for a rule, without losing digits.
std::string in_full(double number, const std::string& word) {
    return std::stod(word) == number ? word : json_number(number);
}

/// Returns the paragraph for one number: `{N}` is the number in few characters, `{number}` in full,
/// `{s}` a plural ending.
MistakeText numbered(const MistakeText& text, double number) {
    const std::string word = shortest_number(number);
    const BraceWords words{
        {"N", word}, {"number", in_full(number, word)}, {"s", number == 1 ? "" : "s"}};
    MistakeText result = text;
    result.id = text.id.substr(0, text.id.size() - 1) + word;
    for (MistakeLine& line : result.lines) line.remainder = filled(line.remainder, words);
    return result;
}

std::string expanded(const std::string& remainder) {
    return operator""_message(remainder.data(), remainder.size());
}

}  // namespace

PlanRule::PlanRule(std::string text) {
    rule_ = [step = text.substr(0, text.find_first_of("[ ")), text](const Plan& plan) -> Rule {
        return in_words(text, step, plan);
    };
}

Mistake described(const MistakeText& text) {
    Mistake mistake;
    mistake.id = text.id;
    mistake.step = text.step;
    mistake.title = expanded(text.specified("title"));
    mistake.effect = expanded(text.specified("effect"));
    mistake.lesson = expanded(text.specified("lesson"));
    read_fix(mistake, text);
    mistake.indistinguishable_from = text.specified("same");
    mistake.rewrites_result = text.has("rewrites");
    mistake.by_chance = text.has("by");
    mistake.witness = text.specified("witness");
    for (const MistakeLine& line : text.lines) {
        if (line.word == "given") mistake.given.push_back(line.remainder);
    }
    return mistake;
}

Mistake mistake_of(const MistakeText& text, double number) {
    const auto own =
        std::make_shared<const MistakeText>(text.is_numbered() ? numbered(text, number) : text);
    Mistake mistake = described(*own);
    mistake.not_applicable = needs_of(own, number);
    mistake.apply = edits_of(own);
    return mistake;
}

}  // namespace attn

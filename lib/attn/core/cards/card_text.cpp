#include "attn/core/cards/card_text.hpp"

#include <algorithm>

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/walk_text.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

/// standard.attn, and the variants in data/attentions/standard after it.
extern "C" const char attn_standard[];

namespace attn {
namespace {

/// Takes the next line off a text, without its remark.
std::string_view next_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return without_remark(line);
}

/// The lines below a rule, up to the next that is not indented, which `text` then begins with.
std::vector<CardLine> take_lines(std::string_view& text) {
    std::vector<CardLine> lines;
    lines.reserve(10);
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) {
        std::string_view line = next_line(text);
        if (const std::string_view word = taken_word(line); !word.empty()) {
            lines.push_back({word, line});
        }
    }
    return lines;
}

Input input_called(std::string_view name) {
    const Chain chain = chain_called(std::string(name));
    return chain == Chain::none ? Input(std::string(name)) : Input(chain);
}

/// The tensors that a rule reads, in the order of its cells: names in front of a bracket.
std::vector<Input> inputs_of_rule(std::string_view rule) {
    std::vector<std::string_view> names;
    for (std::size_t at = rule.find('='); (at = rule.find('[', at)) != rule.npos; ++at) {
        std::size_t first = at;
        while (first > 0 && is_of_name(rule[first - 1])) --first;
        const std::string_view name = rule.substr(first, at - first);
        if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    std::vector<Input> inputs;
    for (const std::string_view name : names) inputs.push_back(input_called(name));
    return inputs;
}

/// The inputs of one way: those it says, or those of its rule.
std::vector<Input> inputs_of(const Way& way) {
    if (!way.has("reads")) return inputs_of_rule(way.rule);
    std::vector<Input> inputs;
    const std::string names = way.said("reads");
    for (std::string_view rest = names; !rest.empty();) {
        inputs.push_back(input_called(taken_word(rest)));
    }
    return inputs;
}

/// `at once`: the first word of the line is `at`.
bool is_at_once(const Way& way) { return way.has("at"); }

Step::Compute compute_of(const Step& step, const Way& way) {
    return way.has("loop") ? loop_called(way.said("loop")).compute(step) : by_rule(step);
}

/// Fills in what a step does from its ways.
void let_follow(Step& step, const CardText& text) {
    const CardText* const all = &text;
    const Way& last = text.ways.back();
    step.text = all;
    const bool has_formula =
        std::ranges::any_of(text.ways, [](const Way& way) { return way.has("formula"); });
    if (has_formula) {
        step.formula = [all](const PlannedStep& of) {
            const Way* const way = all->way(of);
            return way == nullptr ? std::string() : filled(way->said("formula"), of, way->words);
        };
    }
    if (last.rule.empty()) return;
    step.rule = [all](const PlannedStep& of) {
        const Way* const way = all->way(of);
        if (way == nullptr) return Rule();
        const std::string rule = filled(way->rule, of, way->words);
        return rule.ends_with("= ") ? Rule() : Rule(rule);  // nothing on its right: it is given
    };
    const bool is_one = text.ways.size() == 1;
    std::vector<std::vector<Input>> inputs;
    for (const Way& way : text.ways) inputs.push_back(inputs_of(way));
    if (is_one) {
        step.reads = these(inputs.front());
    } else {
        step.reads = [all, inputs](const Plan& plan) {
            const Way* const way = all->way(plan);
            return way == nullptr ? std::vector<Input>() : inputs[way - all->ways.data()];
        };
    }
    if (std::ranges::any_of(text.ways, is_at_once)) {
        step.at_once = [all](const Plan& plan) {
            const Way* const way = all->way(plan);
            return way != nullptr && is_at_once(*way);
        };
    }
    if (is_one) {
        step.compute = compute_of(step, last);
        return;
    }
    std::vector<Step::Compute> computes;
    for (const Way& way : text.ways) computes.push_back(compute_of(step, way));
    step.compute = [all, computes](const Plan& plan, const Ledger& ledger) {
        const Way* const way = all->way(plan);
        return computes[way == nullptr ? computes.size() - 1 : way - all->ways.data()](plan,
                                                                                       ledger);
    };
}

/// What conditions are asked of before there is a table.
PlannedStep before_tables(const Plan& plan) {
    static const StepTable no_steps;
    static const Step no_step;
    return {plan, no_steps, no_step};
}

/// Reads the lines of the paragraph that says what a step is.
void read_card(Step& step, const Way& way) {
    for (const auto& [word, says] : way.lines) {
        if (word == "title") {
            step.title = std::string(says);
        } else if (word == "called") {
            step.called = std::string(says);
        } else if (word == "extends") {
            step.chain = chain_called(std::string(says));
        } else if (word == "shape") {
            step.outline = outline_in(says);
        } else if (word == "detail") {
            step.kind = Step::Kind::detail;
            step.shown = false;
        } else if (word == "shown") {
            step.shown = true;
        } else if (word == "exponentiates") {
            step.exponentiates = true;
        } else if (word == "varies") {  // varies under the mask
            step.varies_where_hidden = true;
        } else if (word == "holds") {
            step.holds = says == "truths" ? RuleType::truth : RuleType::whole;
        } else if (word == "in") {  // in float32
            step.in_float32 = true;
        } else if (word == "tokens") {
            step.tokens = std::string(says);
        }
    }
    if (!way.conditions.empty()) {
        step.applies = [conditions = way.conditions](const Plan& plan) {
            return std::ranges::all_of(
                conditions, [&](const Condition& each) { return each.holds(before_tables(plan)); });
        };
    }
}

/// The paragraphs of all steps.
class Paragraphs {
public:
    explicit Paragraphs(std::string_view text) {
        CardWords words = nullptr;
        while (!text.empty()) {
            std::string_view line = next_line(text);
            if (line.empty() || line.front() == ' ') continue;
            const std::string_view word = taken_word(line);
            if (word == "attention") words = words_of_file(line);
            if (word != "step" && word != "parameter" && word != "given") continue;
            add(word, line, take_lines(text), words);
        }
    }

    StepTable cards() const {
        StepTable table;
        table.reserve(entries_.size() + 64);
        for (const Entry& entry : entries_) {
            Step step;
            step.name = std::string(entry.name);
            if (entry.word == "given") step.kind = Step::Kind::input;
            if (entry.word == "parameter") {
                step.kind = Step::Kind::parameter;
                step.shown = false;
                step.outline = drawn_outline(step.name);
                step.formula = learned;
            }
            const Way& way = entry.text->ways.back();
            read_card(step, way);
            if (!step.outline) step.outline = score_outline;
            // Its conditions say whether the walk has the step; other ways have theirs.
            CardText* const text = entry.text;
            text->ways.back().conditions.clear();
            let_follow(step, *text);
            table.push_back(std::move(step));
        }
        return table;
    }

private:
    struct Entry {
        std::string_view name, word;
        CardText* text;  // is kept for good, as the text is
        bool has_card = false;
    };

    void add(std::string_view word, std::string_view rule, std::vector<CardLine> lines,
             CardWords words) {
        const std::string_view name = rule.substr(0, rule.find_first_of("[ "));
        Way way{word == "step" ? rule : std::string_view(), std::move(lines), {}, words};
        bool is_card = false;
        std::string_view after;
        for (const auto& [each, says] : way.lines) {
            if (each == "title") is_card = true;
            if (each == "when") way.conditions = conditions_in(says);
            if (each == "after") after = says;
        }
        const auto known = std::ranges::find(entries_, name, &Entry::name);
        if (known != entries_.end()) {
            // A card comes last: its rule is the one if no other is meant.
            auto& ways = known->text->ways;
            ways.insert(known->has_card ? ways.end() - 1 : ways.end(), std::move(way));
            known->has_card = known->has_card || is_card;
            return;
        }
        Entry entry{name, word, new CardText, is_card};
        entry.text->ways.push_back(std::move(way));
        if (!after.empty()) place_ = place_of(after) + 1;
        entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(place_++), entry);
    }

    std::size_t place_of(std::string_view name) const {
        const auto found = std::ranges::find(entries_, name, &Entry::name);
        if (found == entries_.end()) {
            throw ConfigError("the text of attention has no step " + std::string(name));
        }
        return static_cast<std::size_t>(found - entries_.begin());
    }

    std::vector<Entry> entries_;
    std::size_t place_ = 0;  ///< where the next step goes
};

}  // namespace

bool Way::is_meant(const PlannedStep& of) const {
    return std::ranges::all_of(conditions, [&](const Condition& each) { return each.holds(of); });
}

bool Way::has(std::string_view word) const {
    return std::ranges::find(lines, word, &CardLine::word) != lines.end();
}

std::string Way::said(std::string_view word) const {
    std::string text;
    for (const CardLine& line : lines) {
        if (line.word != word) continue;
        if (!text.empty()) text += '\n';
        text += line.says;
    }
    return text;
}

const Way* CardText::way(const PlannedStep& of) const {
    for (const Way& each : ways) {
        if (each.is_meant(of)) return &each;
    }
    return nullptr;
}

const Way* CardText::way(const Plan& plan) const { return way(before_tables(plan)); }

StepTable cards_of_text() { return Paragraphs(attn_standard).cards(); }

namespace {

constexpr std::string_view begins_file = "\nattention  ";

/// Calls `use(name, text)` for each file of the text. The remarks that a file begins with are its
/// own if it is the first.
template <class Use>
void each_file(Use use) {
    const std::string_view all = attn_standard;
    const std::size_t first = all.find(begins_file);
    for (std::size_t at = first; at != all.npos;) {
        const std::size_t next = all.find(begins_file, at + 1);
        const std::size_t name = at + begins_file.size();
        const std::size_t begin = at == first ? 0 : at + 1;
        use(all.substr(name, all.find('\n', name) - name), all.substr(begin, next - begin));
        at = next;
    }
}

std::string called(std::string_view file) {
    return file == "standard" ? std::string(file) : "standard/" + std::string(file);
}

}  // namespace

std::vector<std::string> walk_texts() {
    std::vector<std::string> names;
    each_file([&](std::string_view file, std::string_view) { names.push_back(called(file)); });
    return names;
}

std::string text_of_walk(std::string_view name) {
    std::string found;
    each_file([&](std::string_view file, std::string_view text) {
        if (called(file) != name) return;
        found = text;
        if (!found.ends_with('\n')) found += '\n';
    });
    return found;
}

}  // namespace attn

#include "attn/core/cards/card_text.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

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

/// Texts of attention, line by line.
class Lines {
public:
    explicit Lines(std::string_view text) : text_(text) {}

    bool are_left() const { return !text_.empty(); }
    /// True if the next line says more of the paragraph.
    bool is_indented() const { return text_.starts_with(' ') || text_.starts_with('\n'); }
    /// Takes the next line: its first word, and what that says. Both are empty without one.
    CardLine take() {
        const std::size_t end = std::min(text_.find('\n'), text_.size());
        std::string_view line = without_remark(text_.substr(0, end));
        text_.remove_prefix(std::min(end + 1, text_.size()));
        ++number_;
        const auto skip_blanks = [&] {
            while (line.starts_with(' ')) line.remove_prefix(1);
        };
        skip_blanks();
        const std::string_view word = line.substr(0, line.find(' '));
        line.remove_prefix(word.size());
        skip_blanks();
        while (line.ends_with(' ')) line.remove_suffix(1);
        return {word, line};
    }
    /// Takes the lines up to the next that is empty, or to the next file.
    std::string_view take_block() {
        const std::size_t end = std::min(text_.find("\n\n"), text_.find("\nattention "));
        const std::string_view block = text_.substr(0, end == text_.npos ? end : end + 1);
        text_.remove_prefix(block.size());
        number_ += static_cast<std::size_t>(std::ranges::count(block, '\n'));
        return block;
    }
    void read_instead(std::string_view text) { text_ = text; }
    void begin_file(std::string_view name) {
        if (!file_.empty()) number_ = 1;  // the first has remarks above its name
        file_ = name;
    }
    /// Runs what reads the line that was taken.
    ///
    /// Errors  InputError with file and line for its ConfigError.
    template <class Read>
    auto at_line(Read read) const {
        try {
            return read();
        } catch (const ConfigError& error) {
            throw InputError(std::string(file_) + ".attn, line " + std::to_string(number_) + ": " +
                             error.what());
        }
    }

private:
    std::string_view text_, file_;
    std::size_t number_ = 0;
};

/// The words of lines that each paragraph says of itself.
constexpr std::string_view way_words[]{"after", "at",     "before", "formula", "inherits", "loop",
                                       "numpy", "python", "reads",  "torch",   "when"};
/// Those that other paragraphs of a step have from its card.
constexpr std::string_view shared_words[]{"at",     "formula", "loop", "numpy",
                                          "python", "reads",   "torch"};

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

Input input_called(std::string_view name) {
    const Chain chain = chain_called(std::string(name));
    return chain == Chain::none ? Input(std::string(name)) : Input(chain);
}

/// The tensors that a rule reads, in the order of its cells: names in front of a bracket, in braces
/// if they depend on the walk.
std::vector<Input> inputs_of_rule(std::string_view rule) {
    std::vector<std::string_view> names;
    for (std::size_t at = rule.find('='); (at = rule.find('[', at)) < rule.size(); ++at) {
        std::size_t first = at;
        if (rule[at - 1] == '}') {
            first = rule.rfind('{', at);
        } else {
            while (first > 0 && is_of_name(rule[first - 1])) --first;
        }
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

PlannedStep before_tables(const Plan& plan, const CardText& text) {
    static const StepTable no_steps;
    return {plan, no_steps, text.card};
}

/// `at once`: the first word of the line is `at`.
bool is_at_once(const Way& way) { return way.has("at"); }

const CardText::Made& made_of(const CardText& text, const Way& way) {
    CardText::Made& made = text.made[static_cast<std::size_t>(&way - text.ways.data())];
    std::call_once(made.once, [&] {
        made.reads = [&text, &way, inputs = inputs_of(way)](const Plan& plan) {
            std::vector<Input> named = inputs;
            for (Input& each : named) {  // the names that they have in this walk
                if (!each.step.starts_with('{')) continue;
                each.step = filled(each.step, before_tables(plan, text), way.words);
            }
            std::erase_if(named, [](const Input& each) {  // `{b_x}` of a walk that has none
                return each.chain == Chain::none && each.step.empty();
            });
            return named;
        };
        Step card = text.card;
        card.reads = made.reads;
        made.compute =
            way.has("loop") ? loop_called(way.said("loop")).compute(card) : by_rule(card);
    });
    return made;
}

/// Fills in what a step does from its ways.
void let_follow(Step& step, CardText& text) {
    const CardText* const all = &text;
    text.made = std::vector<CardText::Made>(text.ways.size());
    step.text = all;
    const bool has_formula =
        std::ranges::any_of(text.ways, [](const Way& way) { return way.has("formula"); });
    if (has_formula) {
        step.formula = [all](const PlannedStep& of) {
            const Way* const way = all->way(of);
            return way == nullptr ? std::string() : filled(way->said("formula"), of, way->words);
        };
    }
    if (std::ranges::none_of(text.ways, &Way::has_rule)) return;
    step.rule = [all](const PlannedStep& of) {
        const Way* const way = all->way(of);
        if (way == nullptr || !way->has_rule()) return Rule();
        const std::string rule = filled(way->rule, of, way->words);
        return rule.ends_with("= ") ? Rule() : Rule(rule);  // nothing on its right: it is given
    };
    step.reads = [all](const Plan& plan) {
        const Way* const way = all->way(plan);
        return way == nullptr ? std::vector<Input>() : made_of(*all, *way).reads(plan);
    };
    if (std::ranges::any_of(text.ways, is_at_once)) {
        step.at_once = [all](const Plan& plan) {
            const Way* const way = all->way(plan);
            return way != nullptr && is_at_once(*way);
        };
    }
    step.compute = [all](const Plan& plan, const Ledger& ledger) {
        const Way* const way = all->way(plan);
        return made_of(*all, way == nullptr ? all->ways.back() : *way).compute(plan, ledger);
    };
}

/// Reads a line that says what a step is.
///
/// Errors  ConfigError for a word that no line begins with.
void read_line(Step& step, const CardLine& line) {
    const auto& [word, says] = line;
    if (word == "title") {
        step.title = std::string(says);
    } else if (is_one_of(way_words, word)) {
        return;
    } else if (word == "called") {
        step.called = std::string(says);
    } else if (word == "extends") {
        step.chain = chain_called(std::string(says));
    } else if (word == "shape") {
        step.outline = outline_in(says);
    } else if (word == "detail") {
        step.kind = Step::Kind::detail;
        step.shown = false;
    } else if (word == "shown" || word == "hidden") {
        step.shown = word == "shown";
    } else if (word == "exponentiates") {
        step.exponentiates = true;
    } else if (word == "mixes") {  // mixes features
        step.mixes_features = true;
    } else if (word == "varies") {  // varies under the mask
        step.varies_where_hidden = true;
    } else if (word == "holds") {
        step.holds = says == "truths" ? RuleType::truth : RuleType::whole;
    } else if (word == "in") {  // in float32
        step.in_float32 = true;
    } else if (word == "tokens") {
        step.tokens = std::string(says);
    } else {
        throw ConfigError("there is no word '" + std::string(word) + "' below a step");
    }
}

/// The text with the words of a row, of which `{1}` is the first; `-` is none.
std::string with_words(std::string_view text, std::string_view row) {
    std::array<std::string_view, 9> words;
    for (std::size_t i = 0; i < words.size() && !row.empty(); ++i) {
        words[i] = taken_part(row, ",");
        if (words[i] == "-") words[i] = {};
    }
    std::string all;
    all.reserve(2 * text.size());
    for (std::size_t at = 0, open = 0; at < text.size(); at = open) {
        const bool is_word = text[at] == '{' && at + 2 < text.size() && text[at + 2] == '}' &&
                             text[at + 1] >= '1' && text[at + 1] <= '9';
        if (is_word) all += words[static_cast<std::size_t>(text[at + 1] - '1')];
        const std::size_t rest = is_word ? at + 3 : at;
        open = std::min(text.find('{', std::max(rest, at + 1)), text.size());
        all += text.substr(rest, open - rest);
    }
    return all;
}

/// The paragraphs of all steps.
class Paragraphs {
public:
    explicit Paragraphs(std::string_view texts) : lines_(texts) { read(); }

    StepTable cards() const {
        StepTable table;
        table.reserve(entries_.size() + 64);
        for (const Entry& entry : entries_) {
            CardText& text = *entry.text;
            share_lines(text.ways);
            Step& step = text.card;
            if (!step.outline) step.outline = score_outline;
            // Its conditions say whether the walk has the step; other ways have theirs.
            if (auto conditions = std::exchange(text.ways.back().conditions, {});
                !conditions.empty()) {
                step.applies = [text = &text, conditions](const Plan& plan) {
                    const PlannedStep of = before_tables(plan, *text);
                    return std::ranges::all_of(
                        conditions, [&](const Condition& each) { return each.holds(of); });
                };
            }
            let_follow(step, text);
            table.push_back(step);
        }
        return table;
    }

private:
    void read() {
        while (lines_.are_left()) {
            const auto [word, says] = lines_.take();
            if (word == "attention") {
                lines_.begin_file(says);
                words_ = words_of_file(says);
                of_file_.clear();
            } else if (word == "when") {
                lines_.at_line([&, list = says] { add_conditions(list, of_file_); });
            } else if (word == "each") {
                read_each(says);
            } else if (word == "step" || word == "parameter" || word == "given") {
                add(word, says);
            } else if (!word.empty() && word != "title" && word != "source") {
                lines_.at_line([other = std::string(word)] {
                    throw ConfigError("a paragraph begins with step, parameter or given, not '" +
                                      other + "'");
                });
            }
        }
    }

    /// Reads the paragraphs up to an empty line for each row of words.
    void read_each(std::string_view rows) {
        const Lines at_block = lines_;
        const std::string_view block = lines_.take_block();
        const Lines behind = lines_;
        while (!rows.empty()) {
            const std::string_view row = taken_part(rows, "/");
            lines_ = at_block;
            lines_.read_instead(*new std::string(with_words(block, row)));  // kept, as the text is
            read();
        }
        lines_ = behind;
    }

    struct Entry {
        std::string_view name;
        CardText* text;  // is kept for good, as the text is
        bool has_card = false;
    };

    static CardText* new_text(std::string_view word, std::string_view name) {
        auto* const text = new CardText;
        Step& step = text->card;
        step.name = std::string(name);
        if (word == "given") step.kind = Step::Kind::input;
        if (word == "parameter") {
            step.kind = Step::Kind::parameter;
            step.shown = false;
        }
        if (word != "step") {
            step.outline = drawn_outline(step.name);
            step.formula = learned;
        }
        return text;
    }

    void add(std::string_view word, std::string_view rule) {
        const std::string_view name = rule.substr(0, rule.find_first_of("[ "));
        const auto known = std::ranges::find(entries_, name, &Entry::name);
        CardText* const text = known == entries_.end() ? new_text(word, name) : known->text;
        Way way{rule, {}, of_file_, words_};
        way.lines.reserve(10);
        while (lines_.is_indented()) {
            const CardLine line = lines_.take();
            if (line.word.empty()) continue;
            lines_.at_line([&] {
                if (line.word == "when") add_conditions(line.says, way.conditions);
                if (line.word == "loop") loop_called(line.says);
                if (line.word == "after") place_ = place_of(line.says) + 1;
                if (line.word == "before") place_ = place_of(line.says);
                read_line(text->card, line);
            });
            way.lines.push_back(line);
        }
        const bool is_card = way.has("title");
        if (known != entries_.end()) {
            // A card comes last: its rule is the one if no other is meant.
            auto& ways = text->ways;
            ways.insert(known->has_card ? ways.end() - 1 : ways.end(), std::move(way));
            known->has_card = known->has_card || is_card;
            return;
        }
        text->ways.push_back(std::move(way));
        entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(place_++),
                        Entry{name, text, is_card});
    }

    /// Gives other paragraphs what they have from the card.
    static void share_lines(std::vector<Way>& ways) {
        for (std::size_t i = 0; i + 1 < ways.size(); ++i) {
            std::vector<CardLine>& lines = ways[i].lines;
            if (ways[i].has("inherits")) continue;  // inherits nothing
            const std::size_t own = lines.size();
            for (const CardLine& line : ways.back().lines) {
                const auto end = lines.begin() + static_cast<std::ptrdiff_t>(own);
                if (is_one_of(shared_words, line.word) &&
                    std::ranges::find(lines.begin(), end, line.word, &CardLine::word) == end) {
                    lines.push_back(line);
                }
            }
        }
    }

    std::size_t place_of(std::string_view name) const {
        const auto found = std::ranges::find(entries_, name, &Entry::name);
        if (found == entries_.end()) {
            throw ConfigError("there is no step '" + std::string(name) + "' before it");
        }
        return static_cast<std::size_t>(found - entries_.begin());
    }

    Lines lines_;
    CardWords words_ = nullptr;       ///< of the file that is read
    std::vector<Condition> of_file_;  ///< of all its paragraphs
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

const Way* CardText::way(const Plan& plan) const { return way(before_tables(plan, *this)); }

StepTable cards_of(std::string_view texts) { return Paragraphs(texts).cards(); }

StepTable cards_of_text() { return cards_of(attn_standard); }

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

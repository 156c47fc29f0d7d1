#include "attn/core/cards/card_text.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <span>
#include <utility>

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/walk_text.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Reads texts of attention line by line.
class Lines {
public:
    explicit Lines(std::string_view text) : text_(text) {}

    bool are_left() const { return !text_.empty(); }
    /// True if the next line belongs to the same paragraph.
    bool is_indented() const { return text_.starts_with(' ') || text_.starts_with('\n'); }
    /// Reads the next line: its first word, and the rest. Both are empty at the end.
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
    /// Reads the lines up to the next empty one, or the next file.
    std::string_view take_block() {
        const std::size_t end = std::min(text_.find("\n\n"), text_.find("\nattention "));
        const std::string_view block = text_.substr(0, end == text_.npos ? end : end + 1);
        text_.remove_prefix(block.size());
        number_ += static_cast<std::size_t>(std::ranges::count(block, '\n'));
        return block;
    }
    void read_instead(std::string_view text) { text_ = text; }
    void begin_file(std::string_view name) {
        if (!file_.empty()) number_ = 1;  // the first one has comments above its name
        file_ = name;
    }
    /// Calls `read` for the current line.
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

/// Words of lines that apply to one paragraph only.
constexpr std::string_view way_words[]{"after", "at",     "before", "formula", "inherits", "loop",
                                       "numpy", "python", "reads",  "torch",   "when"};
/// Words that other paragraphs of a step inherit from its card.
constexpr std::string_view shared_words[]{"at",     "formula", "loop", "numpy",
                                          "python", "reads",   "torch"};

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

/// Reads a line with a property of a step.
///
/// Errors  ConfigError for an unknown first word.
void read_line(Step& step, const CardLine& line) {
    const auto& [word, remainder] = line;
    if (word == "title") {
        step.title = std::string(remainder);
    } else if (is_one_of(way_words, word)) {
        return;
    } else if (word == "called") {
        step.called = std::string(remainder);
    } else if (word == "extends") {
        step.chain = chain_called(std::string(remainder));
    } else if (word == "shape") {
        step.outline = outline_in(remainder);
    } else if (word == "detail") {
        step.kind = Step::Kind::detail;
        step.shown = false;
    } else if (word == "shown" || word == "hidden") {
        step.shown = word == "shown";
    } else if (word == "mixes") {  // mixes features
        step.mixes_features = true;
    } else if (word == "varies") {  // varies under the mask
        step.varies_where_hidden = true;
    } else if (word == "holds") {
        step.holds = remainder == "truths" ? RuleType::truth : RuleType::whole;
    } else if (word == "in") {  // in float32
        step.rounds = [](const Plan&) { return RoundedAt::nothing; };
    } else if (word == "tokens") {
        step.tokens = std::string(remainder);
    } else {
        throw ConfigError("there is no word '" + std::string(word) + "' below a step");
    }
}

/// Fills in the words of a row, with `{1}` as the first; `-` is an empty word.
std::string with_words(std::string_view text, std::string_view row) {
    std::array<std::string_view, 9> words;
    for (std::size_t i = 0; i < words.size() && !row.empty(); ++i) {
        words[i] = next_part(row, ",");
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

/// Parses the paragraphs of all steps.
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
            // Its conditions decide whether the walk has the step; other paragraphs have their own.
            if (auto conditions = std::exchange(text.ways.back().conditions, {});
                !conditions.empty()) {
                step.applies = [text = &text, conditions](const Plan& plan) {
                    return all_true(conditions, before_tables(plan, *text));
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
            const auto [word, remainder] = lines_.take();
            if (word == "attention") {
                lines_.begin_file(remainder);
                words_ = words_of_file(remainder);
                of_file_.clear();
            } else if (word == "when") {
                lines_.at_line([&, list = remainder] { add_conditions(list, of_file_); });
            } else if (word == "each") {
                read_each(remainder);
            } else if (word == "step" || word == "parameter" || word == "given") {
                add(word, remainder);
            } else if (!word.empty() && word != "title" && word != "source") {
                lines_.at_line([other = std::string(word)] {
                    throw ConfigError("a paragraph begins with step, parameter or given, not '" +
                                      other + "'");
                });
            }
        }
    }

    /// Reads the paragraphs up to an empty line once per row of words.
    void read_each(std::string_view rows) {
        static std::deque<std::string>& kept = *new std::deque<std::string>();  // as the text is
        const Lines at_block = lines_;
        const std::string_view block = lines_.take_block();
        const Lines behind = lines_;
        while (!rows.empty()) {
            const std::string_view row = next_part(rows, "/");
            lines_ = at_block;
            lines_.read_instead(kept.emplace_back(with_words(block, row)));
            read();
        }
        lines_ = behind;
    }

    struct Entry {
        std::string_view name;
        CardText* text;  // never destroyed, like the text
        bool has_card = false;
    };

    static CardText* new_text(std::string_view word, std::string_view name) {
        static std::deque<CardText>& kept = *new std::deque<CardText>();  // never destroyed
        CardText* const text = &kept.emplace_back();
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
                if (line.word == "when") add_conditions(line.remainder, way.conditions);
                if (line.word == "loop") loop_called(line.remainder);
                if (line.word == "after") place_ = place_of(line.remainder) + 1;
                if (line.word == "before") place_ = place_of(line.remainder);
                read_line(text->card, line);
            });
            way.lines.push_back(line);
        }
        const bool is_card = way.has("title");
        if (known != entries_.end()) {
            // The card comes last: its rule applies if no other does.
            auto& ways = text->ways;
            ways.insert(known->has_card ? ways.end() - 1 : ways.end(), std::move(way));
            known->has_card = known->has_card || is_card;
            return;
        }
        text->ways.push_back(std::move(way));
        entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(place_++),
                        Entry{name, text, is_card});
    }

    /// Copies lines of the card to the other paragraphs.
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
    CardWords words_ = nullptr;       ///< of the current file
    std::vector<Condition> of_file_;  ///< of all paragraphs in the file
    std::vector<Entry> entries_;
    std::size_t place_ = 0;  ///< place of the next step
};

}  // namespace

StepTable cards_of(std::string_view texts) { return Paragraphs(texts).cards(); }

StepTable cards_of_text() { return cards_of(all_walk_texts()); }

}  // namespace attn

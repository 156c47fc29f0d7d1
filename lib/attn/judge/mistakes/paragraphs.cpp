#include "attn/judge/mistakes/paragraphs.hpp"

#include <algorithm>
#include <map>

#include "attn/core/plan/text_lines.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

/// The joined files of data/mistakes.
extern "C" const char attn_mistakes[];

namespace attn {
namespace {

using Names = std::map<std::string, std::string, std::less<>>;

/// Words for the actions of a mistake. A paragraph that is `like` another one and has one of these
/// inherits none of them.
constexpr std::string_view changes[]{"rule",  "shape", "reads", "with",  "without",  "mask",
                                     "hides", "code",  "made",  "early", "sinkless", "when"};
constexpr std::string_view paragraph_words[]{"title", "effect",   "lesson",  "fix",      "same",
                                             "needs", "numbers",  "by",      "rewrites", "witness",
                                             "given", "harmless", "backward"};

template <std::size_t n>
bool is_among(const std::string_view (&words)[n], std::string_view word) {
    return std::ranges::find(words, word) != std::end(words);
}

/// Splits `NAME = TEXT`.
std::pair<std::string, std::string> definition(std::string_view line) {
    const std::size_t sign = std::min(line.find('='), line.size());
    const std::string_view text = line.substr(std::min(sign + 1, line.size()));
    return {std::string(trimmed(line.substr(0, sign))), std::string(trimmed(text))};
}

/// Fills in the names of `let` lines, those of the paragraph first.
std::string with_names(std::string text, const Names& own, const Names& common) {
    constexpr int deepest = 8;  // a recursive name would never end
    for (int i = 0; i < deepest && text.find('{') != std::string::npos; ++i) {
        std::string more = filled(text, [&](std::string_view name) -> std::optional<std::string> {
            for (const Names* names : {&own, &common}) {
                if (const auto known = names->find(name); known != names->end()) {
                    return known->second;
                }
            }
            return std::nullopt;
        });
        if (more == text) break;
        text = std::move(more);
    }
    return text;
}

/// Adds one line per word, in place of the word in braces.
void add_for_each(const MistakeLine& line, std::string_view brace,
                  std::initializer_list<const char*> words, std::vector<MistakeLine>& lines) {
    for (const std::string word : words) {
        std::string remainder = replaced_all(line.remainder, brace, word);
        if (brace != "{circle}") {
            const char* const chain = word == "query" ? "queries"
                                      : word == "key" ? "keys"
                                                      : "values";
            remainder = replaced_all(std::move(remainder), "{chain}", chain);
        }
        lines.push_back({line.word, std::move(remainder)});
    }
}

/// Expands lines with `{part}` for query and key, with `{each}` for query, key and value, and with
/// `{circle}` for cosines and sines.
std::vector<MistakeLine> for_each_part(std::vector<MistakeLine> lines) {
    const auto spread = [&](std::string_view brace, std::initializer_list<const char*> words) {
        const auto has_brace = [brace](const MistakeLine& line) {
            return line.remainder.find(brace) != std::string::npos;
        };
        if (std::ranges::none_of(lines, has_brace)) return;
        std::vector<MistakeLine> all;
        for (MistakeLine& line : lines) {
            if (has_brace(line)) {
                add_for_each(line, brace, words, all);
            } else {
                all.push_back(std::move(line));
            }
        }
        lines = std::move(all);
    };
    spread("{part}", {"query", "key"});
    spread("{each}", {"query", "key", "value"});
    spread("{circle}", {"cos", "sin"});
    return lines;
}

class Texts {
public:
    Texts() {
        std::string_view rest = attn_mistakes;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            std::string_view line = rest.substr(0, end);
            rest.remove_prefix(std::min(end + 1, rest.size()));
            if (trimmed(line).empty() || line.front() == '#') continue;
            const bool is_below = line.front() == ' ';
            std::string word(next_token(line));
            is_below ? add(std::move(word), line) : begin(word, line);
        }
        for (const MistakeText& each : written_) {
            texts.push_back({each.id, each.step, finished(each)});
        }
    }

    std::vector<MistakeText> texts;
    std::vector<std::pair<std::string, std::string>> needs;

private:
    void begin(const std::string& word, std::string_view line) {
        if (word == "let") {
            names_.insert(definition(line));
        } else if (word == "need") {
            needs.push_back(definition(line));
        } else if (word == "mistake") {
            MistakeText text{std::string(next_token(line)), {}, {}};
            if (next_token(line) != "at" || line.empty()) {
                text.refuse(
                    "a paragraph begins with its id and its step, as in mistake k-dot-k at "
                    "scores");
            }
            text.step = line;
            written_.push_back(std::move(text));
        } else {
            throw ConfigError("data/mistakes: no paragraph begins with '" + word +
                              "': mistake, need and let do");
        }
    }

    void add(std::string word, std::string_view remainder) {
        if (written_.empty())
            throw ConfigError(
                "data/mistakes: a file begins with a line that is "
                "indented");
        MistakeText& text = written_.back();
        if (word != "let" && word != "like" && !is_among(changes, word) &&
            !is_among(paragraph_words, word)) {
            text.refuse("there is no word '" + word + "'");
        }
        text.lines.push_back({std::move(word), std::string(remainder)});
    }

    /// Returns the lines of a paragraph and those that it inherits, with names and parts filled in.
    std::vector<MistakeLine> finished(const MistakeText& text) const {
        std::vector<MistakeLine> all = whole(text);
        Names own;
        for (const MistakeLine& line : all) {
            if (line.word == "let") own.insert(definition(line.remainder));
        }
        std::erase_if(all, [](const MistakeLine& line) { return line.word == "let"; });
        for (MistakeLine& line : all)
            line.remainder = with_names(std::move(line.remainder), own, names_);
        return for_each_part(std::move(all));
    }

    /// Returns the lines of a paragraph, then those that it inherits from the one after `like`.
    std::vector<MistakeLine> whole(const MistakeText& text) const {
        std::vector<MistakeLine> all = text.lines;
        if (!text.has("like")) return all;
        std::erase_if(all, [](const MistakeLine& line) { return line.word == "like"; });
        const std::string like = text.specified("like");
        const auto other = std::ranges::find(written_, like, &MistakeText::id);
        if (other >= written_.begin() + (&text - written_.data())) {
            text.refuse("there is no mistake " + like + " above it");
        }
        const auto is_change = [](const MistakeLine& line) { return is_among(changes, line.word); };
        const bool changes_itself = std::ranges::any_of(text.lines, is_change);
        for (MistakeLine& line : whole(*other)) {
            const bool is_specified = is_change(line) ? changes_itself : text.has(line.word);
            const bool is_own = line.word == "same" || line.word == "rewrites";
            if (line.word == "let" || (!is_specified && !is_own)) all.push_back(std::move(line));
        }
        return all;
    }

    Names names_;
    std::vector<MistakeText> written_;
};

const Texts& texts() {
    static const Texts& all = *new Texts;  // never destroyed: the program ends anyway
    return all;
}

}  // namespace

bool MistakeText::has(std::string_view word) const { return has_word(lines, word); }
std::string MistakeText::specified(std::string_view word) const { return text_after(lines, word); }

void MistakeText::refuse(const std::string& reason) const {
    throw ConfigError("data/mistakes: mistake " + id + ": " + reason);
}

const std::vector<MistakeText>& mistake_texts() { return texts().texts; }

std::vector<std::string> needs_called(std::string_view name) {
    std::vector<std::string> all;
    for (const auto& [known, remainder] : texts().needs) {
        if (known == name) all.push_back(remainder);
    }
    return all;
}

}  // namespace attn

#include <algorithm>

#include "app/flags/flag.hpp"
#include "app/flags/parse.hpp"
#include "attn/text/strings.hpp"

namespace app {
namespace {

/// Several flags in one word, as compare takes them: `--scale none`.
bool holds_blanks(const std::string& word) {
    const std::size_t end = word.find_first_of(" =");
    return end != std::string::npos && word[end] == ' ';
}

bool is_whole_number(const std::string& word) {
    return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

/// A command line while it is read.
struct Reader {
    const Arguments& rows;
    const std::vector<std::string>& words;
    TypedWords typed{};
    std::size_t next = 0;  ///< of the words

    bool fails() const { return typed.lacks_value != nullptr || typed.unknown; }

    /// The value that stands in the next word.
    void read_next(const Flag& flag) {
        if (next == words.size() || looks_like_flag(words[next])) {
            typed.lacks_value = &flag;
        } else {
            typed.said.push_back({&flag, words[next++]});
        }
    }

    /// A flag without a value behind its name: it stands alone, or its number comes next.
    void read_alone(const Flag& flag) {
        const bool counts = flag.may_stand_alone && flag.takes.kind == Takes::Kind::integer;
        const bool has_next = counts && next < words.size();
        if (has_next && words[next].empty()) {
            typed.lacks_value = &flag;
        } else {
            const bool is_number = has_next && is_whole_number(words[next]);
            typed.said.push_back({&flag, is_number ? words[next++] : ""});
        }
    }

    /// `--name`, `--name VALUE` or `--name=VALUE`.
    void read_name(const std::string& word) {
        const Flag* flag = rows.find(before(word, '='));
        if (flag == nullptr) {
            typed.unknown = word;
            return;
        }
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos) {
            return flag->takes_next_word() ? read_next(*flag) : read_alone(*flag);
        }
        const std::string text = word.substr(equals + 1);
        const bool switches = flag->set != nullptr && (text == "true" || text == "false");
        if (!flag->takes_value() && !switches) {
            throw attn::ConfigError(flag->name + " stands alone: leave =" + text + " out");
        }
        if (flag->may_stand_alone && text.empty()) {
            typed.lacks_value = flag;
        } else {
            typed.said.push_back({flag, flag->takes_value() || text == "false" ? text : ""});
        }
    }

    /// `-q`, `-qo FILE`, `-oFILE` or `-o=FILE`.
    void read_letters(const std::string& word) {
        std::vector<const Flag*> flags;
        std::size_t end = 1;
        for (; end < word.size() && (flags.empty() || !flags.back()->takes_value()); ++end) {
            flags.push_back(rows.find(std::string("-") + word[end]));
            if (flags.back() == nullptr) {
                typed.unknown = word;
                return;
            }
        }
        const Flag* last = flags.back();
        if (last->takes_value()) flags.pop_back();
        for (const Flag* flag : flags) typed.said.push_back({flag, ""});
        if (!last->takes_value()) return;
        if (end == word.size()) return read_next(*last);
        typed.said.push_back({last, word.substr(end + (word[end] == '=' ? 1 : 0))});
    }
};

}  // namespace

bool looks_like_flag(const std::string& word) {
    return word.size() > 1 && word[0] == '-' && word != "--" &&
           !(word[1] >= '0' && word[1] <= '9') && word[1] != '.' && !holds_blanks(word);
}

TypedWords read_words(const Arguments& rows, const std::vector<std::string>& words) {
    std::vector<const Flag*> places;
    for (const FlagTable table : rows.tables()) {
        for (const Flag& flag : table()) {
            if (flag.is_positional()) places.push_back(&flag);
        }
    }
    Reader reader{rows, words};
    std::optional<std::string> beyond;  // the first word that no place is left for
    auto place = places.begin();
    bool flags_may_come = true;
    while (reader.next < words.size() && !reader.fails()) {
        const std::string& word = words[reader.next++];
        if (flags_may_come && word == "--") {
            flags_may_come = false;
        } else if (flags_may_come && looks_like_flag(word)) {
            word.starts_with("--") ? reader.read_name(word) : reader.read_letters(word);
        } else if (place != places.end()) {
            reader.typed.said.push_back({*place++, word});
        } else if (!beyond) {
            beyond = std::string(attn::trimmed(word));
        }
    }
    if (!reader.typed.unknown) reader.typed.unknown = beyond;
    return reader.typed;
}

}  // namespace app

#include "app/flags/flag.hpp"

#include <algorithm>
#include <stdexcept>

#include "app/flags/parse.hpp"
#include "app/terminal/messages.hpp"
#include "attn/text/closest.hpp"

namespace app {
namespace {

using Kind = Takes::Kind;

/// What a flag takes, for a message: `a whole number`, `a FILE`, `one of key, query, head or
/// batch`.
std::string taken_by(const Flag& flag) {
    const Takes& takes = flag.takes;
    if (takes.kind == Kind::integer) return "a whole number";
    if (takes.kind == Kind::number) return "a number";
    if (takes.only_these && takes.kind == Kind::word) return "one of " + listed(takes.words());
    return flag.value;
}

[[noreturn]] void refuse(const std::string& message) { throw attn::ConfigError(message); }

/// Checks one text against what its flag takes.
void check(const Flag& flag, const std::string& text) {
    const Takes& takes = flag.takes;
    if (text.empty() && !takes.or_nothing) {
        refuse(flag.name + " is given an empty text: it takes " + taken_by(flag) +
               "; leave it out for the default");
    }
    if (takes.kind == Kind::integer) parse_integer(flag.name, text, takes.least, takes.most);
    if (takes.kind == Kind::number) parse_number(flag.name, text);
    if (!takes.only_these) return;
    const std::vector<std::string> known = takes.words();
    const auto is_known = [&](const std::string& word) {
        return std::find(known.begin(), known.end(), word) != known.end();
    };
    if (takes.kind != Kind::list) {
        if (!is_known(text)) refuse_word(flag.name, text, known);
        return;
    }
    for (const std::string& word : split(text, ',')) {
        if (!is_known(word)) refuse_word(flag.name, word, known);
    }
}

/// Whether a word is several flags in one, as compare takes them: `--scale none`.
bool holds_blanks(const std::string& word) {
    const std::size_t end = word.find_first_of(" =");
    return end != std::string::npos && word[end] == ' ';
}

/// Whether a word is meant as a flag; a number with its sign is none.
bool looks_like_flag(const std::string& word) {
    return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') &&
           word[1] != '.' && !holds_blanks(word);
}

}  // namespace

std::vector<std::string> Flag::names() const {
    if (letter.empty()) return {name};
    return {letter, name};
}

std::string Flag::whole_help() const {
    std::string text = help;
    if (takes.only_these) text += ": " + listed(takes.words());
    return usual.empty() ? text : text + " (" + usual + ")";
}

const Flag* Arguments::find(std::string_view name) const {
    for (const FlagTable table : tables_) {
        for (const Flag& flag : table()) {
            if (flag.name == name || (!flag.letter.empty() && flag.letter == name)) return &flag;
        }
    }
    return nullptr;
}

const Flag& Arguments::row(std::string_view name) const {
    if (const Flag* flag = find(name)) return *flag;
    throw std::logic_error("no row says what " + std::string(name) + " is");
}

bool Arguments::has(std::string_view name) const {
    const Flag& flag = row(name);
    return std::any_of(said_.begin(), said_.end(),
                       [&](const Said& said) { return said.flag == &flag; });
}

std::vector<std::string> Arguments::all(std::string_view name) const {
    const Flag& flag = row(name);
    std::vector<std::string> texts;
    for (const Said& said : said_) {
        if (said.flag == &flag) texts.push_back(said.text);
    }
    return texts;
}

std::string Arguments::text(std::string_view name) const {
    const std::vector<std::string> texts = all(name);
    return texts.empty() ? row(name).usual : texts.back();
}

std::optional<std::int64_t> Arguments::integer(std::string_view name) const {
    const std::string said = text(name);
    if (said.empty()) return std::nullopt;
    return parse_integer(name, said);
}

std::optional<double> Arguments::number(std::string_view name) const {
    if (!has(name)) return std::nullopt;
    return parse_number(name, text(name));
}

void Arguments::set(std::string_view name, const std::string& text) {
    forget(name);
    said_.push_back({&row(name), text});
}

void Arguments::forget(std::string_view name) {
    const Flag& flag = row(name);
    std::erase_if(said_, [&](const Said& said) { return said.flag == &flag; });
}

namespace {

/// Reads a command line word by word.
class Reader {
public:
    Reader(const Arguments& arguments, const std::vector<std::string>& words)
        : arguments_(arguments), words_(words) {
        for (const FlagTable table : arguments.tables()) {
            for (const Flag& flag : table()) {
                if (flag.is_positional()) positionals_.push_back(&flag);
            }
        }
    }

    std::vector<Arguments::Said> read() {
        bool only_positionals = false;
        for (; next_ < words_.size(); ++next_) {
            const std::string& word = words_[next_];
            if (only_positionals || !looks_like_flag(word)) {
                read_positional(word);
            } else if (word == "--") {
                only_positionals = true;
            } else if (word[1] == '-') {
                read_flag(word);
            } else {
                read_letters(word);
            }
        }
        return std::move(said_);
    }

private:
    /// `--name`, `--name value` or `--name=value`.
    void read_flag(const std::string& word) {
        const std::size_t equals = word.find('=');
        const Flag& flag = find(word.substr(0, equals));
        if (equals == std::string::npos) {
            keep(flag, flag.takes_value() ? next_value(flag) : "");
        } else if (flag.takes_value()) {
            keep(flag, word.substr(equals + 1));
        } else {
            refuse(flag.name + " stands alone: leave " + word.substr(equals) + " out");
        }
    }

    /// `-q`, `-o FILE`, `-oFILE` or `-qo FILE`.
    void read_letters(const std::string& word) {
        for (std::size_t at = 1; at < word.size(); ++at) {
            const Flag* flag = arguments_.find(std::string("-") + word[at]);
            if (flag == nullptr) refuse_unknown(word);
            if (!flag->takes_value()) {
                keep(*flag, "");
                continue;
            }
            const std::size_t start = at + (word.substr(at + 1, 1) == "=" ? 2 : 1);
            keep(*flag, at + 1 < word.size() ? word.substr(start) : next_value(*flag));
            return;
        }
    }

    void read_positional(const std::string& word) {
        if (position_ == positionals_.size()) throw UnexpectedWord(word);
        keep(*positionals_[position_++], word);
    }

    const Flag& find(const std::string& name) const {
        const Flag* flag = arguments_.find(name);
        if (flag == nullptr) refuse_unknown(name);
        return *flag;
    }

    [[noreturn]] void refuse_unknown(const std::string& name) const {
        std::vector<std::string> known;
        for (const FlagTable table : arguments_.tables()) {
            for (const Flag& flag : table()) {
                if (flag.name.starts_with("--")) known.push_back(flag.name);
            }
        }
        const bool lacks_a_dash = arguments_.find("-" + name) != nullptr;
        throw UnknownFlag(name, name == "-V"   ? "--version"
                                : lacks_a_dash ? "-" + name
                                               : attn::closest(name, known));
    }

    std::string next_value(const Flag& flag) {
        if (next_ + 1 == words_.size() || looks_like_flag(words_[next_ + 1])) {
            refuse(flag.name + " lacks its value, " + flag.name + " " + flag.value + ": " +
                   flag.whole_help());
        }
        return words_[++next_];
    }

    void keep(const Flag& flag, const std::string& text) {
        const bool again = std::any_of(said_.begin(), said_.end(), [&](const Arguments::Said& one) {
            return one.flag == &flag;
        });
        if (again && !flag.repeats && flag.takes_value()) {
            refuse(flag.name + " is given twice: " +
                   (flag.takes.kind == Kind::list ? "give it once, with commas between its words"
                                                  : "leave one of them out"));
        }
        if (flag.takes_value()) check(flag, text);
        said_.push_back({&flag, text});
    }

    const Arguments& arguments_;
    const std::vector<std::string>& words_;
    std::vector<const Flag*> positionals_;
    std::vector<Arguments::Said> said_;
    std::size_t next_ = 0;
    std::size_t position_ = 0;
};

}  // namespace

UnknownFlag::UnknownFlag(const std::string& said, const std::string& meant)
    : ConfigError("there is no flag " + said +
                  (meant.empty() ? "" : "; did you mean " + meant + "?")),
      name(said),
      has_guess(!meant.empty()) {}

UnexpectedWord::UnexpectedWord(const std::string& said)
    : ConfigError("'" + said + "' is not expected: flags begin with --"), word(said) {}

void Arguments::parse(const std::vector<std::string>& words) {
    const std::vector<Said> read = Reader(*this, words).read();
    for (const Said& said : read) {
        std::erase_if(said_, [&](const Said& before) { return before.flag == said.flag; });
    }
    said_.insert(said_.end(), read.begin(), read.end());
}

std::vector<Flag> grouped(const std::string& group, std::vector<Flag> rows) {
    for (Flag& flag : rows) flag.group = group;
    return rows;
}

void note_useless_flags(const Arguments& arguments, const attn::Plan* plan) {
    std::vector<const Flag*> noted;
    for (const auto& [flag, text] : arguments.said()) {
        const Need& need = flag->need;
        const bool is_noted = std::find(noted.begin(), noted.end(), flag) != noted.end();
        const bool is_met = (need.among_flags == nullptr || need.among_flags(arguments)) &&
                            (need.in_walk == nullptr || plan == nullptr || need.in_walk(*plan));
        if (is_noted || is_met) continue;
        noted.push_back(flag);
        report_note(flag->name + " has no effect here: it needs " + std::string(need.what));
    }
}

}  // namespace app

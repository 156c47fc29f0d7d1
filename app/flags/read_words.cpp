#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "app/flags/flag.hpp"
#include "app/flags/parse.hpp"

namespace app {
namespace {

bool holds_blanks(const std::string& word) {
    const std::size_t end = word.find_first_of(" =");
    return end != std::string::npos && word[end] == ' ';
}

/// A word that is several flags in one, as compare takes them (`--scale none`), begins with a blank
/// for CLI11, so that it does not look like one flag.
std::string guarded(const std::string& word) {
    return word.starts_with("-") && holds_blanks(word) ? " " + word : word;
}

std::string unguarded(const std::string& word) {
    return word.starts_with(" -") ? word.substr(1) : word;
}

/// The flag of `--name` or `--name=VALUE`, or the last one of `-qo`, which may take a value; null
/// when there is none, or for one of the letters none.
const Flag* last_flag_of(const Arguments& rows, const std::string& word) {
    if (word.starts_with("--")) return rows.find(before(word, '='));
    const Flag* flag = nullptr;
    for (std::size_t i = 1; i < word.size() && !(flag && flag->takes_value()); ++i) {
        flag = rows.find(std::string("-") + word[i]);
        if (!flag) return nullptr;
    }
    return flag;
}

/// Whether the word ends with the name of the flag, so that its value comes next.
bool is_name_of(const Flag& flag, const std::string& word) {
    return word == flag.name ||
           (!word.starts_with("--") && !flag.letter.empty() && word.back() == flag.letter.back() &&
            word.find(flag.letter.back()) + 1 == word.size());
}

/// Whether a word may name the flag: CLI11 compares each flag that it is told with all the others.
bool may_be_named(const Flag& flag, const std::vector<std::string>& words) {
    return flag.is_positional() || std::ranges::any_of(words, [&](const std::string& word) {
               return word.starts_with(flag.name) ||
                      (word.starts_with("-") && !word.starts_with("--") && !flag.letter.empty() &&
                       word.find(flag.letter.back()) != std::string::npos);
           });
}

bool is_whole_number(const std::string& word) {
    return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

bool looks_like_flag(const std::string& word) {
    return word.size() > 1 && word[0] == '-' && word != "--" &&
           !(word[1] >= '0' && word[1] <= '9') && word[1] != '.' && !holds_blanks(word);
}

TypedWords read_words(const Arguments& rows, const std::vector<std::string>& words) {
    // Tell CLI11 no more than the names: all that is checked and said of a flag stands in its row.
    CLI::App cli;
    cli.set_help_flag();
    cli.allow_extras();
    std::map<const CLI::Option*, const Flag*> flags;
    for (const FlagTable table : rows.tables()) {
        for (const Flag& flag : table()) {
            if (!may_be_named(flag, words)) continue;
            const std::string names =
                flag.letter.empty() ? flag.name : flag.letter + "," + flag.name;
            CLI::Option* option = flag.takes_value() || flag.is_positional() ? cli.add_option(names)
                                                                             : cli.add_flag(names);
            option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
            flags[option] = &flag;
        }
    }

    // What is wrong with a flag ends what CLI11 is given: the words before it are read first.
    TypedWords typed;
    std::vector<std::string> given;
    bool flags_may_come = true;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--") flags_may_come = false;
        const bool is_flag = flags_may_come && looks_like_flag(word);
        const Flag* flag = is_flag ? last_flag_of(rows, word) : nullptr;
        if (is_flag && !flag) {
            typed.unknown = word;
            break;
        }
        const bool has_text = word.find('=') != std::string::npos;
        const std::string_view text =
            std::string_view(word).substr(has_text ? word.find('=') + 1 : 0);
        const bool switches = flag && flag->set != nullptr && (text == "true" || text == "false");
        if (flag && has_text && word.starts_with("--") && !flag->takes_value() && !switches) {
            throw attn::ConfigError(flag->name + " stands alone: leave " +
                                    word.substr(word.find('=')) + " out");
        }
        const bool waits = flag && flag->takes_next_word() && is_name_of(*flag, word);
        if (waits && (i + 1 == words.size() || looks_like_flag(words[i + 1]))) {
            typed.lacks_value = flag;
            break;
        }
        if (flag && flag->may_stand_alone && word == flag->name) {
            const bool counts = flag->takes.kind == Takes::Kind::integer && i + 1 < words.size();
            if (counts && words[i + 1].empty()) {
                typed.lacks_value = flag;
                break;
            }
            const bool follows = counts && is_whole_number(words[i + 1]);
            given.insert(given.end(), {word, follows ? words[++i] : ""});
        } else if (flag && flag->may_stand_alone && word.back() == '=') {
            typed.lacks_value = flag;
            break;
        } else if (flag && word.back() == '=') {
            given.insert(given.end(), {word.substr(0, word.size() - 1), ""});
        } else if (flag && has_text && !word.starts_with("--")) {
            // `-o=FILE`, which CLI11 would read as the value `=FILE`.
            const std::size_t equals = word.find(flag->letter.back()) + 1;
            given.push_back(word[equals] == '=' ? word.substr(0, equals) + word.substr(equals + 1)
                                                : word);
        } else {
            given.push_back(guarded(word));
            if (waits) given.push_back(guarded(words[++i]));
        }
    }
    std::reverse(given.begin(), given.end());
    cli.parse(std::move(given));

    // An option stands once in the order for each time that it was typed.
    std::map<const CLI::Option*, std::size_t> seen;
    for (const CLI::Option* option : cli.parse_order()) {
        const std::size_t place = seen[option]++;
        const Flag* flag = flags.at(option);
        // CLI11 says `true` of a flag that stands alone.
        std::string text =
            place < option->results().size() ? unguarded(option->results()[place]) : "";
        if (!flag->takes_value() && text == "true") text.clear();
        typed.said.push_back({flag, std::move(text)});
    }
    for (const std::string& rest : cli.remaining()) {
        if (!typed.unknown && rest != "--") typed.unknown = unguarded(rest);
    }
    return typed;
}

}  // namespace app

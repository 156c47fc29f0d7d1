#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>

#include "app/flags/walk_flags.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

/// Marks a value that would look like a flag to CLI11.
constexpr const char* guard = "\x01";

bool is_short(const std::string& word) { return word.starts_with("-") && !word.starts_with("--"); }

/// True if the word alone is a line of flags: a flag of a walk that needs no value.
bool is_line(const Arguments& rows, const std::string& word) {
    const Flag* flag = rows.named_by(word);
    return flag != nullptr && makes_walk(*flag) &&
           (!flag->takes_next_word() || word.find('=') != word.npos);
}

/// The positions of words that are whole lines of flags: the value of --html-compare, and compare's
/// A and B if other words for them are missing.
std::set<std::size_t> lines_in(const Arguments& rows, const std::vector<std::string>& words,
                               bool flags_alone) {
    auto lacking = std::ranges::count_if(
        rows.rows(), [](const Flag* flag) { return flag->is_positional() && flag->takes.flags; });
    std::vector<std::size_t> alone;
    std::set<std::size_t> lines;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const Flag* flag = rows.named_by(words[i]);
        const bool is_name = flag != nullptr && words[i].find('=') == words[i].npos;
        if (words[i] == "--") {
            lacking -= std::ssize(words) - static_cast<std::ptrdiff_t>(i) - 1;
            break;
        }
        if (is_line(rows, words[i])) {
            alone.push_back(i);
        } else if (is_name && flag->takes_next_word()) {
            ++i;
            if (flag->takes.flags && i < words.size() && is_line(rows, words[i])) lines.insert(i);
        } else if (!looks_like_flag(words[i])) {
            --lacking;
        }
    }
    for (const std::size_t place : alone) {
        if (!flags_alone && lacking-- > 0) lines.insert(place);
    }
    return lines;
}

/// Rewrites words for CLI11, up to a flag that lacks its value, whose index is `end`. CLI11 would
/// take the next flag for that value, `--name=` for a name alone, `-o=FILE` for the file `=FILE`,
/// any word for an optional value, which here must be an integer, and negative numbers or several
/// flags in one word (as in compare) for a flag.
std::vector<std::string> respelt(const Arguments& rows, const std::vector<std::string>& words,
                                 bool flags_alone, std::size_t& end) {
    std::vector<std::string> result;
    const std::set<std::size_t> lines = lines_in(rows, words, flags_alone);
    for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        std::string word = words[i];
        if (lines.contains(i)) {
            result.push_back(guard + word);
            continue;
        }
        const Flag* flag = rows.named_by(word);
        const bool is_name = flag != nullptr && word.find('=') == word.npos;
        if (is_short(word) && rows.find("-" + before(word, '=')) != nullptr) {  // `-only`
            end = i;
            return result;
        }
        const bool is_last = i + 1 == words.size();
        const bool lacks_value =
            is_last || (looks_like_flag(words[i + 1]) && !lines.contains(i + 1));
        if (is_name && flag->takes_next_word() && lacks_value) {
            end = i;
            return result;
        }
        if (is_name && flag->value_is_optional && flag->takes.kind == Takes::Kind::integer &&
            !is_last && words[i + 1].find_first_not_of("0123456789") == word.npos) {
            word += "=" + words[++i];
        }
        if (flag != nullptr && word.find('=') + 1 == word.size()) {
            if (flag->value_is_optional) refuse_empty(*flag);
            if (!flag->takes_value()) refuse_value(*flag, "");
            result.insert(result.end(), {before(word, '='), ""});
            continue;
        }
        if (flag != nullptr && !is_name && is_short(word)) word.erase(word.find('='), 1);
        const bool is_value = word.size() > 1 && word[0] == '-' && !looks_like_flag(word);
        result.push_back((is_value ? guard : "") + word);
    }
    result.insert(result.end(), std::ranges::find(words, "--"), words.end());
    return result;
}

}  // namespace

TypedWords read_words(const Arguments& rows, const std::vector<std::string>& words,
                      bool flags_alone) {
    // CLI11 gets only the names: checks and help of a flag are in its row.
    CLI::App cli;
    cli.set_help_flag();
    cli.allow_extras();
    std::map<const CLI::Option*, const Flag*> flags;
    const auto notify = [&](const std::string& names, const Flag* flag, bool is_flag) {
        CLI::Option* option = is_flag ? cli.add_flag(names) : cli.add_option(names);
        if (flag != nullptr && flag->is_positional() && flag->repeats) option->allow_extra_args();
        flags[option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)] = flag;
    };
    for (const Flag* flag : rows.rows()) {
        // CLI11 compares each name with all the others: leave out the unused ones.
        const bool may_come = std::ranges::any_of(words, [&](const std::string& word) {
            return word.starts_with(flag->name) || (is_short(word) && !flag->letter.empty());
        });
        if ((flag->is_positional() && !flags_alone) || (may_come && flag->takes_next_word())) {
            notify(attn::joined(flag->names(), ","), flag, false);
        } else if (may_come) {  // `{}`: no help text
            notify(attn::joined(flag->names(), "{},") + "{}", flag, true);
        }
    }
    notify("rest", nullptr, false);  // the first unexpected word

    TypedWords typed{{}, words.size()};
    std::vector<std::string> given = respelt(rows, words, flags_alone, typed.trouble);
    std::reverse(given.begin(), given.end());
    cli.parse(std::move(given));
    // CLI11 lists an option once for each time that it was typed.
    std::map<const CLI::Option*, std::size_t> seen;
    for (const CLI::Option* option : cli.parse_order()) {
        const std::string text = option->results().at(seen[option]++);
        typed.specified.push_back(
            {flags.at(option), text.starts_with(guard) ? text.substr(1) : text});
    }
    for (const std::string& extra : cli.remaining()) {
        if (!looks_like_flag(extra)) continue;
        auto place = std::ranges::find(words, extra);
        if (place == words.end()) {  // the rest of combined letters
            place = std::ranges::find_if(words, [&](const std::string& word) {
                return is_short(word) && word.find(extra[1]) != word.npos;
            });
        }
        typed.trouble = std::min<std::size_t>(typed.trouble, place - words.begin());
    }
    return typed;
}

}  // namespace app

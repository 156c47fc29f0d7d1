#include "app/cli.hpp"

#include <algorithm>

#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/reference/reference.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/version.hpp"

extern "C" const char attn_verified[];

namespace app {
namespace {

using Words = std::vector<std::string>;

bool is_command(const std::string& word) { return !word.empty() && find_command(word) != nullptr; }

/// Moves the command at `at` to the front of the command line, and drops flags that it lacks.
std::string command_first(const Words& words, std::size_t at) {
    const Arguments walk(commands().front().tables);
    const Arguments command(find_command(words[at])->tables);
    Words moved{words[at]};
    for (std::size_t i = 0; i < words.size(); ++i) {
        const Flag* flag = walk.find(before(words[i], '='));
        const bool is_left_out = flag != nullptr && command.find(flag->name) == nullptr;
        const bool has_next = is_left_out && flag->takes_next_word() && words[i] == flag->name;
        if (!is_left_out && i != at) moved.push_back(words[i]);
        if (has_next) ++i;
    }
    return "the command comes first: attn-explain " + shell_text(moved);
}

/// Returns the command line with the words at `at` replaced, as it could be typed; empty if it
/// would be refused.
std::string with_others(const Command& command, const Words& words, std::size_t at,
                        const Words& others, std::size_t count = 1) {
    const auto place = words.begin() + static_cast<std::ptrdiff_t>(at);
    Words all(words.begin(), place);
    all.insert(all.end(), others.begin(), others.end());
    all.insert(all.end(), place + static_cast<std::ptrdiff_t>(count), words.end());
    try {
        Arguments(command.tables).parse({all.begin() + (command.name.empty() ? 0 : 1), all.end()});
        return "attn-explain " + shell_text(all);
    } catch (const attn::ConfigError&) {
        return {};
    }
}

/// Explains a word after a flag that takes no value or already has one, and guesses the intended
/// command; empty if that flag is not the reason. `sentence` is the word and the `count - 1` words
/// after it.
std::string about_second_value(const Command& command, const Words& words, std::size_t at,
                               const std::string& sentence, std::size_t count) {
    using Kind = Takes::Kind;
    const Arguments rows(command.tables);
    const std::string& word = words[at];
    const Words truths = split("true false on off yes no 1 0", ' ');
    const Flag* alone = at > 0 ? rows.named_by(words[at - 1]) : nullptr;
    if (alone != nullptr && alone->may_be_off() &&
        std::ranges::find(truths, word) != truths.end()) {
        return alone->name + " takes no value: leave out " + word + "; " + alone->name +
               "=false switches it off";
    }
    const std::string before_it = at > 0 ? words[at - 1] : "";
    const bool is_joined = before_it.starts_with("--") && before_it.find('=') != before_it.npos;
    const std::string name = is_joined ? before(before_it, '=') : at > 1 ? words[at - 2] : "";
    const std::string value = is_joined ? before_it.substr(name.size() + 1) : before_it;
    const Flag* owner = rows.find(name);
    if (owner == nullptr || !owner->takes_next_word()) return {};
    const Takes& takes = owner->takes;
    const Words choices = takes.words();
    const bool is_choice = std::ranges::find(choices, word) != choices.end();
    const bool is_list = takes.kind == Kind::list || (is_choice && !takes.only_these);
    const bool is_number =
        takes.kind == Kind::integer || takes.kind == Kind::number || owner->value == "N";
    const bool is_like_it =
        is_number ? word.find_first_not_of("+-.0123456789") == word.npos : is_choice;
    if (is_like_it && !is_list) {
        return owner->name + " takes one value: leave " + value + " or " + word + " out";
    }
    const bool is_text = takes.kind == Kind::text && !is_number;
    if (!is_text && !is_list) return {};
    const bool is_empty = is_list && value == "none";  // the guessed value replaces it
    const std::string rest =
        is_text ? " " + sentence : (is_empty ? "" : ",") + attn::joined(split(sentence, ' '), ",");
    const std::size_t first = is_joined ? at - 1 : at - 2;
    const std::string meant = with_others(
        command, words, first, {owner->name, is_empty ? rest : value + rest}, at - first + count);
    return meant.empty() ? ""
                         : "'" + word + "' is not read as part of " + owner->name +
                               "; did you mean " + meant + "?";
}

/// True for `--heads` and `-q`, which are unlikely in a sentence.
bool is_flag(const std::string& word) {
    return word.starts_with("--") || (word.size() == 2 && word[0] == '-' && word[1] > '9');
}

/// Returns the error for an unexpected word, with a guess.
std::string about_word(const std::string& word, const Command& command, const Words& words) {
    const auto place = std::find(words.begin(), words.end(), word);
    const auto at = static_cast<std::size_t>(place - words.begin());
    if (place == words.end() || word.empty()) {
        return "unexpected argument '" + word + "': flags begin with --";
    }
    for (const std::string_view dash : attn::typographic_dashes) {
        if (!word.starts_with(dash)) continue;
        return "'" + word + "' begins with a dash that is not the keyboard's: write --" +
               attn::replaced_all(word, dash, "");
    }
    if (is_command(word) && command.name.empty()) return command_first(words, at);
    if (is_command(word)) {
        return command.name + " and " + word + " are two commands: leave one of them out";
    }
    std::string sentence;
    std::size_t count = 0;
    for (auto it = place; it != words.end() && !is_flag(*it); ++it, ++count) {
        sentence += (sentence.empty() ? "" : " ") + *it;
    }
    std::string meant = about_second_value(command, words, at, sentence, count);
    if (!meant.empty()) return meant;
    // It may be the indices of a cell, a flag without dashes, a value without its flag, or a text.
    const std::vector<const Flag*> places = positionals_of(command);
    const bool is_index = sentence.find_first_not_of("0123456789, ") == sentence.npos;
    if (is_index && !places.empty() && places[0]->takes.kind == Takes::Kind::cell) {
        const std::string cell = words[at - 1] + "[" + attn::joined(split_ids(sentence), ",") + "]";
        meant = with_others(command, words, at - 1, {cell}, count + 1);
        if (!meant.empty()) return "the indices of a cell are in brackets: " + meant;
    }
    meant = with_others(command, words, at, {"--" + word});
    const Words here = shell_words(flag_for_word(Arguments(command.tables), word));
    if (meant.empty() && !here.empty()) meant = with_others(command, words, at, here);
    if (meant.empty() && !command.name.empty()) {
        meant = with_others(command, words, at, {"--text", sentence}, count);
    }
    if (!meant.empty()) return "'" + word + "' is not a flag; did you mean " + meant + "?";
    if (!command.name.empty()) return "unexpected argument '" + word + "': flags begin with --";
    if (at == 0) meant = attn::closest(word, command_names());
    if (!meant.empty()) return "there is no command '" + word + "'; did you mean " + meant + "?";
    if (at == 0 && !word_help(sentence).empty()) {
        return "there is no command '" + sentence + "'; did you mean attn-explain help " +
               sentence + "?";
    }
    return "'" + word + "' is neither a command nor a flag: words to attend over are given as " +
           "--text " + shell_quoted(sentence) + " (attn-explain help lists the commands)";
}

/// Returns the error for an unknown flag, with a guess.
std::string about_flag(const UnknownFlag& unknown, const Command& command, const Words& words) {
    const std::string& name = unknown.name;
    for (std::size_t i = 1; command.name.empty() && i < words.size(); ++i) {
        if (!is_command(words[i])) continue;
        if (Arguments(find_command(words[i])->tables).find(name) != nullptr) {
            return command_first(words, i);
        }
    }
    const std::string there_is = "there is no flag " + name;
    const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    const std::string named = is_command(bare) ? bare : attn::known_name_for(bare, command_names());
    const auto place = std::ranges::find(words, name);
    const bool has_next = words.end() - place > 1 && !looks_like_flag(place[1]);
    const bool is_known = !flag_for_word(Arguments(command.tables), name).empty();
    const bool is_own = Arguments(command.tables).find("--" + named) != nullptr;
    if (!named.empty() && !is_own && !(is_known && has_next)) {
        return there_is + "; did you mean attn-explain " + named + "?";
    }
    if (is_known) return unknown.what();
    Words owners;
    for (const Command& each : commands()) {
        if (Arguments(each.tables).find(name) != nullptr) owners.push_back(each.name);
    }
    if (!owners.empty()) {
        const bool is_of_walks = owners.front().empty();
        return there_is + " here: it is a flag of attn-explain " +
               (is_of_walks ? "without a command" : listed(owners, "and"));
    }
    if (unknown.has_guess) return unknown.what();
    return there_is + ": attn-explain " + (command.name.empty() ? "" : command.name + " ") +
           "--help lists all flags";
}

Arguments parsed(const Command& command, const Words& words) {
    Arguments arguments(command.tables);
    Words typed(words.begin() + (command.name.empty() ? 0 : 1), words.end());
    const bool names_one = command.name == "help" && typed.size() == 1;
    if (names_one && looks_like_flag(typed[0]) && typed[0].find('=') == std::string::npos) {
        typed.insert(typed.begin(), "--");  // help about a flag
    }
    if (command.help.starts_with("list ") && typed == Words{"list"}) {
        throw attn::ConfigError("attn-explain " + command.name + " lists them: leave list out");
    }
    try {
        arguments.parse(typed);
    } catch (const UnknownFlag& unknown) {
        throw attn::ConfigError(about_flag(unknown, command, words));
    } catch (const UnexpectedWord& unexpected) {
        throw attn::ConfigError(about_word(unexpected.word, command, words));
    }
    arguments = completed(std::move(arguments));
    std::vector<const Flag*> missing = arguments.rows();
    std::erase_if(missing, [&](auto* flag) { return !flag->required || arguments.has(*flag); });
    if (missing.empty()) return arguments;
    const Words names = collected(missing, &Flag::name);
    throw attn::ConfigError(command.name + " needs " + listed(names, "and") +
                            (names.size() == 1 ? ": " + missing.front()->whole_help()
                                               : ", as in " + command.examples.front().line));
}

/// Returns the output of --help, -h or --version, whatever else is typed; empty without them.
std::string requested_help(const Command& command, const Words& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--") break;
        const bool wants_all = i + 1 < words.size() && words[i + 1] == "all";
        if (word == "--help") return whole_help(command, wants_all);
        if (word == "-h") return short_help(command);
        if (word != "--version") continue;
        const bool has_verified = std::ranges::find(words, "--verified") != words.end();
        return "attn-explain " + std::string(attn::version()) + "\n" +
               (has_verified ? attn_verified : "");
    }
    return {};
}

/// Reports ignored words after a request for help: another request, or a value.
void note_beside_help(const Words& words) {
    const auto asks = [](const std::string& word) {
        return word == "--help" || word == "-h" || word == "--version";
    };
    for (std::size_t i = 1; i < words.size(); ++i) {
        const bool is_all = words[i - 1] == "--help" && words[i] == "all";
        const bool is_read =
            is_all || !asks(words[i - 1]) || (!asks(words[i]) && words[i].starts_with("-"));
        if (!is_read) report_note(words[i] + " has no effect with " + words[i - 1]);
    }
}

}  // namespace

int run(int argc, char** argv) {
    attn::setting_prefix = "--";
    return run(Words(argv + std::min(argc, 1), argv + argc));
}

int run(const Words& words) {
    const bool names_one = !words.empty() && is_command(words.front());
    const Command& command = *find_command(names_one ? words.front() : "");
    if (std::find(words.begin(), words.end(), "--no-pager") != words.end()) Pager::forbid();
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--color" && i + 1 < words.size()) color_messages(words[i + 1]);
        if (words[i].starts_with("--color=")) color_messages(words[i].substr(8));
    }
    if (const std::string help = requested_help(command, words); !help.empty()) {
        StandardOutput::print(help);
        note_beside_help(words);
        release_notes();
        return 0;
    }
    const Arguments arguments = parsed(command, words);
    check_written_files(arguments);
    try {
        const int exit_code = command.run(arguments);
        save_config(arguments);
        release_notes();
        return exit_code;
    } catch (const attn::Error& error) {
        // Lines after the first quote the input: words there are not flags.
        std::string message = error.what();
        const std::size_t end = std::min(message.find('\n'), message.size());
        const std::string places = arguments.origins_in(message.substr(0, end));
        if (places.empty()) throw;
        throw attn::ConfigError(message.insert(end, places));
    }
}

}  // namespace app

#include <fmt/format.h>

#include "app/reference/reference.hpp"
#include "attn/ground/text/strings.hpp"

// The templates of the scripts, embedded by texts.S.
extern "C" const char attn_bash_completion[], attn_zsh_completion[], attn_fish_completion[];

namespace app {
namespace {

std::string bash_quoted(const std::string& text) { return "'" + text + "'"; }

using Kind = Takes::Kind;

/// The completion of a flag's values in each shell; `{}` stands for the words.
struct Offer {
    const char *bash, *zsh, *fish;
    const char* between = " ";  ///< bash
};

Offer offer_of(const Takes& takes) {
    const bool has_words = !takes.words().empty();
    switch (takes.kind) {
        case Kind::list:
            return {"_attn_explain_offer_list '{}'", "_values -s , step {}",
                    " -f -a '(__attn_explain_list {})'"};
        case Kind::cell:
            return {"compopt -o nospace; _attn_explain_offer '{}['", "compadd -S \"[\" {}",
                    " -f -a '{}'", "[ "};
        case Kind::file:
            return {"_attn_explain_offer_files '{}'",
                    has_words ? "{{_files; compadd {}}}" : "_files",
                    has_words ? " -F -a '{}'" : " -F"};
        case Kind::folder:
            return {"_attn_explain_offer_folders", "_files -/",
                    " -f -a '(__fish_complete_directories)'"};
        default:
            return has_words ? Offer{"_attn_explain_offer '{}'", "({})", " -f -a '{}'"}
                             : Offer{"return", " ", " -f"};
    }
}

std::string with_words(const char* form, const std::string& words) {
    return fmt::format(fmt::runtime(form), words);
}

std::string offer(const Takes& takes) {
    const Offer offer = offer_of(takes);
    return with_words(offer.bash, attn::joined(takes.words(), offer.between));
}

std::string command_case(const Command& command) {
    // Values of the flag before the cursor.
    std::string text = "        " + bash_quoted(command.name) + ")\n            case $prev in\n";
    std::string names;
    for (const Flag* flag : flags_of(command)) {
        names += (names.empty() ? "" : " ") + attn::joined(flag->names(), " ");
        if (!flag->takes_next_word()) continue;
        text += "                " + attn::joined(flag->names(), "|") + ") " + offer(flag->takes) +
                "; return;;\n";
    }
    text += "            esac\n            flags=" + bash_quoted(names) + "\n";

    // Otherwise a flag, or the positional argument.
    text += "            [[ $cur == -* ]] && { _attn_explain_offer \"$flags\"; return; }\n";
    const std::vector<const Flag*> positionals =
        positionals_of(command);  // all take the same values
    if (!positionals.empty()) text += "            " + offer(positionals.front()->takes) + "\n";
    return text + "            ;;\n";
}

/// Quotes a string with single quotes.
std::string zsh_quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

std::string action(const Takes& takes) {
    return with_words(offer_of(takes).zsh, escaped(attn::joined(takes.words(), " "), ":"));
}

/// Tells zsh the syntax of a flag with a value: `--mask causal` and `--mask=causal`, `-o FILE` and
/// `-oFILE`.
std::string with_value(const std::string& name) { return name + (name[1] == '-' ? "=" : "+"); }

std::string specification(const Flag& flag, const std::string& name) {
    const std::string others = flag.repeats ? "*" : "(" + attn::joined(flag.names(), " ") + ")";
    const bool alone = !flag.takes_next_word();
    std::string text =
        others + (alone ? name : with_value(name)) + "[" + escaped(flag.whole_help(), "[]\\") + "]";
    if (!alone) text += ":" + escaped(flag.value, ":\\") + ":" + action(flag.takes);
    return zsh_quoted(text);
}

std::string arguments(const Command& command) {
    std::string text = "_arguments -s";
    for (const Flag* flag : flags_of(command)) {
        for (const std::string& name : flag->names()) {
            text += " \\\n                " + specification(*flag, name);
        }
    }
    std::size_t number = 0;
    for (const Flag* positional : positionals_of(command)) {
        text += " \\\n                " +
                zsh_quoted(std::to_string(++number) + ":" + escaped(positional->name, ":") + ":" +
                           action(positional->takes));
    }
    return text;
}

/// Quotes a string with single quotes.
std::string fish_quoted(const std::string& text) { return "'" + escaped(text, "'\\") + "'"; }

/// Returns the possible values as flags of `complete`.
std::string fish_offer(const Takes& takes) {
    return with_words(offer_of(takes).fish, escaped(attn::joined(takes.words(), " "), "'\\"));
}

}  // namespace

std::string bash_completion() {
    std::string cases;
    for (const Command& command : commands()) cases += command_case(command);
    return attn::filled(attn_bash_completion,
                        {{"NAMES", attn::joined(command_names(), " ") + " "}, {"CASES", cases}});
}

std::string zsh_completion() {
    std::string names;
    std::string cases;
    for (const Command& command : commands()) {
        if (command.name.empty()) continue;
        names += "        " + zsh_quoted(command.name + ":" + escaped(command.help, ":")) + "\n";
        cases += "        " + command.name +
                 ")\n            shift words\n            (( CURRENT-- ))\n            " +
                 arguments(command) + "\n            ;;\n";
    }
    return attn::filled(
        attn_zsh_completion,
        {{"NAMES", names}, {"WALK", arguments(commands().front())}, {"CASES", cases}});
}

std::string fish_completion() {
    // Only the first word is a command; later ones are values, even if they look like one.
    std::string text = attn_fish_completion;
    for (const Command& command : commands()) {
        const bool walk = command.name.empty();
        const std::string start =
            "complete -c attn-explain -n " +
            fish_quoted(walk ? "not __attn_explain_command " + attn::joined(command_names(), " ")
                             : "__attn_explain_command " + command.name);
        if (!walk) {
            text += "complete -c attn-explain -n '__attn_explain_command \"\"' -a " + command.name +
                    " -d " + fish_quoted(command.help) + "\n";
        }
        for (const Flag* flag : flags_of(command)) {
            text += start;
            for (const std::string& name : flag->names()) {
                text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            }
            text += " -d " + fish_quoted(flag->whole_help());
            if (flag->takes_next_word()) text += " -r" + fish_offer(flag->takes);
            text += "\n";
        }
        const std::vector<const Flag*> positionals = positionals_of(command);
        if (!positionals.empty()) {
            text += start + fish_offer(positionals.front()->takes) + "\n";
        }
    }
    return text;
}

}  // namespace app

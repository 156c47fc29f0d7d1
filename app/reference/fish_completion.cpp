#include "app/reference/reference.hpp"
#include "attn/text/strings.hpp"

namespace app {
namespace {

/// A string in single quotes.
std::string fish_quoted(const std::string& text) { return "'" + escaped(text, "'\\") + "'"; }

/// The words that can stand there, as a flag of `complete`.
std::string words_of(const Takes& takes) {
    std::string words = attn::joined(words_in(takes), " ");
    if (takes.kind == Takes::Kind::folder) words = "(__fish_complete_directories)";
    if (takes.kind == Takes::Kind::list) words = "(__attn_explain_list " + words + ")";
    return words.empty() ? "" : " -a " + fish_quoted(words);
}

/// Whether file names are offered too.
std::string files_of(const Takes& takes) { return takes.kind == Takes::Kind::file ? " -F" : " -f"; }

}  // namespace

std::string fish_completion() {
    std::vector<std::string> names;
    for (const Command& command : commands()) {
        if (!command.name.empty()) names.push_back(command.name);
    }
    // Only the first word is a command; later ones are values, even where they look like one.
    std::string text =
        "# fish completion for attn-explain, made from the program's own flags.\n"
        "function __attn_explain_command\n"
        "    set -l words (commandline -opc)\n"
        "    contains -- \"$words[2]\" $argv\n"
        "end\n"
        "function __attn_explain_list\n"
        "    set -l done (string replace -r '[^,]*$' '' -- (commandline -ct))\n"
        "    printf '%s\\n' $done$argv\n"
        "end\n"
        "complete -c attn-explain -f\n";
    for (const Command& command : commands()) {
        const bool walk = command.name.empty();
        const std::string start =
            "complete -c attn-explain -n " +
            fish_quoted(walk ? "not __attn_explain_command " + attn::joined(names, " ")
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
            if (flag->takes_next_word()) text += " -r" + files_of(flag->takes) + words_of(flag->takes);
            text += "\n";
        }
        const std::vector<const Flag*> positionals = positionals_of(command);
        if (!positionals.empty()) {
            const Takes& takes = positionals.front()->takes;
            text += start + files_of(takes) + words_of(takes) + "\n";
        }
    }
    return text;
}

}  // namespace app

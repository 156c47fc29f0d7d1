#include "app/reference/description.hpp"

namespace reference {
namespace {

/// A string in single quotes.
std::string quoted(const std::string& text) { return "'" + escaped(text, "'\\") + "'"; }

/// The words that can stand there, as a flag of `complete`.
std::string words_of(const Values& values) {
    std::string words = joined(values.words, " ");
    if (values.kind == Values::Kind::folder) words = "(__fish_complete_directories)";
    if (values.kind == Values::Kind::list) words = "(__attn_explain_list " + words + ")";
    return words.empty() ? "" : " -a " + quoted(words);
}

/// Whether file names are offered too.
std::string files_of(const Values& values) {
    return values.kind == Values::Kind::file ? " -F" : " -f";
}

}  // namespace

std::string fish_completion(const std::vector<CommandDescription>& commands) {
    std::vector<std::string> names;
    for (const CommandDescription& command : commands) {
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
    for (const CommandDescription& command : commands) {
        const bool walk = command.name.empty();
        const std::string start = "complete -c attn-explain -n " +
                                  quoted(walk ? "not __attn_explain_command " + joined(names, " ")
                                              : "__attn_explain_command " + command.name);
        if (!walk) {
            text += "complete -c attn-explain -n '__attn_explain_command \"\"' -a " + command.name +
                    " -d " + quoted(command.help) + "\n";
        }
        for (const Flag& flag : command.flags) {
            text += start;
            for (const std::string& name : flag.names) {
                text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            }
            text += " -d " + quoted(flag.help);
            if (!flag.value.empty()) text += " -r" + files_of(flag.values) + words_of(flag.values);
            text += "\n";
        }
        if (!command.positionals.empty()) {
            const Values& values = command.positionals.front().values;
            text += start + files_of(values) + words_of(values) + "\n";
        }
    }
    return text;
}

}  // namespace reference

#include <algorithm>

#include "app/reference/reference.hpp"
#include "attn/text/width.hpp"

namespace app {
namespace {

constexpr std::size_t columns = 80;
constexpr std::size_t name_columns = 26;

/// An entry of a list: a name, and beside it what is to be said of it.
std::string entry(const std::string& name, const std::string& text) {
    std::string result = "  " + name;
    std::size_t used = attn::display_width(result);
    for (const std::string& line : attn::wrap(text, columns - name_columns)) {
        if (used + 2 > name_columns) {
            result += "\n";
            used = 0;
        }
        result += std::string(name_columns - used, ' ') + line;
        used = columns;
    }
    return result + "\n";
}

std::string flag_entry(const Flag& flag) {
    std::string name = flag.letter.empty() ? "    " : flag.letter + ", ";
    if (flag.is_positional() || flag.name.size() == 2) name.clear();
    name += flag.name;
    if (!flag.is_positional()) name += flag.value_text();
    return entry(name, flag.whole_help() + (flag.repeats ? "; can be repeated" : ""));
}

std::string usage(const Command& command) {
    std::string text = "Usage: attn-explain";
    if (!command.name.empty()) text += " " + command.name;
    for (const Flag* positional : positionals_of(command)) text += " " + placeholder(*positional);
    text += " [FLAGS]\n";
    if (command.name.empty()) text += "       attn-explain COMMAND [FLAGS]\n";
    return text;
}

std::string head(const Command& command) {
    const std::string name = command.name.empty() ? "" : " " + command.name;
    return "attn-explain" + name + ": " + command.help + "\n\n" + usage(command);
}

std::string command_list() {
    std::string text = "\nCommands\n";
    for (const Command& command : commands()) {
        if (!command.name.empty()) text += entry(command.name, command.help);
    }
    return text;
}

std::string example_list(const Command& command) {
    std::string text = "\nExamples\n";
    for (const Example& example : command.examples) {
        text += "  " + example.words + "\n";
        std::string before = "    $ ";
        const std::vector<std::string> lines = attn::wrap(example.line, columns - 8);
        for (const std::string& line : lines) {
            text += before + line + (&line == &lines.back() ? "\n" : " \\\n");
            before = "        ";
        }
    }
    return text;
}

}  // namespace

std::vector<const Flag*> flags_of(const Command& command) {
    std::vector<const Flag*> flags;
    for (const FlagTable table : command.tables) {
        for (const Flag& flag : table()) {
            if (!flag.is_positional()) flags.push_back(&flag);
        }
    }
    return flags;
}

std::vector<const Flag*> positionals_of(const Command& command) {
    std::vector<const Flag*> positionals;
    for (const FlagTable table : command.tables) {
        for (const Flag& flag : table()) {
            if (flag.is_positional()) positionals.push_back(&flag);
        }
    }
    return positionals;
}

std::vector<std::string> groups_of(const Command& command) {
    std::vector<std::string> groups;
    for (const Flag* flag : flags_of(command)) {
        if (std::find(groups.begin(), groups.end(), flag->group) == groups.end()) {
            groups.push_back(flag->group);
        }
    }
    return groups;
}

std::string placeholder(const Flag& positional) {
    return positional.required ? positional.name : "[" + positional.name + "]";
}

std::vector<std::string> words_in(const Takes& takes) {
    return takes.words == nullptr ? std::vector<std::string>{} : takes.words();
}

std::string escaped(const std::string& text, const std::string& characters) {
    std::string result;
    for (const char c : text) {
        if (characters.find(c) != std::string::npos) result += '\\';
        result += c;
    }
    return result;
}

std::string short_help(const Command& command) {
    std::string text = head(command) + example_list(command);
    if (command.name.empty()) text += command_list();
    const std::string name = command.name.empty() ? "" : command.name + " ";
    return text + "\nattn-explain " + name + "--help describes every flag.\n";
}

std::string whole_help(const Command& command) {
    std::string text = head(command);
    if (command.name.empty()) text += command_list();
    if (!positionals_of(command).empty()) text += "\nArguments\n";
    for (const Flag* positional : positionals_of(command)) text += flag_entry(*positional);
    for (const std::string& group : groups_of(command)) {
        text += "\n" + group + "\n";
        for (const Flag* flag : flags_of(command)) {
            if (flag->group == group) text += flag_entry(*flag);
        }
    }
    return text + example_list(command);
}

}  // namespace app

#include "app/reference/description.hpp"

namespace reference {
namespace {

/// A string in single quotes.
std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

std::string action(const Values& values) {
    const std::string words = escaped(joined(values.words, " "), ":");
    switch (values.kind) {
        case Values::Kind::any:
            return " ";
        case Values::Kind::words:
            return "(" + words + ")";
        case Values::Kind::list:
            return "_values -s , step " + words;
        case Values::Kind::cell:
            return "compadd -S \"[\" " + words;
        case Values::Kind::file:
            return values.words.empty() ? "_files" : "{_files; compadd " + words + "}";
        case Values::Kind::folder:
            return "_files -/";
    }
    return " ";
}

/// How zsh is told where the value stands: `--mask causal` and `--mask=causal`, `-o FILE` and
/// `-oFILE`.
std::string with_value(const std::string& name) { return name + (name[1] == '-' ? "=" : "+"); }

std::string specification(const Flag& flag, const std::string& name) {
    const std::string others = flag.repeats ? "*" : "(" + joined(flag.names, " ") + ")";
    const bool alone = flag.value.empty();
    std::string text =
        others + (alone ? name : with_value(name)) + "[" + escaped(flag.help, "[]\\") + "]";
    if (!alone) text += ":" + escaped(flag.value, ":\\") + ":" + action(flag.values);
    return quoted(text);
}

std::string arguments(const CommandDescription& command) {
    std::string text = "_arguments -s";
    for (const Flag& flag : command.flags) {
        for (const std::string& name : flag.names)
            text += " \\\n                " + specification(flag, name);
    }
    std::size_t number = 0;
    for (const Flag& positional : command.positionals) {
        text += " \\\n                " +
                quoted(std::to_string(++number) + ":" + escaped(positional.value, ":") + ":" +
                       action(positional.values));
    }
    return text;
}

}  // namespace

std::string zsh_completion(const std::vector<CommandDescription>& commands) {
    std::string names;
    std::string cases;
    for (const CommandDescription& command : commands) {
        if (command.name.empty()) continue;
        names += "        " + quoted(command.name + ":" + escaped(command.help, ":")) + "\n";
        cases += "        " + command.name +
                 ")\n            shift words\n            (( CURRENT-- ))\n            " +
                 arguments(command) + "\n            ;;\n";
    }
    return "#compdef attn-explain\n"
           "# zsh completion for attn-explain, made from the program's own flags.\n"
           "_attn_explain() {\n"
           "    local -a commands\n"
           "    commands=(\n" +
           names +
           "    )\n"
           "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
           "        _describe -t commands command commands\n"
           "        return\n"
           "    fi\n"
           "    case $words[2] in\n" +
           cases + "        *)\n            " + arguments(commands.front()) +
           "\n            ;;\n"
           "    esac\n"
           "}\n"
           "_attn_explain \"$@\"\n";
}

}  // namespace reference

#include "app/reference/reference.hpp"
#include "attn/text/strings.hpp"

namespace app {
namespace {

/// A string in single quotes.
std::string zsh_quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

std::string action(const Takes& takes) {
    const std::string words = escaped(attn::joined(words_in(takes), " "), ":");
    switch (takes.kind) {
        case Takes::Kind::integer:
        case Takes::Kind::number:
            break;
        case Takes::Kind::text:
        case Takes::Kind::word:
            return words.empty() ? " " : "(" + words + ")";
        case Takes::Kind::list:
            return "_values -s , step " + words;
        case Takes::Kind::cell:
            return "compadd -S \"[\" " + words;
        case Takes::Kind::file:
            return words.empty() ? "_files" : "{_files; compadd " + words + "}";
        case Takes::Kind::folder:
            return "_files -/";
    }
    return " ";
}

/// How zsh is told where the value stands: `--mask causal` and `--mask=causal`, `-o FILE` and
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

}  // namespace

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
           cases + "        *)\n            " + arguments(commands().front()) +
           "\n            ;;\n"
           "    esac\n"
           "}\n"
           "_attn_explain \"$@\"\n";
}

}  // namespace app

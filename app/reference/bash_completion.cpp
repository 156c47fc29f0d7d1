#include "app/reference/description.hpp"

namespace reference {
namespace {

std::string quoted(const std::string& text) { return "'" + text + "'"; }

/// The lines that offer what a value can be.
std::string offer(const Values& values) {
    const std::string words = quoted(joined(values.words, " "));
    switch (values.kind) {
        case Values::Kind::any:
            return "return";
        case Values::Kind::words:
            return "_attn_explain_offer " + words;
        case Values::Kind::list:
            return "_attn_explain_offer_list " + words;
        case Values::Kind::cell:
            return "compopt -o nospace; _attn_explain_offer " +
                   quoted(joined(values.words, "[ ") + "[");
        case Values::Kind::file:
            return "compopt -o filenames; _attn_explain_offer " + words +
                   "; COMPREPLY+=($(compgen -f -- \"$cur\"))";
        case Values::Kind::folder:
            return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"))";
    }
    return "return";
}

std::string command_case(const CommandDescription& command) {
    // What the flag before the cursor takes.
    std::string text = "        " + quoted(command.name) + ")\n            case $prev in\n";
    std::string names;
    for (const Flag& flag : command.flags) {
        names += (names.empty() ? "" : " ") + joined(flag.names, " ");
        if (flag.value.empty()) continue;
        text += "                " + joined(flag.names, "|") + ") " + offer(flag.values) +
                "; return;;\n";
    }
    text += "            esac\n            flags=" + quoted(names) + "\n";

    // Otherwise a flag, or the positional argument.
    text += "            [[ $cur == -* ]] && { _attn_explain_offer \"$flags\"; return; }\n";
    for (const Flag& positional : command.positionals) {
        if (&positional != &command.positionals.front()) continue;  // all take the same
        text += "            " + offer(positional.values) + "\n";
    }
    return text + "            ;;\n";
}

}  // namespace

std::string bash_completion(const std::vector<CommandDescription>& commands) {
    std::string names;
    std::string cases;
    for (const CommandDescription& command : commands) {
        if (!command.name.empty()) names += command.name + " ";
        cases += command_case(command);
    }
    return R"(# bash completion for attn-explain, made from the program's own flags.

# Offers the words that begin with what is typed.
_attn_explain_offer() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }

# The same for the last of several words with commas between them.
_attn_explain_offer_list() {
    local done=
    [[ $cur == *,* ]] && done=${cur%,*},
    compopt -o nospace
    COMPREPLY=($(compgen -P "$done" -W "$1" -- "${cur#"$done"}"))
}

_attn_explain_choose() {
    case $command in
)" + cases +
           R"(    esac
}

_attn_explain() {
    # The words as they stand on the line: readline would cut them at = and :.
    local line=${COMP_LINE:0:COMP_POINT} word cur prev command flags head
    local -a before
    word=${line##* }
    cur=$word
    read -r -a before <<<"${line% *}"
    prev=${before[${#before[@]}-1]}
    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*}
        cur=${cur#*=}
    fi
    COMPREPLY=()
    command=${before[1]-}
    case " )" +
           names + R"(" in
        *" $command "*) ;;
        *) command= ;;
    esac
    if ((${#before[@]} == 1)) && [[ $word != -* ]]; then
        _attn_explain_offer ')" +
           names + R"('
    else
        _attn_explain_choose
    fi
    # Readline keeps what stands before the last = or :.
    head=${cur%"${cur##*[=:]}"}
    ((${#COMPREPLY[@]})) && COMPREPLY=("${COMPREPLY[@]#"$head"}")
    return 0
}
complete -F _attn_explain attn-explain
)";
}

}  // namespace reference

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
            return "_attn_explain_offer_files " + words;
        case Values::Kind::folder:
            return "_attn_explain_offer_folders";
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
_attn_explain_offer() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

# The same for the last of several words with commas between them.
_attn_explain_offer_list() {
    local done=
    [[ $cur == *,* ]] && done=${cur%,*},
    compopt -o nospace
    mapfile -t COMPREPLY < <(compgen -P "$done" -W "$1" -- "${cur#"$done"}")
}

# Offers words, and files.
_attn_explain_offer_files() {
    local -a files
    compopt -o filenames
    mapfile -t files < <(compgen -f -- "$cur")
    _attn_explain_offer "$1"
    COMPREPLY+=("${files[@]}")
}

_attn_explain_offer_folders() {
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
}

# Cuts the line before the cursor into the words that the program would get. Readline's own are
# cut at = and : too, and keep their quotes.
_attn_explain_cut() {
    local line=${COMP_LINE:0:COMP_POINT} quote= character i
    words=('')
    for ((i = 0; i < ${#line}; ++i)); do
        character=${line:i:1}
        case $quote$character in
            "''" | '""') quote= ;;
            "'" | '"') quote=$character ;;
            \\ | '"\') ((++i)) && words[-1]+=${line:i:1} ;;
            [[:blank:]]) [[ ${words[-1]} ]] && words+=('') ;;
            *) words[-1]+=$character ;;
        esac
    done
}

_attn_explain_choose() {
    case $command in
)" + cases +
           R"(    esac
}

_attn_explain() {
    local -a words
    local word cur prev command flags assigned= breaks= kept=
    _attn_explain_cut
    word=${words[-1]}
    cur=$word
    prev=${words[-2]-}
    if [[ $word == --*=* ]]; then
        prev=${word%%=*}
        assigned=$prev=
        cur=${word#"$assigned"}
    fi
    COMPREPLY=()
    command=${words[1]-}
    case " )" +
           names + R"(" in
        *" $command "*) ;;
        *) command= ;;
    esac
    if ((${#words[@]} == 2)) && [[ $word != -* ]]; then
        _attn_explain_offer ')" +
           names + R"('
    else
        _attn_explain_choose
    fi
    # Readline keeps what stands before the last = or :, where it cuts words there.
    [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='
    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'
    [[ $breaks ]] && kept=${word%"${word##*[$breaks]}"}
    if ((${#COMPREPLY[@]})); then
        COMPREPLY=("${COMPREPLY[@]/#/$assigned}")
        COMPREPLY=("${COMPREPLY[@]#"$kept"}")
    fi
    return 0
}
complete -F _attn_explain attn-explain
)";
}

}  // namespace reference

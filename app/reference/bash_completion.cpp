#include "app/reference/reference.hpp"
#include "attn/text/strings.hpp"

namespace app {
namespace {

std::string bash_quoted(const std::string& text) { return "'" + text + "'"; }

/// The lines that offer what a value can be.
std::string offer(const Takes& takes) {
    const std::vector<std::string> all = words_in(takes);
    const std::string words = bash_quoted(attn::joined(all, " "));
    switch (takes.kind) {
        case Takes::Kind::integer:
        case Takes::Kind::number:
            break;
        case Takes::Kind::text:
        case Takes::Kind::word:
            if (!all.empty()) return "_attn_explain_offer " + words;
            break;
        case Takes::Kind::list:
            return "_attn_explain_offer_list " + words;
        case Takes::Kind::cell:
            return "compopt -o nospace; _attn_explain_offer " +
                   bash_quoted(attn::joined(all, "[ ") + "[");
        case Takes::Kind::file:
            return "_attn_explain_offer_files " + words;
        case Takes::Kind::folder:
            return "_attn_explain_offer_folders";
    }
    return "return";
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
    const std::vector<const Flag*> positionals = positionals_of(command);  // all take the same
    if (!positionals.empty()) text += "            " + offer(positionals.front()->takes) + "\n";
    return text + "            ;;\n";
}

}  // namespace

std::string bash_completion() {
    std::string names;
    std::string cases;
    for (const Command& command : commands()) {
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

}  // namespace app

#include <fmt/format.h>

#include "app/reference/reference.hpp"
#include "attn/text/strings.hpp"

namespace app {
namespace {

std::string bash_quoted(const std::string& text) { return "'" + text + "'"; }

using Kind = Takes::Kind;

/// How the shells offer what a value can be; `{}` stands for its words.
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
    const std::vector<const Flag*> positionals = positionals_of(command);  // all take the same
    if (!positionals.empty()) text += "            " + offer(positionals.front()->takes) + "\n";
    return text + "            ;;\n";
}

/// A string in single quotes.
std::string zsh_quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

std::string action(const Takes& takes) {
    return with_words(offer_of(takes).zsh, escaped(attn::joined(takes.words(), " "), ":"));
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

/// A string in single quotes.
std::string fish_quoted(const std::string& text) { return "'" + escaped(text, "'\\") + "'"; }

/// What can stand there, as flags of `complete`.
std::string fish_offer(const Takes& takes) {
    return with_words(offer_of(takes).fish, escaped(attn::joined(takes.words(), " "), "'\\"));
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

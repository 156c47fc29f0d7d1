# bash completion for attn-explain, made from the program's own flags.

# Offers the words that begin with what is typed.
_attn_explain_offer() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

# Offers them for the last of several words with commas between them.
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
{CASES}    esac
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
    case " {NAMES}" in
        *" $command "*) ;;
        *) command= ;;
    esac
    if ((${#words[@]} == 2)) && [[ $word != -* ]]; then
        _attn_explain_offer '{NAMES}'
    else
        _attn_explain_choose
    fi
    # Readline keeps what is before the last = or :, where it cuts words there.
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

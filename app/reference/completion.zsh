#compdef attn-explain
# zsh completion for attn-explain, made from the program's own flags.
_attn_explain() {
    local -a commands
    commands=(
{NAMES}    )
    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        _describe -t commands command commands
        return
    fi
    case $words[2] in
{CASES}        *)
            {WALK}
            ;;
    esac
}
_attn_explain "$@"

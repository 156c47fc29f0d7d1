# fish completion for attn-explain, made from the program's own flags.
function __attn_explain_command
    set -l words (commandline -opc)
    contains -- "$words[2]" $argv
end
function __attn_explain_list
    set -l done (string replace -r '[^,]*$' '' -- (commandline -ct))
    printf '%s\n' $done$argv
end
complete -c attn-explain -f

// Texts laid into the program as they are (see app/CMakeLists.txt).
#include "attn/ground/embed.h"
        .macro  text name, file
        at_label \name
        .incbin "\file"
        .byte   0
        .endm

        embedded
        text    attn_tour, tour.md
        text    attn_probe_program, commands/probe.py
        text    attn_verified, reference/verified.txt
        text    attn_words, reference/words.txt
        text    attn_bash_completion, reference/completion.bash
        text    attn_zsh_completion, reference/completion.zsh
        text    attn_fish_completion, reference/completion.fish
        text    attn_play_css, web/page/play.css
        text    attn_play, web/page/play.js
        text    attn_play_worker, web/page/play_worker.js

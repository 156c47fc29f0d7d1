// Texts that are embedded in the program (see app/CMakeLists.txt).
#include "attn/ground/embed.h"
        embedded
        lay     attn_tour, tour.md
        lay     attn_probe_program, commands/probe.py
        lay     attn_verified, reference/verified.txt
        lay     attn_words, reference/words.txt
        lay     attn_bash_completion, reference/completion.bash
        lay     attn_zsh_completion, reference/completion.zsh
        lay     attn_fish_completion, reference/completion.fish
        lay     attn_python_stub, python/attn_explain.pyi.in
        lay     attn_play_css, web/page/play.css
        lay     attn_play, web/page/play.js
        lay     attn_play_worker, web/page/play_worker.js
// The program for node cannot run other programs.
#ifndef ATTN_WHOLE
        lay     attn_python_module, python/attn_explain.py
        lay     attn_python_tracer, python/attn_trace.py
        lay     attn_practice_numpy, practice_numpy.txt
        lay     attn_practice_torch, practice_torch.txt
#endif

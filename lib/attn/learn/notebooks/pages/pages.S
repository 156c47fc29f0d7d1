// The words and lines of the four notebooks, laid into the program as they are: one block for each
// section, whose fields NotebookBuilder reads.
#include "attn/ground/embed.h"
        .macro  page name, file
        at_label attn_notebook_\name
        .incbin "\file"
        .byte   0
        .endm

        embedded
        page    padding_heads, padding-heads.txt
        page    numpy_loops, numpy-loops.txt
        page    causal_heads, causal-heads.txt
        page    sentence, sentence.txt

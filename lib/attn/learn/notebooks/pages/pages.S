// The words and lines of the four notebooks, laid into the program as they are: one block for each
// section, whose fields NotebookBuilder reads.
        .macro  page name, file
        .globl  attn_notebook_\name
attn_notebook_\name:
        .incbin "\file"
        .byte   0
        .endm

        .section .rodata
        page    padding_heads, padding-heads.txt
        page    numpy_loops, numpy-loops.txt
        page    causal_heads, causal-heads.txt
        page    sentence, sentence.txt

        .section .note.GNU-stack, "", %progbits

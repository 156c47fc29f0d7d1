// The pages of the tour, laid into the program as they are (see app/CMakeLists.txt).
        .section .rodata
        .globl  attn_tour
attn_tour:
        .incbin "tour.md"
        .byte   0

        .section .note.GNU-stack, "", %progbits

// What other code calls the steps, laid into the program as it is: names.cpp reads it.
        .section .rodata
        .globl  attn_known_names
attn_known_names:
        .incbin "names.txt"
        .byte   0

        .section .note.GNU-stack, "", %progbits

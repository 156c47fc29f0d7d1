// What the families of models are, laid into the program as it is: hf_families.cpp reads it.
        .section .rodata
        .globl  attn_model_families
attn_model_families:
        .incbin "families.json"
        .byte   0

        .section .note.GNU-stack, "", %progbits

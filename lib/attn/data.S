// Texts that the library reads, laid into it as they are.
        .macro  lay name, file
        .globl  \name
\name:
        .incbin "\file"
        .byte   0
        .endm

        .section .rodata
        lay     attn_known_names, names.txt
        lay     attn_model_families, families.json
        lay     attn_lint_rules, rules.txt
        lay     attn_attentions, attentions.txt

        .section .note.GNU-stack, "", %progbits

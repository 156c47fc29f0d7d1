// Assembler macros to embed files, for processors and WebAssembly: `embedded` begins the section,
// `at_label NAME` names a place in it, `lay NAME, FILE` embeds a text there.
#ifdef __wasm__
        .macro  embedded
        .section .rodata.embedded, "", @
        .endm
        .macro  at_label name
        .globl  \name
        .type   \name, @object
        .size   \name, 1
\name:
        .endm
#else
        .section .note.GNU-stack, "", %progbits
        .macro  embedded
        .section .rodata
        .endm
        .macro  at_label name
        .globl  \name
\name:
        .endm
#endif
        .macro  lay name, file
        at_label \name
        .incbin "\file"
        .byte   0
        .endm

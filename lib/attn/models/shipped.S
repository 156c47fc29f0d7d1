// The models that need no file, laid into the program as they are: as a C++ array a million numbers
// would take the compiler seconds. The assembler looks for the files in data/models.
        .macro  ship name, file
        .balign 64
        .globl  \name\()_begin
        .globl  \name\()_end
\name\()_begin:
        .incbin "\file"
\name\()_end:
        .endm

        .section .rodata
        ship    attn_stories, stories260K.bin
        ship    attn_stories_tokenizer, tok512.bin
        ship    attn_sorter, gpt-nano-sort-model.json

        .section .note.GNU-stack, "", %progbits

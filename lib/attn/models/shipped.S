// The embedded model: as a C++ array, a million numbers would take the compiler seconds. The
// assembler finds the files in data/models.
#include "attn/ground/embed.h"
        .macro  ship name, file
        .balign 64
        at_label \name\()_begin
        .incbin "\file"
        at_label \name\()_end
        .endm

        embedded
        ship    attn_stories, stories260K.bin
        ship    attn_stories_tokenizer, tok512.bin

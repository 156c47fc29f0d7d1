// Space for the model of a page, at the address where the program expects its own (shipped.S).
#include "attn/ground/embed.h"
        embedded
        .balign 64
        at_label attn_stories_begin
        .skip   ATTN_STORIES_SIZE
        at_label attn_stories_end
        at_label attn_stories_tokenizer_begin
        .skip   ATTN_TOKENIZER_SIZE
        at_label attn_stories_tokenizer_end
        .skip   4
        .byte   0

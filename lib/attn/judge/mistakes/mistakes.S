// The texts of data/mistakes, one after the other, laid into the program as they are.
#include "attn/ground/embed.h"
        embedded
        at_label attn_mistakes
        .incbin "mistakes.txt"
        .byte   0

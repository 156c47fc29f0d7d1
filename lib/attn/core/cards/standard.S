// The text of attention, laid into the program as it is: standard.attn, then its variants.
#include "attn/ground/embed.h"
        embedded
        at_label attn_standard
        .incbin "standard.txt"
        .byte   0

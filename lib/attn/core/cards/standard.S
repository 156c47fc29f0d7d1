// The text of attention, embedded: standard.attn, then its variants.
#include "attn/ground/embed.h"
        embedded
        lay     attn_standard, standard.txt

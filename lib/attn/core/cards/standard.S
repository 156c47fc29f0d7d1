// The text of attention, laid into the program as it is: standard.attn, then its variants.
#include "attn/ground/embed.h"
        embedded
        lay     attn_standard, standard.txt

// The texts of data/mistakes, one after the other.
#include "attn/ground/embed.h"
        embedded
        lay     attn_mistakes, mistakes.txt

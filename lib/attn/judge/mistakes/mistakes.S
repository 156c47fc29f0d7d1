// The texts of data/mistakes, joined.
#include "attn/ground/embed.h"
        embedded
        lay     attn_mistakes, mistakes.txt

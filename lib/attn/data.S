// Texts of data that the library reads, laid into it as they are.
#include "attn/ground/embed.h"
        embedded
        lay     attn_attentions, attentions.txt
        lay     attn_laws, laws.txt
        lay     attn_examples, examples.txt

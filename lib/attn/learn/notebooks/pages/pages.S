// The words and code of the four notebooks, embedded: one block per section, parsed by
// NotebookBuilder.
#include "attn/ground/embed.h"
        embedded
        lay     attn_notebook_padding_heads, padding-heads.txt
        lay     attn_notebook_numpy_loops, numpy-loops.txt
        lay     attn_notebook_causal_heads, causal-heads.txt
        lay     attn_notebook_sentence, sentence.txt

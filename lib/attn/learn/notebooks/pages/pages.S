// The words and lines of the four notebooks, laid into the program as they are: one block for each
// section, whose fields NotebookBuilder reads.
#include "attn/ground/embed.h"
        embedded
        lay     attn_notebook_padding_heads, padding-heads.txt
        lay     attn_notebook_numpy_loops, numpy-loops.txt
        lay     attn_notebook_causal_heads, causal-heads.txt
        lay     attn_notebook_sentence, sentence.txt

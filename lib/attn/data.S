// Texts that the library reads, laid into it as they are.
#include "attn/ground/embed.h"
        .macro  lay name, file
        at_label \name
        .incbin "\file"
        .byte   0
        .endm

        embedded
        lay     attn_known_names, names.txt
        lay     attn_model_families, families.json
        lay     attn_lint_rules, rules.txt
        lay     attn_attentions, attentions.txt
        lay     attn_laws, laws.txt
        lay     attn_examples, examples.txt

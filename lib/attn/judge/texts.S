// What other code calls the steps, and what lint teaches.
#include "attn/ground/embed.h"
        embedded
        lay     attn_known_names, names.txt
        lay     attn_lint_rules, rules.txt

// The table of model families.
#include "attn/ground/embed.h"
        embedded
        lay     attn_model_families, families.json

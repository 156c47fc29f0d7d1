// What families of models are.
#include "attn/ground/embed.h"
        embedded
        lay     attn_model_families, families.json

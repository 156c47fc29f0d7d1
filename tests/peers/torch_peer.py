"""Attention with PyTorch: `sdpa`, its own scaled_dot_product path, or `naive`, three operations."""

import math
import sys

import torch
from peer import serve

own = getattr(torch.nn.functional, "scaled_dot_product_attention", None) or getattr(
    torch.nn.functional, "_scaled_dot_product_attention", None
)


def prepare(query, key, value, causal, threads):
    torch.set_num_threads(threads)
    query, key, value = (torch.from_numpy(array)[None] for array in (query, key, value))
    hidden = torch.triu(torch.ones(query.shape[2], query.shape[2], dtype=torch.bool), 1)

    def naive():
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[3])
        if causal:
            scores = scores.masked_fill(hidden, -math.inf)
        return (torch.softmax(scores, dim=3) @ value)[0]

    def sdpa():
        result = own(query, key, value, is_causal=causal)
        return (result[0] if isinstance(result, tuple) else result)[0]

    return naive if sys.argv[1] == "naive" else sdpa


with torch.no_grad():
    serve(prepare)

# Runs your attention on a probe and saves its tensors for attn-explain diagnose.
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

here = pathlib.Path(__file__).resolve().parent
with np.load(here / "{probe}") as file:
    p = {name: torch.from_numpy(file[name]) for name in file.files}

def attention(x, hidden, heads):
    """x is (batch, token, feature); hidden (batch, 1, query, key), true where a key is hidden."""
    # ---- your own code from here on; any names and layouts will do ----
    B, T, C = x.shape
    q, k, v = (F.linear(x, p["w_" + name], p["b_" + name]).view(B, T, heads, -1).transpose(1, 2)
               for name in ("query", "key", "value"))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    attn = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
    context = (attn @ v).transpose(1, 2).reshape(B, T, -1)
    output = F.linear(context, p["w_output"], p["b_output"])
    # ---- to here: return everything that your code makes, under your names ----
    return dict(q=q, k=k, v=v, attn=attn, context=context, output=output)

tensors = attention(p["x"], p["mask"], int(p["heads"]))
np.savez(here / "{mine}", **{name: t.detach().float().numpy() for name, t in tensors.items()})
print("now: attn-explain diagnose {mine} --given {probe}")

#!/usr/bin/python3
"""Attention as people write it, with one mistake each, and the tensors that this code returns.

    tests/judge/mistakes/wrong_code.py build/dev/app/attn-explain

Each function below is written as its author would have written it: in PyTorch or NumPy, in the style
of a course, a model's source or a forum, with its own mask and fill value, and independent of how
attn-explain makes the mistake. It returns the tensors that its author has. They are written to
data/reference/wrong/, a small .npz for each function, next to index.json: the intended walk (flags of
attn-explain), the id that `diagnose` should name or "none", and the ids that give the same numbers
there. tests/judge/mistakes/wrong_code_test.cpp reads that folder.

The inputs are those of `attn-explain probe`, those of a walk that the program writes, or draws of the
function. Needs PyTorch and NumPy and is not run by the tests: run it after adding a function, and
commit the data that it writes.
"""

import json
import math
import pathlib
import shlex
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "data" / "reference" / "wrong"
PROBE = ("--heads 2 --bias --output-projection --output-bias --mask causal,padding "
         "--lengths 5,3,5")
LENGTHS = torch.tensor([5, 3, 5])
INF = float("inf")
works = []


def work(walk, expects, alike=(), given=None):
    """Registers a function with the intended walk and its mistake.

    given="probe" passes it the probe's tensors, given="walk" those that the program writes for the
    walk's flags; otherwise the function draws its own.
    """
    def register(function):
        works.append((function, walk, expects, sorted(alike), given))
        return function
    return register


def on_probe(expects, alike=()):
    return work(PROBE, expects, alike, "probe")


def linear(given, name):
    """An nn.Linear with the parameters of one projection."""
    weight = given["w_" + name]
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias="b_" + name in given)
    layer.weight = nn.Parameter(weight)
    if layer.bias is not None:
        layer.bias = nn.Parameter(given["b_" + name])
    return layer


def projections(given):
    return [linear(given, name) for name in ("query", "key", "value", "output")]


# --- correct code, in four manners -------------------------------------------------------------


@on_probe("none")
def annotated_right(given):
    """After the annotated Transformer: mask of ones for kept cells, filled with -1e9."""
    w_q, w_k, w_v, w_o = projections(given)
    x, (n, t, c), h = given["x"], given["x"].shape, 2
    q, k, v = [w(x).view(n, t, h, c // h).transpose(1, 2) for w in (w_q, w_k, w_v)]
    keep = torch.tril(torch.ones(t, t)) * (torch.arange(t) < LENGTHS[:, None])[:, None, None, :]
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(c // h)
    p_attn = F.softmax(scores.masked_fill(keep == 0, -1e9), dim=-1)
    joined = torch.matmul(p_attn, v).transpose(1, 2).contiguous().view(n, t, c)
    return {"weights": p_attn, "output": w_o(joined)}


@on_probe("none")
def einsum_right(given):
    """einsum throughout, no view of a transposed tensor anywhere."""
    x, heads = given["x"], 2
    n, length, embed = x.shape
    w_q, w_k, w_v, fc_out = projections(given)
    queries, keys, values = [w(x).reshape(n, length, heads, embed // heads)
                             for w in (w_q, w_k, w_v)]
    energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
    energy = energy.masked_fill(given["mask"], float("-1e20"))
    attention = torch.softmax(energy / (embed // heads) ** 0.5, dim=3)
    out = torch.einsum("nhql,nlhd->nqhd", [attention, values]).reshape(n, length, embed)
    return {"attention": attention, "output": fc_out(out)}


@on_probe("none")
def library_right(given):
    """nn.MultiheadAttention with the probe's parameters loaded."""
    mha = nn.MultiheadAttention(8, 2, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.cat([given["w_" + n] for n in ("query", "key", "value")]))
        mha.in_proj_bias.copy_(torch.cat([given["b_" + n] for n in ("query", "key", "value")]))
        mha.out_proj.weight.copy_(given["w_output"])
        mha.out_proj.bias.copy_(given["b_output"])
    x = given["x"]
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), diagonal=1)
    padding = torch.arange(5) >= LENGTHS[:, None]
    output, weights = mha(x, x, x, attn_mask=causal, key_padding_mask=padding,
                          average_attn_weights=False)
    return {"weights": weights, "output": output}


@on_probe("none")
def numpy_loops_right(given):
    """float64 and four nested loops, one row at a time."""
    a = {name: tensor.double().numpy() for name, tensor in given.items() if name != "mask"}
    q, k, v = [a["x"] @ a["w_" + n].T + a["b_" + n] for n in ("query", "key", "value")]
    result = np.zeros_like(a["x"])
    for b in range(3):
        for h in range(2):
            cols = slice(4 * h, 4 * h + 4)
            for i in range(5):
                seen = min(i + 1, int(LENGTHS[b]))
                s = np.array([q[b, i, cols] @ k[b, j, cols] / 2 for j in range(seen)])
                e = np.exp(s - s.max())
                result[b, i, cols] = (e / e.sum()) @ v[b, :seen, cols]
    return {"output": result @ a["w_output"].T + a["b_output"]}


@on_probe("none")
def extended_mask_right(given):
    """After BERT: the mask becomes 0 and -10000 and is added."""
    query, key, value, dense = projections(given)
    hidden_states = given["x"]

    def transpose_for_scores(z):
        return z.view(*z.shape[:-1], 2, 4).permute(0, 2, 1, 3)

    q, k, v = [transpose_for_scores(f(hidden_states)) for f in (query, key, value)]
    extended = (1.0 - (~given["mask"]).float()) * -10000.0
    masked = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(4) + extended
    probs = nn.Softmax(dim=-1)(masked)
    context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous().view(3, 5, 8)
    return {"masked_scores": masked, "weights": probs, "output": dense(context)}


@work("--seed 1337 --batch 4 --seq-len 8 --embed-dim 32 --head-dim 16 --draw-order kqv "
      "--mask causal", "none")
def lecture_head_right():
    """The head of a well-known lecture, with a buffer of ones and a multiplied scale."""
    torch.manual_seed(1337)
    x = torch.randn(4, 8, 32)
    key, query, value = [nn.Linear(32, 16, bias=False) for _ in range(3)]
    wei = query(x) @ key(x).transpose(-2, -1) * 16 ** -0.5
    wei = wei.masked_fill(torch.tril(torch.ones(8, 8)) == 0, -INF)
    return {"context": F.softmax(wei, dim=-1) @ value(x)}


# --- scale -------------------------------------------------------------------------------------


@on_probe("scale-missing")
def forgets_to_scale(given):
    w_q, w_k, w_v, w_o = projections(given)
    x, (b, t, e) = given["x"], given["x"].shape

    def split(z):
        return z.reshape(b, t, 2, e // 2).permute(0, 2, 1, 3)

    q, k, v = split(w_q(x)), split(w_k(x)), split(w_v(x))
    attn = (q @ k.transpose(-1, -2)).masked_fill(given["mask"], -INF).softmax(-1)
    return {"output": w_o((attn @ v).permute(0, 2, 1, 3).reshape(b, t, e))}


@work("--seed 1337 --batch 4 --seq-len 8 --embed-dim 32 --head-dim 16 --draw-order kqv "
      "--mask causal", "scale-dmodel")
def lecture_scales_by_embedding():
    """C is at hand from unpacking x.shape, and is not the size of the head."""
    torch.manual_seed(1337)
    x = torch.randn(4, 8, 32)
    B, T, C = x.shape
    key, query, value = [nn.Linear(C, 16, bias=False) for _ in range(3)]
    wei = query(x) @ key(x).transpose(-2, -1) * C ** -0.5
    wei = wei.masked_fill(torch.tril(torch.ones(T, T)) == 0, -INF)
    return {"out": F.softmax(wei, dim=-1) @ value(x)}


@on_probe("scale-dmodel")
def divides_energy_by_embed_size(given):
    values, keys, queries, fc_out = [linear(given, n) for n in ("value", "key", "query", "output")]
    x, N, L, embed_size, heads = given["x"], 3, 5, 8, 2
    head_dim = embed_size // heads
    v, k, q = [f(x).reshape(N, L, heads, head_dim) for f in (values, keys, queries)]
    energy = torch.einsum("nqhd,nkhd->nhqk", [q, k]).masked_fill(given["mask"], float("-1e20"))
    attention = torch.softmax(energy / (embed_size ** (1 / 2)), dim=3)
    out = torch.einsum("nhql,nlhd->nqhd", [attention, v]).reshape(N, L, heads * head_dim)
    return {"output": fc_out(out)}


@on_probe("scale-twice")
def divides_by_head_dim(given):
    """d_k in place of its square root."""
    w_q, w_k, w_v, w_o = projections(given)
    x, d_k = given["x"], 4
    q, k, v = [w(x).view(3, 5, 2, d_k).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = torch.matmul(q, k.transpose(-2, -1)) / d_k
    p = scores.masked_fill(given["mask"], -1e9).softmax(dim=-1)
    return {"output": w_o(torch.matmul(p, v).transpose(1, 2).reshape(3, 5, 2 * d_k))}


@on_probe("scale-multiplied")
def divides_by_a_negative_power(given):
    """scale = head_dim ** -0.5, and then a division."""
    x, scale = given["x"], 4 ** -0.5
    q, k, v = [linear(given, n)(x).unflatten(-1, (2, 4)).transpose(1, 2)
               for n in ("query", "key", "value")]
    dots = torch.einsum("bhid,bhjd->bhij", q, k) / scale
    dots.masked_fill_(given["mask"], -torch.finfo(dots.dtype).max)
    out = torch.einsum("bhij,bhjd->bhid", dots.softmax(dim=-1), v)
    return {"output": linear(given, "output")(out.transpose(1, 2).flatten(2))}


@work("--seed 7 --batch 2 --seq-len 7 --heads 2 --head-dim 5", "scale-seq-len")
def size_of_the_wrong_axis():
    """q.size(-2) is the number of tokens once the heads are in front."""
    torch.manual_seed(7)
    x = torch.randn(2, 7, 10)
    q, k, v = [nn.Linear(10, 10, bias=False)(x).view(2, 7, 2, 5).transpose(1, 2) for _ in range(3)]
    w = F.softmax(q @ k.mT / math.sqrt(q.size(-2)), dim=-1)
    return {"merged": (w @ v).transpose(1, 2).reshape(2, 7, 10)}


@work("--seed 3 --batch 2 --seq-len 6 --heads 3 --head-dim 4", "scale-num-heads")
def root_of_the_heads():
    torch.manual_seed(3)
    n_heads, d_head = 3, 4
    x = torch.randn(2, 6, n_heads * d_head)
    layers = [nn.Linear(12, 12, bias=False) for _ in range(3)]
    q, k, v = [layer(x).view(2, 6, n_heads, d_head).permute(0, 2, 1, 3) for layer in layers]
    attention = torch.softmax(q @ k.permute(0, 1, 3, 2) / np.sqrt(n_heads), dim=-1)
    return {"attention": attention, "context": attention @ v}


@on_probe("scale-after-softmax")
def softmax_then_scale(given):
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    weights = F.softmax((q @ k.transpose(2, 3)).masked_fill(given["mask"], -INF), dim=-1)
    weights = weights / math.sqrt(k.size(-1))
    return {"output": w_o((weights @ v).transpose(1, 2).reshape(3, 5, 8))}


# --- softmax -----------------------------------------------------------------------------------


@on_probe("softmax-axis=head")
def softmax_without_dim(given):
    """F.softmax uses axis 1 of a 4-D tensor, and warns once."""
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = q @ k.transpose(-2, -1) / 4 ** 0.5
    attn = F.softmax(scores.masked_fill(given["mask"], -1e9))
    return {"output": w_o((attn @ v).transpose(1, 2).reshape(3, 5, 8))}


@work("--seed 11 --batch 3 --seq-len 4 --head-dim 6 --mask causal", "softmax-axis=batch")
def softmax_without_dim_on_three_axes():
    """The same call uses axis 0 of a 3-D tensor; -inf would give nan, so the fill is -1e9."""
    torch.manual_seed(11)
    x = torch.randn(3, 4, 6)
    to_q, to_k, to_v = [nn.Linear(6, 6, bias=False) for _ in range(3)]
    sim = torch.bmm(to_q(x), to_k(x).transpose(1, 2)) / math.sqrt(6)
    sim = sim.masked_fill(torch.ones(4, 4).triu(1).bool(), -1e9)
    attn = nn.Softmax()(sim)
    return {"weights": attn, "context": torch.bmm(attn, to_v(x))}


@work("--seed 1337 --batch 4 --seq-len 8 --embed-dim 32 --head-dim 16 --draw-order kqv "
      "--mask causal", "softmax-axis=query")
def lecture_softmax_over_time():
    """dim=1 was right for (T, T) and was kept when a batch axis was added."""
    torch.manual_seed(1337)
    x = torch.randn(4, 8, 32)
    key, query, value = [nn.Linear(32, 16, bias=False) for _ in range(3)]
    wei = query(x) @ key(x).transpose(-2, -1) * 16 ** -0.5
    wei = F.softmax(wei.masked_fill(torch.tril(torch.ones(8, 8)) == 0, -INF), dim=1)
    return {"out": wei @ value(x)}


@work("--rng numpy --seed 0 --seq-len 5 --embed-dim 6 --head-dim 3", "softmax-axis=all")
def softmax_of_everything():
    np.random.seed(0)
    x = np.random.randn(5, 6)
    Wq, Wk, Wv = np.random.randn(6, 3), np.random.randn(6, 3), np.random.randn(6, 3)

    def softmax(z):
        e = np.exp(z - np.max(z))
        return e / np.sum(e)

    attention = softmax((x @ Wq) @ (x @ Wk).T / np.sqrt(3))
    return {"context": attention @ (x @ Wv)}


@work("--rng numpy --seed 5 --seq-len 4 --embed-dim 5 --head-dim 5", "softmax-axis=one")
def softmax_along_a_column():
    """Each score is a column, and axis=1 of a column has one cell."""
    np.random.seed(5)
    words = np.random.randn(4, 5)
    w_query, w_key, w_value = [np.random.randn(5, 5) for _ in range(3)]
    answers = []
    for i in range(4):
        query = words[i:i + 1] @ w_query
        score = (words @ w_key) @ query.T / np.sqrt(5)
        prob = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
        answers.append((prob * (words @ w_value)).sum(axis=0))
    return {"answers": np.stack(answers)}


@work("--rng numpy --seed 4 --seq-len 6 --embed-dim 200 --head-dim 100 --scale none "
      "--dtype float32", "softmax-overflow", given="walk")
def exp_of_large_scores(given):
    """No maximum is subtracted, and float32 ends at exp(88.7)."""
    x = given["x"].numpy()
    q, k, v = [x @ given["w_" + n].numpy() for n in ("query", "key", "value")]
    s = q @ k.T
    e = np.exp(s)
    return {"weights": e / e.sum(axis=-1, keepdims=True)}


@work("--seed 21 --batch 2 --seq-len 5 --heads 2 --head-dim 4 --mask causal", "dropout-at-eval",
      given="walk")
def dropout_ignores_eval(given):
    """F.dropout is on by default; p is 0.2 here."""
    x = given["x"]
    q, k, v = [F.linear(x, given["w_" + n]).view(2, 5, 2, 4).transpose(1, 2)
               for n in ("query", "key", "value")]
    torch.manual_seed(0)
    causal = torch.full((5, 5), -INF).triu(1)
    attn = F.dropout(F.softmax(q @ k.transpose(-2, -1) / 2 + causal, dim=-1), p=0.2)
    return {"attn": attn, "context": attn @ v}


@work("--projection mha --heads 2 --bias --batch 2 --seq-len 5 --seed 9", "weights-averaged")
def library_averages_heads():
    torch.manual_seed(9)
    x = torch.randn(2, 5, 8)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    output, weights = attention(x, x, x)
    return {"attention": weights, "output": output}


# --- mask --------------------------------------------------------------------------------------


@on_probe("mask-not-applied")
def forgets_the_result_of_masked_fill(given):
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = q @ k.transpose(-2, -1) / math.sqrt(4)
    scores.masked_fill(given["mask"], -INF)
    return {"output": w_o((scores.softmax(-1) @ v).transpose(1, 2).reshape(3, 5, 8))}


@on_probe("mask-times-zero", alike=["mask-tiny-fill"])
def multiplies_by_the_mask(given):
    w_q, w_k, w_v, w_o = projections(given)
    x, keep = given["x"], (~given["mask"]).float()
    q, k, v = [w(x).reshape(3, 5, 2, 4).swapaxes(1, 2) for w in (w_q, w_k, w_v)]
    attention_scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(4) * keep
    probs = nn.Softmax(dim=-1)(attention_scores)
    return {"output": w_o(torch.matmul(probs, v).permute(0, 2, 1, 3).reshape(3, 5, 8))}


@on_probe("mask-tiny-fill", alike=["mask-times-zero"])
def fills_with_a_tiny_number(given):
    """1e-9 for -1e9."""
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, -1, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(4)
    scores = scores.masked_fill(given["mask"], 1e-9)
    x = torch.matmul(F.softmax(scores, dim=-1), v)
    return {"output": w_o(x.transpose(1, 2).contiguous().view(3, -1, 8))}


@on_probe("mask-after-softmax")
def zeroes_weights(given):
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    weights = torch.softmax(q @ k.transpose(-2, -1) * 4 ** -0.5, dim=-1)
    weights = weights * ~given["mask"]
    return {"output": w_o((weights @ v).transpose(1, 2).flatten(2))}


@on_probe("mask-inverted")
def mask_of_the_other_meaning(given):
    """A mask whose True hides, read as one whose 1 keeps; filled with -1e9."""
    w_q, w_k, w_v, w_o = projections(given)
    x, mask = given["x"], given["mask"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(4)
    p_attn = scores.masked_fill(mask == 0, -1e9).softmax(dim=-1)
    return {"output": w_o(torch.matmul(p_attn, v).transpose(1, 2).reshape(3, 5, 8))}


@on_probe("mask-added-bool=keep")
def adds_ones_for_kept_keys(given):
    """BERT's mask of ones added as it is, without (1 - mask) * -10000."""
    x, attention_mask = given["x"], (~given["mask"]).long()
    query, key, value, dense = projections(given)

    def transpose_for_scores(z):
        return z.view(*z.shape[:-1], 2, 4).permute(0, 2, 1, 3)

    q, k, v = [transpose_for_scores(f(x)) for f in (query, key, value)]
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(4) + attention_mask
    context = torch.matmul(scores.softmax(dim=-1), v).permute(0, 2, 1, 3).contiguous()
    return {"output": dense(context.view(3, 5, 8))}


@on_probe("mask-added-bool=hidden")
def adds_a_boolean_mask(given):
    """True for hidden becomes 1 when it is added."""
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = q @ k.transpose(-2, -1) / 2
    scores += given["mask"]
    return {"output": w_o((F.softmax(scores, -1) @ v).transpose(1, 2).reshape(3, 5, 8))}


@on_probe("mask-sign=plus")
def fills_with_plus_infinity(given):
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    masked = torch.where(given["mask"], torch.tensor(INF), q @ k.transpose(-2, -1) / 2)
    weights = masked.softmax(-1)
    return {"masked_scores": masked, "weights": weights}


@on_probe("mask-fp16")
def masks_in_half_precision(given):
    """Scores and mask in float16, as a model loaded that way has them."""
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    additive = torch.zeros(3, 1, 5, 5).masked_fill(given["mask"], torch.finfo(torch.float16).min)
    masked = (q @ k.transpose(-2, -1) / 2).half() + additive.half()
    weights = masked.float().softmax(-1)
    return {"output": w_o((weights @ v).transpose(1, 2).reshape(3, 5, 8))}


@on_probe("causal-diag-minus1")
def strictly_lower_triangle(given):
    """tril(diagonal=-1) filled with -1e9: the first token sees all evenly instead of itself."""
    w_q, w_k, w_v, w_o = projections(given)
    x, T = given["x"], 5
    q, k, v = [w(x).view(3, T, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    real = (torch.arange(T) < LENGTHS[:, None])[:, None, None, :]
    keep = torch.tril(torch.ones(T, T), diagonal=-1).bool() & real
    att = (q @ k.transpose(-2, -1) / 2).masked_fill(~keep, -1e9)
    return {"output": w_o((F.softmax(att, dim=-1) @ v).transpose(1, 2).reshape(3, T, 8))}


@on_probe("causal-diag-plus1")
def one_token_ahead(given):
    w_q, w_k, w_v, w_o = projections(given)
    x, T = given["x"], 5
    q, k, v = [w(x).view(3, T, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    future = torch.triu(torch.ones(T, T), diagonal=2).bool()
    padding = (torch.arange(T) >= LENGTHS[:, None])[:, None, None, :]
    att = (q @ k.transpose(-2, -1) / 2).masked_fill(future | padding, -INF)
    return {"output": w_o((F.softmax(att, dim=-1) @ v).transpose(1, 2).reshape(3, T, 8))}


@work("--seed 1337 --batch 4 --seq-len 8 --embed-dim 32 --head-dim 16 --draw-order kqv "
      "--mask causal", "causal-triu")
def lecture_keeps_the_future():
    torch.manual_seed(1337)
    x = torch.randn(4, 8, 32)
    key, query, value = [nn.Linear(32, 16, bias=False) for _ in range(3)]
    wei = query(x) @ key(x).transpose(-2, -1) * 16 ** -0.5
    wei = wei.masked_fill(torch.triu(torch.ones(8, 8)) == 0, -INF)
    return {"out": F.softmax(wei, dim=-1) @ value(x)}


@work("--seed 5 --seq-len 2 --memory-len 6 --head-dim 4 --mask causal --causal-align end",
      "causal-top-left", given="walk")
def cache_and_tril(given):
    """Two new tokens, four keys in a cache, and a tril that ignores the cache."""
    q = given["x"] @ given["w_query"].T
    k, v = [given["memory"] @ given["w_" + n].T for n in ("key", "value")]
    bias = torch.zeros(2, 6).masked_fill(~torch.ones(2, 6, dtype=torch.bool).tril(), -INF)
    return {"context": torch.softmax(q @ k.T / math.sqrt(4) + bias, dim=-1) @ v}


@work("--heads 2 --head-dim 4 --batch 3 --seq-len 5 --lengths 5,3,4 --mask padding --seed 13",
      "pad-on-query-axis", given="walk")
def padding_along_rows(given):
    """mask[:, None, :, None], filled with -1e9: padded rows become even."""
    x = given["x"]
    q, k, v = [F.linear(x, given["w_" + n]).view(3, 5, 2, 4).transpose(1, 2)
               for n in ("query", "key", "value")]
    pad_mask = torch.arange(5) < torch.tensor([5, 3, 4])[:, None]
    energy = torch.matmul(q, k.permute(0, 1, 3, 2)) / math.sqrt(4)
    energy = energy.masked_fill(pad_mask[:, None, :, None] == 0, -1e9)
    attention = torch.softmax(energy, dim=-1)
    return {"merged": torch.matmul(attention, v).permute(0, 2, 1, 3).reshape(3, 5, 8)}


@work("--heads 2 --head-dim 4 --batch 3 --seq-len 5 --lengths 5,3,4 --mask padding --seed 13",
      "pad-on-query-axis=both", given="walk")
def padding_along_rows_and_columns(given):
    """The outer product of the padding mask, filled with -inf: padded rows become nan."""
    x = given["x"]
    q, k, v = [F.linear(x, given["w_" + n]).view(3, 5, 2, 4).transpose(1, 2)
               for n in ("query", "key", "value")]
    real = (torch.arange(5) < torch.tensor([5, 3, 4])[:, None]).float()
    both = torch.einsum("bi,bj->bij", real, real).unsqueeze(1)
    attention = (q @ k.transpose(2, 3) / 2).masked_fill(both == 0, -INF).softmax(3)
    return {"merged": (attention @ v).transpose(1, 2).reshape(3, 5, 8)}


@on_probe("mask-tile-order")
def repeats_masks_in_the_wrong_order(given):
    """Heads folded into the batch axis, and a mask repeated as a whole for them."""
    w_q, w_k, w_v, w_o = projections(given)
    x, mask = given["x"], given["mask"][:, 0]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2).reshape(6, 5, 4) for w in (w_q, w_k, w_v)]
    scores = torch.bmm(q, k.transpose(1, 2)) / 2
    scores = scores.masked_fill(mask.repeat(2, 1, 1), -INF)
    context = torch.bmm(torch.softmax(scores, dim=2), v).view(3, 2, 5, 4)
    return {"output": w_o(context.transpose(1, 2).reshape(3, 5, 8))}


@work("--heads 2 --head-dim 3 --batch 2 --seq-len 4 --lengths 4,2 --mask causal,padding --seed 8",
      "mask-broadcast", alike=["mask-tile-order"], given="walk")
def mask_without_a_head_axis(given):
    """(B, T, T) meets (B, H, T, T), and B happens to be H."""
    x = given["x"]
    q, k, v = [F.linear(x, given["w_" + n]).view(2, 4, 2, 3).transpose(1, 2)
               for n in ("query", "key", "value")]
    hidden = (torch.arange(4) >= torch.tensor([4, 2])[:, None])[:, None, :]
    hidden = hidden | torch.triu(torch.ones(4, 4), 1).bool()
    weights = (q @ k.transpose(-2, -1) / math.sqrt(3)).masked_fill(hidden, -INF).softmax(-1)
    return {"weights": weights}


# --- heads -------------------------------------------------------------------------------------


@on_probe("split-view")
def views_straight_into_heads(given):
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 2, 5, 4) for w in (w_q, w_k, w_v)]
    attn = (q @ k.transpose(-2, -1) / 2).masked_fill(given["mask"], -INF).softmax(-1)
    return {"output": w_o((attn @ v).transpose(1, 2).reshape(3, 5, 8))}


@on_probe("split-strided")
def features_before_heads(given):
    """'b t (d h) -> b h t d' for '(h d)', and merged as '(h d)' again."""
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 4, 2).permute(0, 3, 1, 2) for w in (w_q, w_k, w_v)]
    attn = (q @ k.transpose(-2, -1) / 2).masked_fill(given["mask"], -INF).softmax(-1)
    return {"output": w_o((attn @ v).transpose(1, 2).reshape(3, 5, 8))}


@on_probe("merge-reshape")
def reshapes_heads_without_moving_them(given):
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scaled = torch.matmul(q, k.mT) / math.sqrt(4) + torch.zeros(3, 1, 5, 5).masked_fill(
        given["mask"], -INF)
    values = torch.matmul(F.softmax(scaled, dim=-1), v)
    return {"output": w_o(values.reshape(3, 5, 2 * 4))}


@on_probe("merge-order=strided")
def merges_features_before_heads(given):
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    attn = (q @ k.transpose(-2, -1) / 2).masked_fill(given["mask"], -1e10).softmax(-1)
    context = (attn @ v).permute(0, 2, 3, 1).contiguous()
    return {"output": w_o(context.view(3, 5, 8))}


@on_probe("merge-bh-swapped")
def unfolds_the_joint_axis_the_other_way(given):
    """Heads first in the view of a (batch * heads) axis that was made batch first."""
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2).reshape(6, 5, 4) for w in (w_q, w_k, w_v)]
    mask = given["mask"][:, 0].repeat_interleave(2, dim=0)
    out = torch.bmm((torch.bmm(q, k.mT) / 2).masked_fill(mask, -INF).softmax(-1), v)
    out = out.view(2, 3, 5, 4).permute(1, 2, 0, 3).reshape(3, 5, 8)
    return {"output": w_o(out)}


@work("--seed 2 --batch 2 --seq-len 5 --heads 3 --head-dim 4 --bias", "transpose-wrong-axes",
      given="walk")
def never_moves_the_heads(given):
    """(B, T, H, D) @ (B, T, D, H): each token compares its own heads."""
    q, k, v = [linear(given, n)(given["x"]).view(2, 5, 3, 4) for n in ("query", "key", "value")]
    attention = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(4), dim=-1)
    return {"merged": (attention @ v).reshape(2, 5, 12)}


@work("--seed 17 --batch 2 --seq-len 5 --heads 3 --head-dim 4", "heads-averaged=mean", given="walk")
def mean_of_heads(given):
    q, k, v = [F.linear(given["x"], given["w_" + n]).view(2, 5, 3, 4).transpose(1, 2)
               for n in ("query", "key", "value")]
    return {"merged": (torch.softmax(q @ k.transpose(-2, -1) / 2, dim=-1) @ v).mean(dim=1)}


# --- projections -------------------------------------------------------------------------------


@on_probe("weight-not-transposed")
def multiplies_by_the_stored_weight(given):
    """x @ layer.weight, where the layer keeps (out, in); the last layer is called properly."""
    x, w_o = given["x"], linear(given, "output")
    q, k, v = [(x @ given["w_" + n] + given["b_" + n]).view(3, 5, 2, 4).transpose(1, 2)
               for n in ("query", "key", "value")]
    attn = (q @ k.transpose(-2, -1) / 2).masked_fill(given["mask"], -INF).softmax(-1)
    return {"output": w_o((attn @ v).transpose(1, 2).reshape(3, 5, 8))}


@work("--weight-layout in-out --bias --heads 2 --seq-len 5 --seed 6 --mask causal", "conv1d-layout",
      given="walk")
def loads_conv1d_into_linear(given):
    """GPT-2's (in, out) matrices copied into nn.Linear as they are."""
    x = given["x"]
    q, k, v = [linear(given, n)(x).view(5, 2, 4).transpose(0, 1) for n in ("query", "key", "value")]
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = F.softmax(att.masked_fill(torch.tril(torch.ones(5, 5)) == 0, -INF), dim=-1)
    return {"y": (att @ v).transpose(0, 1).contiguous().view(5, 8)}


@work("--projection fused --heads 2 --bias --batch 2 --seq-len 5 --mask causal --seed 30",
      "fused-layout", given="walk")
def cuts_c_attn_by_head(given):
    """A flat q | k | v weight viewed as (heads, 3, head_dim)."""
    x = given["x"]
    qkv = linear(given, "qkv")(x).reshape(2, 5, 2, 3 * 4).permute(0, 2, 1, 3)
    q, k, v = qkv.chunk(3, dim=-1)
    attn = (q @ k.transpose(-2, -1) / math.sqrt(4)).masked_fill(
        torch.ones(5, 5).triu(1).bool(), -9e15).softmax(dim=-1)
    return {"merged": (attn @ v).permute(0, 2, 1, 3).reshape(2, 5, 8)}


@work("--projection fused --heads 2 --bias --batch 2 --seq-len 5 --mask causal --seed 30",
      "fused-order=kqv", alike=["scores-transposed"], given="walk")
def unpacks_keys_first(given):
    """k, q, v = split: query and key change names."""
    x = given["x"]
    k, q, v = linear(given, "qkv")(x).split(8, dim=2)
    k, q, v = [z.view(2, 5, 2, 4).transpose(1, 2) for z in (k, q, v)]
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(4))
    att = F.softmax(att.masked_fill(torch.tril(torch.ones(5, 5)) == 0, -INF), dim=-1)
    return {"y": (att @ v).transpose(1, 2).contiguous().view(2, 5, 8)}


@work("--rng numpy --seed 12 --seq-len 5 --embed-dim 6 --head-dim 6", "v-from-projected-k")
def reuses_the_name_keys():
    np.random.seed(12)
    inputs = np.random.randn(5, 6)
    w_queries, w_keys, w_values = [np.random.randn(6, 6) for _ in range(3)]
    queries = inputs @ w_queries
    keys = inputs @ w_keys
    values = keys @ w_values
    scores = queries @ keys.T / np.sqrt(6)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    return {"context": weights @ values}


@work("--rng numpy --seed 3 --seq-len 5 --embed-dim 6 --head-dim 6", "no-projection")
def dot_product_of_x_with_itself():
    np.random.seed(3)
    x = np.random.randn(5, 6)
    scores = np.dot(x, x.T) / np.sqrt(x.shape[1])
    weights = np.exp(scores) / np.sum(np.exp(scores), axis=1, keepdims=True)
    return {"context": np.dot(weights, x)}


@on_probe("bias-missing=value")
def value_layer_without_bias(given):
    w_q, w_k, _, w_o = projections(given)
    x = given["x"]
    value = nn.Linear(8, 8, bias=False)
    value.load_state_dict({"weight": given["w_value"]})
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, value)]
    attn = (q @ k.transpose(-2, -1) / 2).masked_fill(given["mask"], -INF).softmax(-1)
    return {"output": w_o((attn @ v).transpose(1, 2).reshape(3, 5, 8))}


@work("--seed 19 --batch 4 --seq-len 6 --heads 2 --projection mha --bias", "batch-seq-swapped")
def library_takes_tokens_first():
    """nn.MultiheadAttention expects (tokens, batch, features) by default."""
    torch.manual_seed(19)
    x = torch.randn(4, 6, 8)
    attention = nn.MultiheadAttention(embed_dim=8, num_heads=2)
    output, _ = attention(x, x, x)
    return {"output": output}


@work("--seed 23 --batch 2 --seq-len 4 --memory-len 6 --head-dim 5", "cross-qk-swapped",
      given="walk")
def queries_from_the_encoder(given):
    decoder, encoder = given["x"], given["memory"]
    q = F.linear(encoder, given["w_query"])
    k, v = F.linear(decoder, given["w_key"]), F.linear(decoder, given["w_value"])
    return {"context": torch.softmax(q @ k.transpose(1, 2) / math.sqrt(5), dim=-1) @ v}


@work("--ids 5,2,4,5,3,0,5,1 --vocab-size 9 --embed-dim 6 --seed 4", "vocab-duplicates",
      given="walk")
def numbers_repeated_words(given):
    """A dictionary from sorted(words) instead of sorted(set(words)): 'the' comes out as 7."""
    words = "the cat saw the dog and the bird".split()
    numbers = {word: i for i, word in enumerate(sorted(words))}
    x = F.embedding(torch.tensor([numbers[word] for word in words]), given["embedding"])
    q, k, v = [F.linear(x, given["w_" + n]) for n in ("query", "key", "value")]
    return {"context": F.softmax(q @ k.T / math.sqrt(6), dim=-1) @ v}


@on_probe("bias-missing=output")
def functional_linear_without_bias(given):
    w_q, w_k, w_v, _ = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    attn = (q @ k.transpose(-2, -1) / 2 + given["mask"] * -1e9).softmax(-1)
    return {"output": F.linear((attn @ v).transpose(1, 2).reshape(3, 5, 8), given["w_output"])}


# --- scores and context ------------------------------------------------------------------------


@on_probe("k-dot-k", alike=["wrong-weight=query-by-key"])
def einsum_of_keys_with_keys(given):
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).reshape(3, 5, 2, 4) for w in (w_q, w_k, w_v)]
    energy = torch.einsum("bihd,bjhd->bhij", k, k) / 2
    attn = energy.masked_fill(given["mask"], float("-1e20")).softmax(dim=-1)
    return {"output": w_o(torch.einsum("bhij,bjhd->bihd", attn, v).reshape(3, 5, 8))}


@on_probe("q-dot-q", alike=["wrong-weight=key-by-query"])
def query_layer_called_twice(given):
    """k = self.query(x), a line copied and half changed."""
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = w_q(x), w_q(x), w_v(x)
    q, k, v = [z.reshape(3, 5, 2, 4).swapaxes(1, 2) for z in (q, k, v)]
    attn = (q @ k.swapaxes(-1, -2) / 2).masked_fill(given["mask"], -INF).softmax(-1)
    return {"output": w_o((attn @ v).swapaxes(1, 2).reshape(3, 5, 8))}


@on_probe("scores-transposed")
def keys_ask_queries(given):
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    attn = (k @ q.transpose(-2, -1) / 2).masked_fill(given["mask"], -INF).softmax(-1)
    return {"output": w_o((attn @ v).transpose(1, 2).reshape(3, 5, 8))}


@work("--rng numpy --seed 1 --seq-len 4 --embed-dim 6 --head-dim 3", "key-index-i",
      ["scale-default-zero"])
def index_that_does_not_move():
    np.random.seed(1)
    x = np.random.randn(4, 6)
    Wq, Wk, Wv = [np.random.randn(6, 3) for _ in range(3)]
    query, key, value = x @ Wq, x @ Wk, x @ Wv
    output = np.zeros((4, 3))
    for idx in range(4):
        score = np.zeros(4)
        for j in range(4):
            score[j] = query[idx] @ key[idx] / np.sqrt(3)
        prob = np.exp(score) / np.exp(score).sum()
        for j in range(4):
            output[idx] += prob[j] * value[j]
    return {"answers": output}


@on_probe("v-is-k", alike=["wrong-weight=value-by-key"])
def attention_of_q_k_k(given):
    """attention(q, k, k): the third argument was copied from the second."""
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]

    def attention(query, key, value):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        return scores.masked_fill(given["mask"], -INF).softmax(-1) @ value

    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    return {"output": w_o(attention(q, k, k).transpose(1, 2).reshape(3, 5, 8))}


@on_probe("wrong-weight=value-by-key")
def value_through_the_key_layer(given):
    """self.key(x) twice in the list of projections; the author kept value too."""
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_k)]
    attn = (q @ k.transpose(-2, -1) / 2).masked_fill(given["mask"], -INF).softmax(-1)
    return {"query": q, "key": k, "value": v,
            "output": w_o((attn @ v).transpose(1, 2).reshape(3, 5, 8))}


@on_probe("weights-transposed")
def einsum_sums_over_queries(given):
    w_q, w_k, w_v, w_o = projections(given)
    x = given["x"]
    q, k, v = [w(x).reshape(3, 5, 2, 4) for w in (w_q, w_k, w_v)]
    attn = torch.einsum("nqhd,nkhd->nhqk", [q, k]) / 2
    attn = attn.masked_fill(given["mask"], float("-1e20")).softmax(dim=3)
    out = torch.einsum("nhqk,nqhd->nkhd", [attn, v])
    return {"output": w_o(out.reshape(3, 5, 8))}


@work("--seed 1337 --batch 4 --seq-len 8 --embed-dim 32 --head-dim 16 --draw-order kqv "
      "--mask causal", "einsum-diagonal")
def lecture_einsum_repeats_a_letter():
    torch.manual_seed(1337)
    x = torch.randn(4, 8, 32)
    key, query, value = [nn.Linear(32, 16, bias=False) for _ in range(3)]
    attn = torch.einsum("b i h, b j h -> b i j", query(x), key(x)) * 16 ** -0.5
    attn = attn.masked_fill(torch.tril(torch.ones(8, 8)) == 0, -INF).softmax(dim=-1)
    return {"out": torch.einsum("b t t, b t h -> b t h", attn, value(x))}


# --- output ------------------------------------------------------------------------------------


@on_probe("no-output-projection")
def returns_the_concatenation(given):
    w_q, w_k, w_v, _ = projections(given)
    x = given["x"]
    q, k, v = [w(x).split(4, dim=-1) for w in (w_q, w_k, w_v)]
    heads = []
    for i in range(2):
        s = (q[i] @ k[i].transpose(1, 2) / math.sqrt(4)).masked_fill(given["mask"][:, 0], -INF)
        heads.append(F.softmax(s, dim=-1) @ v[i])
    return {"output": torch.cat(heads, dim=-1)}


@on_probe("wo-transposed")
def output_weight_as_stored(given):
    w_q, w_k, w_v, _ = projections(given)
    x = given["x"]
    q, k, v = [w(x).view(3, 5, 2, 4).transpose(1, 2) for w in (w_q, w_k, w_v)]
    attn = (q @ k.transpose(-2, -1) / 2).masked_fill(given["mask"], -INF).softmax(-1)
    merged = (attn @ v).transpose(1, 2).reshape(3, 5, 8)
    return {"output": merged @ given["w_output"] + given["b_output"]}


# --- running and writing -----------------------------------------------------------------------

STEP_OF = {"attention": "weights", "attn": "weights", "answers": "context", "out": "context",
           "y": "merged"}


def inputs_of(program, walk, given):
    """Returns the tensors that a function gets, by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "given.npz"
        command = ["probe"] if given == "probe" else shlex.split(walk) + ["--format", "npz"]
        subprocess.run([program, *command, "-o", str(path)], check=True, capture_output=True)
        with np.load(path) as file:
            return {name: torch.from_numpy(file[name]) for name in file
                    if name in ("x", "memory", "mask", "embedding", "relative_attention_bias",
                                "ids", "position_table", "sink", "past_key", "past_value")
                    or name[:2] in ("w_", "b_", "g_") or name.startswith("lambda_")}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = sys.argv[1]
    FOLDER.mkdir(parents=True, exist_ok=True)
    cases = []
    for function, walk, expects, alike, given in works:
        arguments = [inputs_of(program, walk, given)] if given else []
        with torch.no_grad():
            kept = function(*arguments)
        arrays = {name: np.ascontiguousarray(array) for name, array in kept.items()}
        np.savez(FOLDER / (function.__name__ + ".npz"), **arrays)
        maps = [name + ":" + STEP_OF[name] for name in kept if name in STEP_OF]
        cases.append({"file": function.__name__ + ".npz", "given": given == "probe", "walk": walk,
                      "map": maps, "expects": expects, "alike": alike})
    lines = ",\n".join(" " + json.dumps(case) for case in cases)
    head = f'"schema": 1, "made_with": "PyTorch {torch.__version__}, NumPy {np.__version__}"'
    (FOLDER / "index.json").write_text("{" + head + ', "cases": [\n' + lines + "\n]}\n")
    print(len(cases), "files,", len({case["expects"] for case in cases}) - 1, "mistakes")


if __name__ == "__main__":
    main()

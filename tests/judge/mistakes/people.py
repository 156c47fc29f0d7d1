#!/usr/bin/python3
"""Attention as ten people write, name and save it, right or with one mistake.

    tests/judge/mistakes/people.py build/dev/app/attn-explain

Each author below has their own names, layouts, masks, fill values, types and files; `wrong(ID)` is
true for the mistake that the author makes this time. The tensors go to data/reference/people/, next to
index.json: the flags of `diagnose`, the mistake (or "none") and those that give the same numbers.
tests/judge/mistakes/people_test.cpp reads that folder. Only this script needs PyTorch, NumPy and
safetensors' format: run it after adding an author, and commit the data that it writes.
"""

import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "data" / "reference" / "people"
INF = float("inf")
B, T, C, H, D = 3, 5, 8, 2, 4
authors = []


def author(*mistakes, alike=None):
    """Registers an author, who writes right code once and makes each mistake once."""
    def register(function):
        authors.append((function, mistakes, alike or {}))
        return function
    return register


def keep_of(p, wrong):
    """Returns (B, 1, T, T), true for visible cells, with all ways to get the cells wrong."""
    q, k = torch.arange(T)[:, None], torch.arange(T)[None, :]
    causal = k <= q
    if wrong("causal-diag-minus1"):
        causal = k < q
    if wrong("causal-diag-plus1"):
        causal = k <= q + 1
    if wrong("causal-triu"):
        causal = k >= q
    real = torch.arange(T) < p["lengths"][:, None]
    keep = causal & real[:, None, None, :]
    if wrong("pad-on-query-axis"):
        keep = causal & real[:, None, :, None]
    return ~keep if wrong("mask-inverted") else keep


def project(p, name, wrong):
    source = {"wrong-weight=key-by-query": ("key", "query"),
              "wrong-weight=query-by-value": ("query", "value"),
              "wrong-weight=key-by-value": ("key", "value"),
              "wrong-weight=value-by-key": ("value", "key")}
    taken = name
    for one, (made, by) in source.items():
        if name == made and wrong(one):
            taken = by
    bias = p["b_" + taken]
    if wrong("bias-missing=" + name):
        bias = torch.zeros_like(bias)
    weight = p["w_" + taken]
    return p["x"] @ (weight if wrong("weight-not-transposed") else weight.T) + bias


def root(wrong):
    """Returns the divisor of the scores."""
    if wrong("scale-missing"):
        return 1.0
    if wrong("scale-dmodel"):
        return math.sqrt(C)
    if wrong("scale-twice"):
        return float(D)
    if wrong("scale-seq-len"):
        return math.sqrt(T)
    if wrong("scale-multiplied"):
        return 1 / math.sqrt(D)
    return math.sqrt(D)


def softmax(s, wrong):
    if wrong("softmax-axis=query"):
        return s.softmax(-2)
    if wrong("softmax-axis=head"):
        return s.softmax(1)
    if wrong("softmax-axis=batch"):
        return s.softmax(0)
    if wrong("softmax-axis=all"):
        return s.flatten(1).softmax(-1).view_as(s)
    if wrong("softmax-axis=matrix"):
        return s.flatten(2).softmax(-1).view_as(s)
    return s.softmax(-1)


def output(p, merged, wrong):
    if wrong("no-output-projection"):
        return merged
    weight = p["w_output"]
    bias = 0 if wrong("bias-missing=output") else p["b_output"]
    return merged @ (weight if wrong("wo-transposed") else weight.T) + bias


@author("scale-missing", "scale-dmodel", "causal-diag-plus1", "softmax-axis=query", "merge-reshape",
        "mask-inverted", "no-output-projection", "wrong-weight=key-by-value")
def annotated(p, wrong):
    """The annotated Transformer: a mask of ones for kept cells, -1e9, scores overwritten."""
    query, key, value = (project(p, n, wrong).view(B, T, H, D).transpose(1, 2)
                         for n in ("query", "key", "value"))
    mask = keep_of(p, wrong)
    scores = query @ key.transpose(-2, -1) / root(wrong)
    scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = softmax(scores, wrong)
    x = p_attn @ value
    z = (x if wrong("merge-reshape") else x.transpose(1, 2)).reshape(B, T, C)
    return "npz", dict(query=query, key=key, value=value, mask=mask, scores=scores, p_attn=p_attn,
                       z=x, out=output(p, z, wrong))


@author("scale-twice", "causal-diag-minus1", "softmax-axis=head", "v-is-k", "wo-transposed",
        "bias-missing=query", "weights-transposed")
def small_gpt(p, wrong):
    """A small GPT: att is overwritten from scores to weights, y from heads to result."""
    q, k, v = (project(p, n, wrong).view(B, T, H, D).transpose(1, 2)
               for n in ("query", "key", "value"))
    att = (q @ k.transpose(-2, -1)) * (1.0 / root(wrong))
    bias = keep_of(p, wrong)
    att = softmax(att.masked_fill(bias == 0, -INF), wrong)
    y = (att.transpose(-2, -1) if wrong("weights-transposed") else att) @ (
        k if wrong("v-is-k") else v)
    y = y.transpose(1, 2).contiguous().view(B, T, C)
    return "npz", dict(q=q, k=k, v=v, att=att, y=output(p, y, wrong))


@author("scale-dmodel", "scale-missing", "softmax-axis=batch", "wrong-weight=query-by-value",
        "weights-transposed", "mask-not-applied", "heads-reversed",
        alike={"weights-transposed": [], "heads-reversed": []})
def einsum_energy(p, wrong):
    """einsum, heads never moved: (N, T, H, D); masked with -1e20 before the scale."""
    queries, keys, values = (project(p, n, wrong).reshape(B, T, H, D)
                             for n in ("query", "key", "value"))
    energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
    if not wrong("mask-not-applied"):
        energy = energy.masked_fill(keep_of(p, wrong) == 0, float("-1e20"))
    attention = softmax(energy / root(wrong), wrong)
    mixed = attention.transpose(-2, -1) if wrong("weights-transposed") else attention
    out = torch.einsum("nhql,nlhd->nqhd", [mixed, values])
    if wrong("heads-reversed"):
        out = out.flip(2)
    out = out.reshape(B, T, C)
    return "npz", dict(queries=queries, keys=keys, values=values, energy=energy,
                       attention=attention, concat=out, output=output(p, out, wrong))


@author("scale-multiplied", "causal-triu", "softmax-axis=all", "bias-missing=value",
        "merge-order=strided", "bias-missing=output")
def vision(p, wrong):
    """After a vision transformer: dots, attn, and a lowest float as fill."""
    q, k, v = (project(p, n, wrong).view(B, T, H, D).permute(0, 2, 1, 3)
               for n in ("query", "key", "value"))
    dots = torch.einsum("bhid,bhjd->bhij", q, k) / root(wrong)
    attn = softmax(dots.masked_fill(~keep_of(p, wrong), -torch.finfo(dots.dtype).max), wrong)
    heads = torch.einsum("bhij,bhjd->bhid", attn, v)
    out = heads.permute(0, 2, 3, 1) if wrong("merge-order=strided") else heads.permute(0, 2, 1, 3)
    return "safetensors", dict(q=q, k=k, v=v, dots=dots, attn=attn,
                               out=output(p, out.reshape(B, T, C), wrong))


@author("scale-missing", "softmax-axis=query", "wrong-weight=value-by-key", "no-output-projection",
        "pad-on-query-axis", alike={"pad-on-query-axis": []})
def time_first(p, wrong):
    """Tokens first and heads joined with samples: q is (B * H, T, D), the result (T, B, C)."""
    q, k, v = (project(p, n, wrong).transpose(0, 1).reshape(T, B * H, D).transpose(0, 1)
               for n in ("query", "key", "value"))
    q = q / root(wrong)
    attn_weights = torch.bmm(q, k.transpose(1, 2)).view(B, H, T, T)
    attn_mask = torch.zeros(B, 1, T, T).masked_fill(~keep_of(p, wrong), -INF)
    attn_weights = softmax(attn_weights + attn_mask, wrong).view(B * H, T, T)
    attn = torch.bmm(attn_weights, v).transpose(0, 1).reshape(T, B, C)
    return "npz", dict(q=q, k=k, v=v, attn_mask=attn_mask, attn_weights=attn_weights, attn=attn,
                       attn_output=output(p, attn, wrong))


@author("scale-seq-len", "causal-diag-minus1", "softmax-axis=matrix", "v-is-k", "split-view",
        "merge-reshape")
def bert(p, wrong):
    """After BERT: a mask of 0 and -10000 that is added."""
    def transpose_for_scores(z):
        if wrong("split-view"):
            return z.view(B, H, T, D)
        return z.view(B, T, H, D).permute(0, 2, 1, 3)

    query_layer, key_layer, value_layer = (transpose_for_scores(project(p, n, wrong))
                                           for n in ("query", "key", "value"))
    attention_mask = (1.0 - keep_of(p, wrong).float()) * -10000.0
    attention_scores = query_layer @ key_layer.transpose(-1, -2) / root(wrong) + attention_mask
    attention_probs = softmax(attention_scores, wrong)
    context_layer = attention_probs @ (key_layer if wrong("v-is-k") else value_layer)
    joined = (context_layer if wrong("merge-reshape") else context_layer.permute(0, 2, 1, 3))
    return "npz", dict(query_layer=query_layer, key_layer=key_layer, value_layer=value_layer,
                       attention_mask=attention_mask, attention_scores=attention_scores,
                       attention_probs=attention_probs, context_layer=context_layer,
                       attention_output=output(p, joined.reshape(B, T, C), wrong))


@author("scale-dmodel", "causal-diag-plus1", "softmax-axis=query", "wrong-weight=key-by-query",
        "weight-not-transposed", "mask-times-zero", alike={"mask-times-zero": ["mask-tiny-fill"]})
def loops(p, wrong):
    """NumPy, float64, heads in front of samples, saved as JSON."""
    n = {name: np.asarray(tensor, np.float64) for name, tensor in p.items()}
    d = {name: torch.from_numpy(array) for name, array in n.items()}
    d["lengths"] = p["lengths"]
    Q, K, V = (project(d, name, wrong).numpy().reshape(B, T, H, D).transpose(2, 0, 1, 3)
               for name in ("query", "key", "value"))
    keep = keep_of(d, wrong).numpy().transpose(1, 0, 2, 3)
    S = np.zeros((H, B, T, T))
    for h in range(H):
        for b in range(B):
            for i in range(T):
                for j in range(T):
                    S[h, b, i, j] = Q[h, b, i] @ K[h, b, j] / root(wrong)
    masked = S * keep if wrong("mask-times-zero") else np.where(keep, S, -1e30)
    A = softmax(torch.from_numpy(masked).transpose(0, 1), wrong).numpy().transpose(1, 0, 2, 3)
    Z = A @ V
    merged = np.concatenate(list(Z), axis=-1)
    result = output(d, torch.from_numpy(merged), wrong)
    return "json", dict(Q=Q, K=K, V=V, S=S, A=A, Z=Z, concat=merged, result=result)


@author("scale-missing", "causal-triu", "softmax-axis=query", "weights-transposed", "wo-transposed")
def half(p, wrong):
    """float16 throughout, filled with the lowest half."""
    r = {name: tensor.half().float() if tensor.is_floating_point() else tensor
         for name, tensor in p.items()}

    def short(z):
        return z.half().float()

    query, key, value = (short(project(r, n, wrong)).view(B, T, H, D).transpose(1, 2)
                         for n in ("query", "key", "value"))
    attn_scores = short(short(query @ key.transpose(-1, -2)) / root(wrong))
    attn_weights = short(softmax(torch.where(keep_of(p, wrong), attn_scores,
                                             torch.tensor(-65504.0)), wrong))
    context = short((attn_weights.transpose(-2, -1) if wrong("weights-transposed")
                     else attn_weights) @ value)
    merged = context.transpose(1, 2).reshape(B, T, C)
    return "npz", {name: tensor.half() for name, tensor in dict(
        query=query, key=key, value=value, attn_scores=attn_scores, attn_weights=attn_weights,
        context=context, output=output(r, merged, wrong)).items()}


@author("scale-twice", "mask-inverted", "softmax-axis=head", "wrong-weight=value-by-key",
        "mask-sign=1e9", "bias-missing=output", "mask-added-bool=hidden")
def tutorial(p, wrong):
    """After a TensorFlow tutorial: a float mask of ones for hidden cells, times -1e9, added."""
    q, k, v = (project(p, n, wrong).view(B, T, H, D).transpose(1, 2)
               for n in ("query", "key", "value"))
    mask = (~keep_of(p, wrong)).float()
    matmul_qk = q @ k.transpose(-1, -2)
    scaled_attention_logits = matmul_qk / root(wrong)
    if wrong("mask-sign=1e9"):
        masked = scaled_attention_logits + mask * 1e9
    elif wrong("mask-added-bool=hidden"):
        masked = scaled_attention_logits + mask
    else:
        masked = scaled_attention_logits + mask * -1e9
    attention_weights = softmax(masked, wrong)
    scaled_attention = (attention_weights @ v).permute(0, 2, 1, 3)
    return "npz", dict(q=q, k=k, v=v, mask=mask, qk=matmul_qk,
                       scaled_attention_logits=scaled_attention_logits, masked_logits=masked,
                       attention_weights=attention_weights, ctx=scaled_attention,
                       output=output(p, scaled_attention.reshape(B, T, C), wrong))


@author("scale-dmodel", "softmax-axis=query", "mask-after-softmax", "scale-after-softmax",
        "causal-diag-minus1", "wrong-weight=query-by-value")
def by_hand(p, wrong):
    """Softmax in its parts, with keepdim; padded queries are set to zero at the end."""
    queries, keys, values = (project(p, n, wrong).view(B, T, H, D).transpose(1, 2)
                             for n in ("query", "key", "value"))
    keep = keep_of(p, wrong).expand(B, H, T, T)
    logits = queries @ keys.transpose(-2, -1)
    scaled = logits if wrong("scale-after-softmax") else logits / root(wrong)
    masked = scaled if wrong("mask-after-softmax") else scaled.masked_fill(~keep, -9e15)
    axis = -2 if wrong("softmax-axis=query") else -1
    row_max = masked.amax(axis, keepdim=True)
    exps = (masked - row_max).exp()
    row_sum = exps.sum(axis, keepdim=True)
    weights = exps / row_sum
    if wrong("mask-after-softmax"):
        weights = weights * keep
    if wrong("scale-after-softmax"):
        weights = weights / root(wrong)
    weights = weights * (torch.arange(T) < p["lengths"][:, None])[:, None, :, None]
    ctx = weights @ values
    return "npz", dict(queries=queries, keys=keys, values=values, logits=logits, scaled=scaled,
                       keep=keep, masked=masked, row_max=row_max, exps=exps, row_sum=row_sum,
                       weights=weights, ctx=ctx,
                       y=output(p, ctx.transpose(1, 2).reshape(B, T, C), wrong))


ALIKE = {
    "heads-reversed": "merge-order=reversed",
}


def save(kind, tensors, path):
    arrays = {name: np.asarray(t.detach() if torch.is_tensor(t) else t)
              for name, t in tensors.items()}
    if kind == "npz":
        np.savez(path, **arrays)
    elif kind == "json":
        path.write_text(json.dumps({name: a.tolist() for name, a in arrays.items()}))
    else:
        header, data = {}, b""
        for name, a in arrays.items():
            a = np.ascontiguousarray(a.astype(np.float32))
            header[name] = {"dtype": "F32", "shape": list(a.shape),
                            "data_offsets": [len(data), len(data) + a.nbytes]}
            data += a.tobytes()
        text = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    program = sys.argv[1]
    FOLDER.mkdir(parents=True, exist_ok=True)
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        probe = pathlib.Path(folder) / "probe.npz"
        subprocess.run([program, "probe", "-o", probe], check=True, stderr=subprocess.DEVNULL)
        with np.load(probe) as file:
            p = {name: torch.from_numpy(file[name]) for name in file.files}
    for function, mistakes, alike in authors:
        for mistake in ("none",) + mistakes:
            kind, tensors = function(p, lambda id, made=mistake: id == made)
            name = f"{function.__name__}_{mistake.replace('=', '_')}.{kind}"
            save(kind, tensors, FOLDER / name)
            last = list(tensors)[-1]
            cases.append({"file": name, "expects": ALIKE.get(mistake, mistake), "result": last,
                          "alike": alike.get(mistake, [])})
    (FOLDER / "index.json").write_text(
        json.dumps({"cases": cases}, indent=1).replace('\n   "', ' "').replace("\n  }", " }"))
    print(len(cases), "programs")


main()

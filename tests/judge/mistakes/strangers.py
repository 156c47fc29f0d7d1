#!/usr/bin/python3
"""Runs `diagnose` on attention code written without attn-explain in mind.

    tests/judge/mistakes/strangers.py build/dev/app/attn-explain [-v]

Every author below has their own sizes, names, layouts, masks and types, and did not see how the
program makes a mistake; each writes right code once, and makes each mistake in the list once. The
saved tensors are diagnosed twice: all of them, and the last one alone. Prints the number of named,
wrongly named and unnamed mistakes and of accused right code; the exit code is 1 if a name is wrong,
right code is accused or a mistake with all steps has no name. Needs PyTorch and NumPy, and no network.
"""

import collections
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Work = collections.namedtuple("Work", "author mistakes flags hidden")
works = []


def work(*mistakes, flags="", hidden=()):
    """Registers an author. `hidden` are the mistakes that the result alone cannot reveal."""
    def register(author):
        works.append(Work(author, mistakes, flags, hidden))
        return author
    return register


def generator(seed):
    return torch.Generator().manual_seed(seed)


# --- on the probe's numbers: `p` is probe.npz

def linear(p, name):
    layer = nn.Linear(8, 8)
    layer.weight, layer.bias = nn.Parameter(p["w_" + name]), nn.Parameter(p["b_" + name])
    return layer


@work("scale-missing", "scale-dmodel", "causal-diag-plus1", "softmax-axis=query", "merge-reshape",
      "bias-missing=value", "wrong-weight=value-by-key", "causal-triu")
def bthd_everywhere(p, bug):
    """(B, T, H, D) from first to last; the causal mask as torch.tril(torch.ones)."""
    W_q, W_k, W_v, W_o = (linear(p, n) for n in ("query", "key", "value", "output"))
    if bug("wrong-weight=value-by-key"):
        W_v = W_k
    if bug("bias-missing=value"):
        W_v.bias = None
    b, t, c = p["x"].shape
    Q, K, V = (W(p["x"]).view(b, t, 2, 4) for W in (W_q, W_k, W_v))
    S = torch.einsum("bthd,bshd->bhts", Q, K)
    if not bug("scale-missing"):
        S = S / math.sqrt(8 if bug("scale-dmodel") else 4)
    tri = torch.tril(torch.ones(t, t), diagonal=1 if bug("causal-diag-plus1") else 0)
    if bug("causal-triu"):
        tri = torch.triu(torch.ones(t, t))
    pad = torch.arange(t)[None] >= p["lengths"][:, None]
    M = (tri == 0)[None, None] | pad[:, None, None, :]
    P = S.masked_fill(M, float("-inf")).softmax(-2 if bug("softmax-axis=query") else -1)
    O = torch.einsum("bhts,bshd->bthd", P, V)
    if bug("merge-reshape"):
        O = O.transpose(1, 2)
    return dict(Q=Q, K=K, V=V, S=S, P=P, O=O, Y=W_o(O.reshape(b, t, c)))


@work("scale-twice", "mask-inverted", "pad-on-query-axis", "softmax-axis=head", "wo-transposed",
      "weights-transposed", "causal-diag-minus1")
def additive_bf16(p, bug):
    """bfloat16 all along, a float mask of 0 and -inf, saved as safetensors."""
    q16 = lambda z: z.bfloat16().float()
    w = {n: q16(z) if z.is_floating_point() else z for n, z in p.items()}
    b, t, c = w["x"].shape
    made = lambda n: q16(F.linear(w["x"], w["w_" + n], w["b_" + n]))
    heads = lambda n: made(n).view(b, t, 2, 4).permute(0, 2, 1, 3)
    q, k, v = heads("query"), heads("key"), heads("value")
    pos = torch.arange(t)
    ok = pos[None, :] < pos[:, None] if bug("causal-diag-minus1") else pos[None, :] <= pos[:, None]
    real = pos[None] < w["lengths"][:, None]
    across = bug("pad-on-query-axis")
    ok = ok[None, None] & (real[:, None, :, None] if across else real[:, None, None, :])
    ok = ~ok if bug("mask-inverted") else ok
    attn_bias = torch.zeros(b, 1, t, t).masked_fill(~ok, float("-inf"))
    scores = q16(q @ k.transpose(-1, -2))
    sim = q16(scores / (4 if bug("scale-twice") else 2))
    logits = sim + attn_bias
    probs = q16(logits.softmax(1 if bug("softmax-axis=head") else -1))
    ctx = q16((probs.transpose(-1, -2) if bug("weights-transposed") else probs) @ v)
    flat = ctx.permute(0, 2, 1, 3).reshape(b, t, c)
    wo = w["w_output"].T if bug("wo-transposed") else w["w_output"]
    out = q16(F.linear(flat, wo, w["b_output"]))
    return {n: z.bfloat16() for n, z in dict(q=q, k=k, v=v, attn_bias=attn_bias, sim=sim,
                                             probs=probs, ctx=ctx, attn_out=out).items()}


@work("scale-missing", "mask-not-applied", "softmax-axis=batch", "split-view",
      "no-output-projection", "wrong-weight=query-by-key", "scale-multiplied")
def half_ones(p, bug):
    """float16 files; a mask of zeros and ones, compared with 0; -65504 as fill."""
    h = lambda z: z.half().float()
    w = {n: h(z) if z.is_floating_point() else z for n, z in p.items()}
    b, t, c = w["x"].shape
    taken = {"query": "key"} if bug("wrong-weight=query-by-key") else {}

    def project(n):
        m = taken.get(n, n)
        z = h(w["x"] @ w["w_" + m].T + w["b_" + m])
        return z.view(b, 2, t, 4) if bug("split-view") else z.view(b, t, 2, 4).transpose(1, 2)

    queries, keys, values = project("query"), project("key"), project("value")
    keep_mask = (torch.tril(torch.ones(t, t))[None] *
                 (torch.arange(t)[None] < w["lengths"][:, None]).float()[:, None, :])
    energy = h(queries @ keys.mT if hasattr(keys, "mT") else queries @ keys.transpose(-1, -2))
    energy = h(energy * 2 if bug("scale-multiplied") else
               energy if bug("scale-missing") else energy / 2)
    masked = energy
    if not bug("mask-not-applied"):
        masked = energy.masked_fill(keep_mask[:, None] == 0, -65504.0)
    attention = h(torch.softmax(masked, dim=0 if bug("softmax-axis=batch") else -1))
    res = h(attention @ values).transpose(1, 2).reshape(b, t, c)
    final = res if bug("no-output-projection") else h(res @ w["w_output"].T + w["b_output"])
    left = dict(queries=queries, keys=keys, values=values, keep_mask=keep_mask, energy=energy,
                attention=attention, final=final)
    return {n: z.half() for n, z in left.items()}


@work("k-dot-k", "scale-after-softmax", "mask-after-softmax", "bias-missing=output",
      "mask-sign=1e9", "softmax-axis=matrix")
def scaled_query(p, bug):
    """Scales the query; hides by adding (1 - keep) * -1e9; a merged batch-and-head axis."""
    b, t, c = p["x"].shape
    split = lambda z: z.reshape(b, t, 2, 4).transpose(1, 2).reshape(b * 2, t, 4)
    q = split(linear(p, "query")(p["x"])) * (1 if bug("scale-after-softmax") else 4 ** -0.5)
    k, v = split(linear(p, "key")(p["x"])), split(linear(p, "value")(p["x"]))
    real = (torch.arange(t) < p["lengths"][:, None]).float()
    keep = torch.ones(t, t).tril().expand(b, t, t) * real[:, None]
    keep = keep.repeat_interleave(2, dim=0)
    raw = torch.bmm(k if bug("k-dot-k") else q, k.transpose(1, 2))
    additive = (1 - keep) * (1e9 if bug("mask-sign=1e9") else -1e9)
    logits = raw if bug("mask-after-softmax") else raw + additive
    if bug("softmax-axis=matrix"):
        wei = logits.flatten(1).softmax(-1).view_as(logits)
    else:
        wei = logits.softmax(-1)
    if bug("mask-after-softmax"):
        wei = wei * keep
    if bug("scale-after-softmax"):
        wei = wei * 4 ** -0.5
    heads = torch.bmm(wei, v)
    z = heads.view(b, 2, t, 4).transpose(1, 2)
    cat = z.reshape(b, t, c)
    wo = linear(p, "output")
    if bug("bias-missing=output"):
        wo.bias = None
    return dict(q=q, k=k, v=v, logits=logits, wei=wei, heads=heads, cat=cat, out=wo(cat))


@work("weight-not-transposed", "v-is-k", "causal-diag-minus1", "softmax-axis=one",
      "merge-order=reversed", "mask-times-zero")
def module_names(p, bug):
    """A module's hooks: dotted names, keys are called like their layers."""
    b, t, c = p["x"].shape
    w = {n: p["w_" + n].T if bug("weight-not-transposed") and n != "output" else p["w_" + n]
         for n in ("query", "key", "value", "output")}
    q, k, v = (F.linear(p["x"], w[n], p["b_" + n]) for n in ("query", "key", "value"))
    qh, kh, vh = (z.unflatten(-1, (2, 4)).movedim(2, 1) for z in (q, k, v))
    i, j = torch.meshgrid(torch.arange(t), torch.arange(t), indexing="ij")
    hide = (j >= i if bug("causal-diag-minus1") else j > i)[None, None] | \
        (torch.arange(t) >= p["lengths"][:, None])[:, None, None]
    dots = qh @ kh.transpose(-1, -2) * 0.5
    if bug("mask-times-zero"):
        dots = dots * (~hide)
    else:
        dots = torch.where(hide, torch.finfo(torch.float32).min, dots)
    a = dots.unsqueeze(-1).softmax(-1).squeeze(-1) if bug("softmax-axis=one") else dots.softmax(-1)
    o = a @ (kh if bug("v-is-k") else vh)
    if bug("merge-order=reversed"):
        o = o.flip(1)
    y = F.linear(o.movedim(1, 2).flatten(2), w["output"], p["b_output"])
    return {"attn.q_proj": q, "attn.k_proj": k, "attn.v_proj": v, "attn.dots": dots,
            "attn.softmax": a, "attn.out_proj": y}


# --- on their own numbers: the author also writes the file of inputs

def own(seed, *shapes):
    g = generator(seed)
    return [torch.randn(*shape, generator=g) for shape in shapes]


@work("scale-dmodel", "scale-missing", "causal-diag-plus1", "mask-not-applied", "k-dot-k",
      "softmax-axis=query", "weights-transposed", "causal-diag-minus1", hidden={"mask-not-applied"})
def one_head(given, bug):
    """The lecture's head: no heads axis, no output projection, wei overwritten step by step."""
    B, T, C, hs = 4, 7, 12, 5
    x, wk, wq, wv = own(3, (B, T, C), (hs, C), (hs, C), (hs, C))
    given.update({"x": x, "key.weight": wk, "query.weight": wq, "value.weight": wv})
    k, q, v = x @ wk.T, x @ wq.T, x @ wv.T
    wei = (k if bug("k-dot-k") else q) @ k.transpose(-2, -1)
    wei = wei * (1 if bug("scale-missing") else C ** -0.5 if bug("scale-dmodel") else hs ** -0.5)
    diagonal = 1 if bug("causal-diag-plus1") else -1 if bug("causal-diag-minus1") else 0
    tril = torch.tril(torch.ones(T, T), diagonal)
    if not bug("mask-not-applied"):
        wei = wei.masked_fill(tril == 0, float("-inf"))
    wei = F.softmax(wei, dim=-2 if bug("softmax-axis=query") else -1)
    out = (wei.transpose(1, 2) if bug("weights-transposed") else wei) @ v
    return dict(k=k, q=q, v=v, tril=tril, wei=wei, out=out)


@work("scale-missing", "scale-multiplied", "softmax-axis=query", "q-dot-q",
      "wrong-weight=value-by-query", "scale-seq-len")
def numpy_plain(given, bug):
    """NumPy in float64, (T, C) without a batch, matrices from the right, no mask."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((6, 10))
    W_q, W_k, W_v = (rng.standard_normal((10, 4)) for _ in range(3))
    given.update(X=X, W_q=W_q, W_k=W_k, W_v=W_v)
    Q, K = X @ W_q, X @ W_k
    V = X @ (W_q if bug("wrong-weight=value-by-query") else W_v)
    S = Q @ (Q if bug("q-dot-q") else K).T
    S_scaled = S * 2 if bug("scale-multiplied") else S if bug("scale-missing") else \
        S / np.sqrt(6 if bug("scale-seq-len") else 4)
    axis = 0 if bug("softmax-axis=query") else 1
    E = np.exp(S_scaled - S_scaled.max(axis=axis, keepdims=True))
    A = E / E.sum(axis=axis, keepdims=True)
    return dict(Q=Q, K=K, V=V, S=S, S_scaled=S_scaled, A=A, Z=A @ V)


@work("cross-qk-swapped", "scale-twice", "softmax-axis=query", "wrong-weight=key-by-value",
      "wo-transposed", "merge-reshape")
def translation(given, bug):
    """Cross-attention: decoder states look at encoder states; nn.Linear without biases."""
    square = (12, 12)
    tgt, enc, wq, wk, wv, wo = own(8, (2, 6, 12), (2, 6, 12), square, square, square, square)
    given.update(x=tgt, memory=enc, w_query=wq, w_key=wk, w_value=wv, w_output=wo,
                 heads=torch.tensor([3]))
    if bug("cross-qk-swapped"):
        tgt, enc = enc, tgt
    split = lambda z: z.view(2, -1, 3, 4).transpose(1, 2)
    wk = wv if bug("wrong-weight=key-by-value") else wk
    q, k, v = split(tgt @ wq.T), split(enc @ wk.T), split(enc @ wv.T)
    scores = q @ k.transpose(2, 3) / (4 if bug("scale-twice") else 2)
    attn = scores.softmax(2 if bug("softmax-axis=query") else 3)
    context = attn @ v
    z = (context if bug("merge-reshape") else context.transpose(1, 2)).reshape(2, 6, 12)
    return dict(q=q, k=k, v=v, scores=scores, attn=attn, context=context,
                output=z @ (wo if bug("wo-transposed") else wo.T))


@work("fused-order=kqv", "fused-layout", "scale-missing", "causal-diag-plus1", "mask-inverted",
      "fused-order=vkq")
def c_attn(given, bug):
    """A fused projection, chunked; att is what softmax left."""
    B, T, C, H = 2, 5, 12, 3
    x, w, b, wo, bo = own(13, (B, T, C), (3 * C, C), (3 * C,), (C, C), (C,))
    given.update(x=x, w_qkv=w, b_qkv=b, w_output=wo, b_output=bo)
    qkv = F.linear(x, w, b)
    if bug("fused-layout"):
        q, k, v = qkv.view(B, T, H, 3, 4).permute(3, 0, 2, 1, 4)
    else:
        parts = [z.view(B, T, H, 4).transpose(1, 2) for z in qkv.chunk(3, -1)]
        order = "kqv" if bug("fused-order=kqv") else "vkq" if bug("fused-order=vkq") else "qkv"
        q, k, v = (parts[order.index(n)] for n in "qkv")
    att = q @ k.transpose(-2, -1) * (1.0 if bug("scale-missing") else 1 / math.sqrt(k.size(-1)))
    bias = torch.tril(torch.ones(T, T), 1 if bug("causal-diag-plus1") else 0).view(1, 1, T, T)
    hide = bias != 0 if bug("mask-inverted") else bias == 0
    att = att.masked_fill(hide, float("-inf")).softmax(-1)
    y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
    return dict(qkv=qkv, q=q, k=k, v=v, att=att, y=F.linear(y, wo, bo))


@work("pad-on-query-axis", "scale-dmodel", "softmax-axis=query", "mask-inverted", "merge-reshape",
      "split-strided", "heads-averaged=mean", flags="--heads 2 --mask padding --lengths 6,3,4")
def padded_batch(given, bug):
    """A bool key_padding_mask (B, T), true for padding; tokens, then heads, then features."""
    B, T, C, H = 3, 6, 8, 2
    x, wq, wk, wv = own(21, (B, T, C), (C, C), (C, C), (C, C))
    given.update(x=x, w_query=wq, w_key=wk, w_value=wv)
    key_padding_mask = torch.arange(T)[None] >= torch.tensor([6, 3, 4])[:, None]
    split = (lambda z: z.view(B, T, 4, H).permute(0, 3, 1, 2)) if bug("split-strided") else \
        (lambda z: z.view(B, T, H, 4).permute(0, 2, 1, 3))
    q, k, v = split(x @ wq.T), split(x @ wk.T), split(x @ wv.T)
    attn_scores = q @ k.permute(0, 1, 3, 2) / math.sqrt(8 if bug("scale-dmodel") else 4)
    m = key_padding_mask[:, None, None]
    if bug("pad-on-query-axis"):
        m = key_padding_mask[:, None, :, None]
    attn_scores = attn_scores.masked_fill(~m if bug("mask-inverted") else m, -1e20)
    attn_weights = attn_scores.softmax(-2 if bug("softmax-axis=query") else -1)
    attn_output = attn_weights @ v
    if bug("heads-averaged=mean"):
        return dict(q=q, k=k, v=v, attn_scores=attn_scores, attn_weights=attn_weights,
                    attn_output=attn_output.mean(1))
    if not bug("merge-reshape"):
        attn_output = attn_output.permute(0, 2, 1, 3)
    attn_output = attn_output.reshape(B, T, C)
    return dict(q=q, k=k, v=v, key_padding_mask=key_padding_mask, attn_scores=attn_scores,
                attn_weights=attn_weights, attn_output=attn_output)


@work("scale-missing", "softmax-axis=query", "causal-diag-plus1", "scores-transposed", "v-is-k")
def given_qkv(given, bug):
    """No projections at all: query, key and value are drawn; everything is in one file."""
    q, k, v = own(34, (2, 3, 5, 4), (2, 3, 5, 4), (2, 3, 5, 4))
    mask = torch.ones(5, 5, dtype=torch.bool).tril(1 if bug("causal-diag-plus1") else 0)
    sc = k @ q.transpose(-1, -2) if bug("scores-transposed") else q @ k.transpose(-1, -2)
    att = (sc / (1 if bug("scale-missing") else 2)).masked_fill(~mask, float("-inf"))
    att = att.softmax(-2 if bug("softmax-axis=query") else -1)
    return dict(q=q, k=k, v=v, att=att, ctx=att @ (k if bug("v-is-k") else v))


works[-1] = works[-1]._replace(hidden=works[-1].mistakes)

# The probe serves those that take it.
ON_PROBE = {bthd_everywhere, additive_bf16, half_ones, scaled_query, module_names}


def save(tensors, path):
    """An .npz, or a safetensors file where NumPy has no such type."""
    arrays = {n: t.detach() if torch.is_tensor(t) else torch.from_numpy(np.asarray(t))
              for n, t in tensors.items()}
    if not any(t.dtype == torch.bfloat16 for t in arrays.values()):
        np.savez(path.with_suffix(".npz"), **{n: t.numpy() for n, t in arrays.items()})
        return path.with_suffix(".npz")
    header, data = {}, b""
    for n, t in arrays.items():
        raw = t.contiguous().view(torch.int16).numpy().tobytes()
        header[n] = {"dtype": "BF16", "shape": list(t.shape),
                     "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.with_suffix(".safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path.with_suffix(".safetensors")


def verdict(program, file, given, flags, made):
    """Returns right, accused, named, unnamed or wrong, and the output of diagnose."""
    command = [program, "diagnose", "--json", str(file), *flags]
    command += ["--given", str(given)] if given else []
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode == 2:
        return "error", " ".join(command) + "\n" + ran.stderr
    said = json.loads(ran.stdout)
    found = [f for f in said["findings"] if not f["harmless"]]
    ids = [f["id"] or "?" for f in found]
    text = f"exit {ran.returncode}, {ids}, ties {[f['ties'] for f in found]}, "
    text += f"skipped {said['skipped']}"
    text += "\n      " + " ".join(command)
    if made == "none":
        return ("right" if not found and ran.returncode == 0 else "accused"), text
    if not found or ids[0] == "?":
        return "unnamed", text
    names = {found[0]["id"], *found[0]["ties"]}
    return ("named" if made in names and len(found) == 1 else "wrong"), text


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    counts = {"all steps": collections.Counter(), "result alone": collections.Counter()}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        probe = folder / "probe.npz"
        subprocess.run([program, "probe", "-o", probe], check=True, stderr=subprocess.DEVNULL)
        with np.load(probe) as file:
            numbers = {n: torch.from_numpy(file[n]) for n in file.files}
        for author, mistakes, flags, hidden in works:
            for made in ("none",) + mistakes:
                given = {} if author not in ON_PROBE else dict(numbers)
                tensors = author(given, lambda id: id == made)
                base = folder / f"{author.__name__}-{made}"
                source = probe
                if author not in ON_PROBE:
                    source = save(given, folder / f"{base.name}-given") if given else None
                last = list(tensors)[-1]
                for how, saved in (("all steps", tensors), ("result alone", {last: tensors[last]})):
                    if how == "result alone" and (made in hidden or source is None):
                        continue
                    file = save(saved, folder / f"{base.name}-{len(saved)}")
                    judged, text = verdict(program, file, source, flags.split(), made)
                    counts[how][judged] += 1
                    if judged not in ("right", "named") or "-v" in sys.argv:
                        print(f"{judged:8}{how:14}{author.__name__} {made}: {text}")
    for how, count in counts.items():
        mistaken = sum(count.values()) - count["right"] - count["accused"]
        print(f"{how}: {count['named']} of {mistaken} named, {dict(count)}")
    every, alone = counts.values()
    bad = sum(c[k] for c in (every, alone) for k in ("wrong", "accused", "error"))
    sys.exit(1 if bad + every["unnamed"] else 0)


main()

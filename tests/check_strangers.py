#!/usr/bin/python3
"""Runs `diagnose` on programs in the style of many libraries, with their names, layouts and file
formats, correct or with a single mistake, each computed here with NumPy.

    tests/check_strangers.py [PROGRAM [PART OF A NAME]]

Prints each correct program that is accused or left undecided, and each wrong one whose mistake is
not named (alone or in a tie); then the counts.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/dev/app/attn-explain")
ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
CASES = []  # name, tensors, flags, family of the mistake or "", question
SOFTMAX = dict(keepdims=True, axis=-1)


def case(name, tensors, flags="", mistake="", asks=False, form="npz"):
    CASES.append((name, dict(tensors), flags, mistake, asks, form))


def softmax(s):
    e = np.exp(s - s.max(**SOFTMAX))
    return e / e.sum(**SOFTMAX)


def heads(t, count):
    """(..., T, H * D) as (..., H, T, D)."""
    return t.reshape(*t.shape[:-1], count, -1).swapaxes(-2, -3)


def merge(t):
    t = t.swapaxes(-2, -3)
    return t.reshape(*t.shape[:-2], -1)


class Attention:
    """x, parameters and every step of one attention, with at most one mistake."""

    def __init__(self, seed, batch=2, tokens=6, features=12, count=3, causal=False, dtype="f4",
                 kv=None, width=None, wrong="", pad=None, window=0, layout="out_in", bias=False):
        r = np.random.default_rng(seed)
        kv = kv or count
        width = width or features // count
        draw = lambda *shape: (r.normal(size=shape) * .4).astype(dtype)
        self.count, self.causal, self.dtype = count, causal, dtype
        self.x = r.normal(size=(batch, tokens, features) if batch else (tokens, features)).astype(dtype)
        self.wq, self.wk = draw(count * width, features), draw(kv * width, features)
        self.wv, self.wo = draw(kv * width, features), draw(features, count * width)
        self.bo = draw(features)
        x, T = self.x, tokens
        self.q, self.k, self.v = (heads(x @ w.T, n) for w, n in
                                  ((self.wq, count), (self.wk, kv), (self.wv, kv)))
        if wrong == "split-view":
            self.q, self.k, self.v = ((x @ w.T).reshape(*x.shape[:-2], n, T, -1) for w, n in
                                      ((self.wq, count), (self.wk, kv), (self.wv, kv)))
        if wrong == "no-projection=value":
            self.v = heads(x, count)
        if wrong == "v-is-k":
            self.v = self.k
        if wrong == "weight-not-transposed":
            self.q, self.k, self.v = (heads(x @ w, count) for w in (self.wq, self.wk, self.wv))
        repeat = (lambda t: np.tile(t, (1, count // kv, 1, 1))) if wrong == "gqa-tile" else \
            (lambda t: np.repeat(t, count // kv, -3))
        k, v = repeat(self.k), repeat(self.v)
        self.rk, self.rv = k, v
        self.scores = self.q @ k.swapaxes(-1, -2)
        if wrong == "k-dot-k":
            self.scores = k @ k.swapaxes(-1, -2)
        if wrong == "scores-transposed":
            self.scores = self.scores.swapaxes(-1, -2)
        scale = {"scale-missing": 1, "scale-dmodel": features ** -.5, "scale-inverted": width ** .5,
                 "scale-twice": 1 / width, "scale-other": 1 / 3}.get(wrong, width ** -.5)
        self.scaled = (self.scores * np.array(scale, dtype)).astype(dtype)
        q, j = np.arange(T)[:, None], np.arange(T)[None]
        see = np.ones((T, T), bool)
        if causal:
            see = j <= q
        if window:
            see = see & (q - j < window)
        if wrong == "mask-strict":
            see = j < q
        if wrong == "mask-inverted":
            see = ~see
        if wrong == "mask-one-late":
            see = j <= q + 1
        if wrong == "mask-not-applied":
            see = np.ones((T, T), bool)
        if pad is not None:
            self.pad = np.arange(T)[None] >= np.array(pad)[:, None]
            see = see & ~self.pad[:, None, None, :]
        self.see = see
        self.masked = np.where(see, self.scaled, -np.inf).astype(dtype)
        if wrong == "mask-fill":
            self.masked = np.where(see, self.scaled, 0).astype(dtype)
        if wrong == "mask-fill-large":
            self.masked = np.where(see, self.scaled, 1e4).astype(dtype)
        m = self.masked
        if wrong == "softmax-query":
            e = np.exp(m - m.max(-2, keepdims=True))
            self.weights = e / e.sum(-2, keepdims=True)
        elif wrong == "mask-after-softmax":
            self.weights = np.where(see, softmax(self.scaled), 0).astype(dtype)
        elif wrong == "softmax-missing":
            self.weights = np.where(see, self.scaled, 0).astype(dtype)
        else:
            with np.errstate(invalid="ignore"):
                self.weights = softmax(m)
        w = self.weights
        if wrong == "weights-transposed":
            w = w.swapaxes(-1, -2)
        self.context = w @ v
        self.merged = merge(self.context)
        if wrong == "merge-reshape":
            self.merged = self.context.reshape(self.merged.shape)
        self.out = self.merged @ self.wo.T
        if wrong == "wo-transposed":
            self.out = self.merged @ self.wo
        if wrong == "output-missing":
            self.out = self.merged

    def inputs(self, **names):
        names = {"x": "x", "wq": "w_q", "wk": "w_k", "wv": "w_v", "wo": "w_o", **names}
        return {new: getattr(self, old) for old, new in names.items() if new}

    def flags(self):
        return f"--heads {self.count}" + (" --mask causal" if self.causal else "")


# The mistakes, with the ids that are acceptable names.
WRONG = {
    "scale-missing": "scale-missing", "scale-dmodel": "scale-dmodel",
    "scale-inverted": "scale-multiplied", "scale-twice": "scale-twice",
    "softmax-query": "softmax-axis", "weights-transposed": "weights-transposed",
    "k-dot-k": "k-dot-k|wrong-weight", "v-is-k": "v-is-k|wrong-weight", "scores-transposed": "scores-transposed",
    "weight-not-transposed": "weight-not-transposed", "split-view": "split-view",
    "merge-reshape": "merge-reshape", "wo-transposed": "wo-transposed",
}
MASKED = {"mask-inverted": "mask-inverted", "mask-strict": "causal-diag-minus1",
          "mask-not-applied": "mask-not-applied", "mask-after-softmax": "mask-after-softmax",
          "mask-fill": "mask-times-zero|mask-fill", "mask-one-late": "causal-diag-plus1"}


def flash(a, start="block", block=2, log2=False):
    """Returns the state of a running softmax over blocks of keys; `start` is the first maximum."""
    s = a.masked * np.float64(np.log2(np.e)) if log2 else a.masked
    exp = np.exp2 if log2 else np.exp
    shape = s.shape[:-1]
    m = np.zeros(shape) if start == "zero" else np.full(shape, -np.inf)
    l, acc = np.zeros(shape), np.zeros(shape + a.rv.shape[-1:])
    for at in range(0, s.shape[-1], block):
        part = s[..., at:at + block]
        new = np.maximum(m, part.max(-1))
        p, old = exp(part - new[..., None]), exp(m - new)
        l = l * old + p.sum(-1)
        acc = acc * old[..., None] + p @ a.rv[..., at:at + block, :]
        m = new
    t = a.dtype
    return m.astype(t), l.astype(t), acc.astype(t)


def rope(t, half=True, base=10000., offset=0):
    T, d = t.shape[-2:]
    angle = (np.arange(T) + offset)[:, None] * base ** (-np.arange(0, d, 2) / d)[None]
    c, s = np.cos(angle), np.sin(angle)
    out = np.empty_like(t)
    if half:
        a, b = t[..., :d // 2], t[..., d // 2:]
        out[..., :d // 2], out[..., d // 2:] = a * c - b * s, b * c + a * s
    else:
        a, b = t[..., ::2], t[..., 1::2]
        out[..., ::2], out[..., 1::2] = a * c - b * s, b * c + a * s
    return out


def add_plain():
    for i, dtype in enumerate(("f4", "f8")):
        for causal in (False, True):
            a = Attention(100 + i, causal=causal, dtype=dtype)
            every = {"q": a.q, "k": a.k, "v": a.v, "attn": a.weights, "context": a.context, "out": a.out}
            for form in ("npz", "npy", "safetensors", "pt"):
                case(f"plain {dtype} {causal} {form}", {**a.inputs(), **every}, a.flags(), form=form)
            case(f"plain unflagged {dtype} {causal}", {**a.inputs(), **every}, "", asks=causal)
            case(f"out alone {dtype} {causal}", {**a.inputs(), "y": a.out}, a.flags())
    a = Attention(7, batch=3, tokens=5, features=8, count=2, width=6, causal=True)
    case("wide heads", {**a.inputs(), "probs": a.weights, "result": a.out}, a.flags())
    case("w names", {"X": a.x, "W_Q": a.wq, "W_K": a.wk, "W_V": a.wv, "W_O": a.wo, "Q": a.q,
                     "K": a.k, "V": a.v, "S": a.scaled, "A": a.weights, "Z": a.context, "Y": a.out},
         a.flags())


def add_without_wo():
    """q, k, v and the later steps, without parameters (C7)."""
    for i, wrong in enumerate([""] + list(WRONG)):
        if wrong in ("weight-not-transposed", "split-view", "wo-transposed", "v-is-k"):
            continue
        a = Attention(200 + i, wrong=wrong, tokens=5 + i % 3)
        start = {"q": a.q, "k": a.k, "v": a.v}
        for name, tensor in (("out", a.merged), ("attn", a.merged), ("y", a.context),
                             ("hidden", a.merged), ("attn_output", a.context)):
            if wrong == "merge-reshape" and tensor is a.context:
                continue
            if wrong == "scale-dmodel" and tensor is a.context:
                continue
            case(f"qkv {wrong} {name}", {**start, name: tensor}, "--heads 3",
                 "" if not wrong else WRONG[wrong] + "|scale-other")
        if wrong not in ("merge-reshape", "scale-dmodel"):
            case(f"qkv weights {wrong} out", {**start, "weights": a.weights, "out": a.merged},
                 "--heads 3", WRONG.get(wrong, ""))
    for i, wrong in enumerate([""] + list(WRONG)):
        if wrong in ("wo-transposed",):
            continue
        a = Attention(230 + i, wrong=wrong, tokens=5 + i % 3)
        some = a.inputs(wo=None)
        case(f"no w_o {wrong}", {**some, "out": a.merged}, "--heads 3", WRONG.get(wrong, ""))
        case(f"no w_o weights {wrong}", {**some, "weights": a.weights, "out": a.merged}, "--heads 3",
             WRONG.get(wrong, ""))
        case(f"attn as output {wrong}", {**a.inputs(), "attn": a.out}, "--heads 3", WRONG.get(wrong, ""))
    for i, wrong in enumerate(MASKED):
        a = Attention(260 + i, wrong=wrong, causal=True)
        case(f"no w_o {wrong}", {**a.inputs(wo=None), "out": a.merged}, a.flags(), MASKED[wrong])
        case(f"attn as output {wrong}", {**a.inputs(), "attn": a.out}, a.flags(), MASKED[wrong])
    a = Attention(280)
    b = Attention(280, wrong="scale-missing")
    for name in ("m", "s", "l", "a", "r", "h", "mask", "hidden", "k_out", "values_out", "att"):
        case(f"lone {name}", {**a.inputs(), name: a.out}, "--heads 3")
        case(f"lone {name} wrong", {**b.inputs(), name: b.out}, "--heads 3", "scale-missing")


def add_averaged():
    for i, wrong in enumerate([""] + list(WRONG)):
        a = Attention(300 + i, wrong=wrong)
        mean = a.weights.mean(-3)
        fused = {"x": a.x, "in_proj_weight": np.concatenate([a.wq, a.wk, a.wv]),
                 "out_proj.weight": a.wo}
        if wrong == "weight-not-transposed":
            continue
        case(f"averaged {wrong}", {**fused, "attn_output": a.out, "attn_output_weights": mean},
             "--heads 3", WRONG.get(wrong, ""))
    for i, wrong in enumerate([""] + list(MASKED)):
        a = Attention(320 + i, causal=True, wrong=wrong)
        fused = {"x": a.x, "in_proj_weight": np.concatenate([a.wq, a.wk, a.wv]),
                 "out_proj.weight": a.wo}
        names = {"attn": a.weights.mean(-3), "out": a.out}
        case(f"averaged causal {wrong}", {**fused, **names}, a.flags(), MASKED.get(wrong, ""))
        case(f"averaged separate {wrong}", {**a.inputs(), **names}, a.flags(), MASKED.get(wrong, ""))
    a = Attention(340, batch=0)
    case("averaged one sample", {**a.inputs(), "weights": a.weights.mean(-3), "out": a.out}, "--heads 3")
    case("averaged alone", {**a.inputs(), "weights": a.weights.mean(-3)}, "--heads 3")


def add_flash():
    for i, causal in enumerate((False, True)):
        a = Attention(400 + i, causal=causal)
        start = a.inputs()
        m, l, acc = flash(a)
        full = {"q": a.q, "k": a.k, "v": a.v, "m": m, "l": l, "acc": acc, "out": a.out}
        case(f"flash {causal}", {**start, **full}, a.flags())
        case(f"flash acc alone {causal}", {**start, "acc": acc, "out": a.out}, a.flags())
        m, l, acc = flash(a, "zero", 6)
        case(f"flash from zero {causal}", {**start, "m": m, "l": l, "acc": acc, "out": a.out}, a.flags())
        case(f"flash sum alone {causal}", {**start, "row_max": m, "row_sum": l, "out": a.out}, a.flags())
        big = np.full_like(m, 3.5)
        p = np.exp(a.masked - 3.5)
        case(f"flash any maximum {causal}", {**start, "row_max": big, "exponentials": p,
                                             "row_sum": p.sum(-1), "weights": a.weights}, a.flags())
        m, l, acc = flash(a)
        lse = m + np.log(l)
        for name in ("lse", "logsumexp", "L", "softmax_lse"):
            case(f"flash {name} {causal}", {**start, name: lse, "out": a.out}, a.flags())
        case(f"flash lse alone {causal}", {**start, "lse": lse}, a.flags())
        case(f"flash qkv lse {causal}", {"q": a.q, "k": a.k, "v": a.v, "lse": lse, "o": a.context},
             a.flags())
        m, l, acc = flash(a, log2=True)
        case(f"flash log2 {causal}", {**start, "m": m, "l": l, "o": a.context, "out": a.out}, a.flags())
        case(f"flash log2 lse {causal}", {**start, "lse": m + np.log2(l), "out": a.out}, a.flags())
        case(f"flash log2 scores {causal}", {**start, "qk": (a.scaled * np.log2(np.e)).astype("f4"),
                                             "out": a.out}, a.flags())
        # exp2 without log2(e).
        w = np.exp2(a.masked - a.masked.max(**SOFTMAX))
        z = w / w.sum(**SOFTMAX)
        o = z @ a.v
        case(f"exp2 {causal}", {**start, "row_max": a.masked.max(-1), "row_sum": w.sum(-1), "context": o,
                                "out": merge(o) @ a.wo.T}, a.flags(), "softmax-base|scale-other|exp2")
        case(f"exp2 out {causal}", {**start, "out": merge(o) @ a.wo.T}, a.flags(),
             "softmax-base|scale-other|exp2")
        case(f"exp2 weights {causal}", {**start, "weights": z, "out": merge(o) @ a.wo.T}, a.flags(),
             "softmax-base|scale-other|exp2")
    for wrong in ("scale-missing", "scale-dmodel", "k-dot-k"):
        a = Attention(450, wrong=wrong)
        m, l, acc = flash(a)
        case(f"flash {wrong}", {**a.inputs(), "m": m, "l": l, "acc": acc, "out": a.out}, a.flags(), wrong)
        case(f"flash lse {wrong}", {**a.inputs(), "lse": m + np.log(l), "out": a.out}, a.flags(), wrong)


def add_layouts():
    for i, wrong in enumerate([""] + list(WRONG)):
        if wrong in ("weight-not-transposed", "wo-transposed"):
            continue
        a = Attention(500 + i, features=8 if i % 2 else 12, count=2 if i % 2 else 3, wrong=wrong)
        C, H = a.x.shape[-1], a.count
        kernel = lambda w: w.T.reshape(C, H, -1)
        flax = {"x": a.x, "query": kernel(a.wq), "key": kernel(a.wk), "value": kernel(a.wv),
                "out": a.wo.T.reshape(H, -1, C)}
        named = {"x": a.x, **{f"{n}.kernel": flax[n] for n in ("query", "key", "value", "out")}}
        slashed = {"x": a.x, **{f"params/{n}/kernel": flax[n] for n in ("query", "key", "value", "out")}}
        short = {"x": a.x, **{f"w_{n[0]}": flax[n] for n in ("query", "key", "value", "out")}}
        mistake = WRONG.get(wrong, "")
        case(f"flax {wrong}", {**named, "y": a.out}, "", mistake)
        case(f"flax params {wrong}", {**slashed, "attn_weights": a.weights, "y": a.out}, f"--heads {H}", mistake)
        case(f"flax short {wrong}", {**short, "weights": a.weights, "y": a.out}, "", mistake)
        bthd = lambda t: t.swapaxes(1, 2)
        case(f"flax bthd {wrong}", {**named, "q": bthd(a.q), "k": bthd(a.k), "v": bthd(a.v),
                                    "attn": a.weights, "y": a.out}, "", mistake)
    for i, wrong in enumerate(["", "gqa-tile", "scale-missing", "k-dot-k", "softmax-query"]):
        a = Attention(540 + i, features=16, count=4, kv=2, wrong=wrong)
        B, H, T, D = a.q.shape
        grouped = a.q.reshape(B, 2, 2, T, D).transpose(0, 3, 1, 2, 4)
        mistake = {"gqa-tile": "gqa-tile", **WRONG}.get(wrong, "")
        case(f"grouped q {wrong}", {**a.inputs(), "q": grouped, "k": a.k.swapaxes(1, 2),
                                    "v": a.v.swapaxes(1, 2),
                                    "weights": a.weights.reshape(B, 2, 2, T, T), "out": a.out},
             "--heads 4 --kv-heads 2", mistake)
        case(f"grouped q unflagged {wrong}", {**a.inputs(), "q": grouped, "k": a.k, "v": a.v,
                                              "out": a.out}, "--heads 4", mistake)
    for i, wrong in enumerate([""] + list(WRONG)):
        if wrong in ("merge-reshape", "split-view"):
            continue
        a = Attention(560 + i, wrong=wrong)
        each = {}
        for h in range(3):
            each |= {f"q.{h}": a.q[:, h], f"k.{h}": a.k[:, h], f"weights_head{h}": a.weights[:, h],
                     f"head_{h}": a.context[:, h]}
        case(f"a tensor a head {wrong}", {**a.inputs(), **each, "out": a.out}, "--heads 3", WRONG.get(wrong, ""))
        case(f"weights a head {wrong}", {**a.inputs(), **{f"w_head{h}": a.weights[:, h] for h in range(3)},
                                         "out": a.out}, "--heads 3", WRONG.get(wrong, ""))
        case(f"attn a head {wrong}", {**a.inputs(), **{f"attn_{h + 1}": a.weights[:, h] for h in range(3)}},
             "--heads 3", WRONG.get(wrong, "") if wrong not in ("weights-transposed", "v-is-k", "wo-transposed") else "")


def add_names():
    for i, wrong in enumerate([""] + list(WRONG)):
        a = Attention(600 + i, causal=i % 2 == 1, wrong=wrong)
        mistake = WRONG.get(wrong, "")
        bert = "encoder.layer.0.attention.self."
        hf = {"x": a.x, bert + "query.weight": a.wq, bert + "key.weight": a.wk,
              bert + "value.weight": a.wv, "encoder.layer.0.attention.output.dense.weight": a.wo}
        case(f"bert {wrong}", {**hf, "attentions.0": a.weights,
                               "encoder.layer.0.attention.output.dense": a.out}, a.flags(), mistake)
        case(f"bert modules {wrong}", {**hf, bert + "query": merge(a.q), bert + "key": merge(a.k),
                                       bert + "value": merge(a.v), "encoder.layer.0.attention.self": a.merged,
                                       "encoder.layer.0.attention.output.dense": a.out}, a.flags(), mistake)
        case(f"bert outer {wrong}", {**hf, "encoder.layer.0.attention.self": a.merged}, a.flags(), mistake
             if wrong != "wo-transposed" else "")
        case(f"cache names {wrong}", {**a.inputs(), "k_cache": a.k, "v_cache": a.v, "out": a.out},
             a.flags(), mistake)
        case(f"past_key_values {wrong}", {**a.inputs(), "past_key_values.0.key": a.k,
                                          "past_key_values.0.value": a.v, "out": a.out}, a.flags(), mistake)
        case(f"hidden {wrong}", {**a.inputs(), "hidden": a.out}, a.flags(), mistake)
        case(f"hidden_states {wrong}", {**a.inputs(), "attn_weights": a.weights, "hidden_states": a.out},
             a.flags(), mistake)
        case(f"unknown {wrong}", {**a.inputs(), "blorp": a.out, "gnarf": a.weights}, a.flags(), mistake)
        case(f"unknown beside {wrong}", {**a.inputs(), "q": a.q, "k": a.k, "v": a.v, "foo1": a.weights,
                                         "step4": a.out}, a.flags(), mistake)


def add_alibi():
    for i, count in enumerate((2, 4)):
        a = Attention(700 + i, tokens=6, features=8, count=count, causal=True)
        slopes = 2. ** (-8 * np.arange(1, count + 1) / count)
        T = 6
        q, j = np.arange(T)[:, None], np.arange(T)[None]
        for name, distance in (("mpt", j - T + 1 + 0 * q), ("distance", j - q), ("first", j + 0 * q),
                               ("row", j - q + q * q), ("other", j - 2 * T + 0 * q)):
            for wrong in ("", "sign", "scale"):
                sign = -1 if wrong == "sign" else 1
                bias = (sign * slopes[:, None, None] * distance).astype("f4")
                s = a.scores if wrong == "scale" else a.scaled
                m = np.where(j <= q, s + bias, -np.inf)
                w = softmax(m)
                o = merge(w @ a.v) @ a.wo.T
                mistake = {"sign": "alibi-sign", "scale": "scale-missing|alibi-scale", "": ""}[wrong]
                flags = a.flags() + " --position-bias alibi"
                case(f"alibi {name} {count} {wrong}", {**a.inputs(), "alibi": bias, "weights": w, "out": o},
                     flags, mistake)
                case(f"alibi 4d {name} {count} {wrong}",
                     {**a.inputs(), "alibi_bias": bias[None], "scores": s + bias, "out": o}, flags, mistake)
                case(f"alibi key {name} {count} {wrong}",
                     {**a.inputs(), "bias": bias[:, -1:, :], "out": o}, flags, mistake) \
                    if name in ("mpt", "first", "other") else None


def add_scaled_query():
    r = np.random.default_rng(5)
    for i, wrong in enumerate(("", "k-dot-k", "softmax-query", "weights-transposed", "twice")):
        a = Attention(800 + i, causal=True, wrong="scale-twice" if wrong == "twice" else wrong)
        root = np.float32(a.q.shape[-1] ** -.5)
        mistake = {"twice": "scale-twice", **WRONG}.get(wrong, "")
        q = a.q * root
        steps = {"scores": a.scores * root, "weights": a.weights, "out": a.out}
        if wrong == "twice":
            steps["scores"] = a.scores * root
        case(f"q scaled {wrong}", {**a.inputs(), "q": q, "k": a.k, **steps}, a.flags(), mistake)
        case(f"q scaled alone {wrong}", {**a.inputs(), "q": q, "k": a.k, "out": a.out}, a.flags(), mistake)
        case(f"q scaled named {wrong}", {**a.inputs(), "q_scaled": q, "k": a.k, "logits": steps["scores"],
                                         "out": a.out}, a.flags(), mistake)
        case(f"q scaled twice saved {wrong}", {**a.inputs(), "q": a.q, "q_scaled": q, "k": a.k,
                                               "attn": a.weights, "out": a.out}, a.flags(), mistake)
        half = np.sqrt(root)
        case(f"q and k scaled {wrong}", {**a.inputs(), "q": a.q * half, "k": a.k * half, **steps},
             a.flags(), mistake)
        case(f"given q scaled {wrong}", {"q_scaled": q, "q": a.q, "k": a.k, "v": a.v, "scores": steps["scores"],
                                         "weights": a.weights, "out": a.context}, a.flags(), mistake) \
            if wrong != "twice" else None
    # After a norm of query and key.
    for i, wrong in enumerate(("", "k-dot-k", "softmax-query", "scale-missing", "scale-twice")):
        a = Attention(820 + i)
        D = a.q.shape[-1]
        gq, gk = (r.normal(size=D).astype("f4") for _ in range(2))
        norm = lambda t, g: t / np.sqrt((t * t).mean(-1, keepdims=True) + 1e-6) * g
        qn, kn = norm(a.q, gq), norm(a.k, gk)
        if wrong == "k-dot-k":
            used = kn
        else:
            used = qn
        scaled = used * np.float32({"scale-missing": 1, "scale-twice": 1 / D}.get(wrong, D ** -.5))
        s = scaled @ kn.swapaxes(-1, -2)
        w = softmax(s)
        if wrong == "softmax-query":
            e = np.exp(s)
            w = e / e.sum(-2, keepdims=True)
        o = merge(w @ a.v) @ a.wo.T
        base = {**a.inputs(), "g_query": gq, "g_key": gk}
        flags = "--heads 3 --qk-norm head"
        case(f"normed then scaled {wrong}", {**base, "q_norm": scaled, "k_norm": kn, "scores": s,
                                             "weights": w, "out": o}, flags, WRONG.get(wrong, ""))
        case(f"normed, scaled beside {wrong}", {**base, "q": a.q, "q_normed": qn, "q_scaled": scaled,
                                                "k_normed": kn, "weights": w, "out": o}, flags,
             WRONG.get(wrong, ""))


def add_small():
    a = Attention(900, causal=True)
    for wrong in ("mask-fill-large",):
        b = Attention(900, causal=True, wrong=wrong)
        for name in ("weights", "out"):
            case(f"1e4 {name}", {**a.inputs(), name: getattr(b, name)}, a.flags(), "mask-sign|mask-fill")
        for number in (1e4, 1e9, 100.):
            s = np.where(a.see, a.scaled, a.scaled + number)
            w = softmax(s)
            o = merge(w @ a.v) @ a.wo.T
            case(f"added {number} weights", {**a.inputs(), "weights": w, "out": o}, a.flags(), "mask-")
            case(f"added {number} out", {**a.inputs(), "out": o}, a.flags(), "mask-")
    for i, causal in enumerate((False, True)):
        a = Attention(910 + i, causal=causal)
        turned = {"x": a.x, "w_q": a.wq.T, "w_k": a.wk.T, "w_v": a.wv.T, "w_o": a.wo.T}
        case(f"in-out {causal}", {**turned, "q": a.q, "k": a.k, "v": a.v, "weights": a.weights,
                                  "out": a.out}, "--heads 3", asks=True)
        case(f"in-out unflagged {causal}", {**turned, "q": a.q, "weights": a.weights, "out": a.out}, "",
             asks=True)
        for half in (True, False):
            q, k = rope(a.q, half), rope(a.k, half)
            s = q @ k.swapaxes(-1, -2) / np.float32(2)
            s = np.where(a.see, s, -np.inf)
            w = softmax(s)
            o = merge(w @ a.v) @ a.wo.T
            case(f"rope asked {half} {causal}", {**a.inputs(), "q": a.q, "k": a.k, "q_rot": q, "k_rot": k,
                                                 "weights": w, "out": o}, "--heads 3", asks=True)
            case(f"rope asked out {half} {causal}", {**a.inputs(), "out": o}, "--heads 3", asks=True)
            kind = "half" if half else "interleaved"
            case(f"rope {kind} {causal}", {**a.inputs(), "q": q, "k": k, "weights": w, "out": o},
                 a.flags() + f" --rope {kind}")
            other = "interleaved" if half else "half"
            case(f"rope style {kind} {causal}", {**a.inputs(), "q_rot": q, "k_rot": k, "weights": w, "out": o},
                 a.flags() + f" --rope {other}", "rope-style")
    for causal in (False, True):
        a = Attention(930, causal=causal, pad=[6, 4])
        case(f"padding {causal}", {**a.inputs(), "q": a.q, "attn": a.weights, "out": a.out},
             "--heads 3 --lengths 6,4 --mask padding" + (",causal" if causal else ""))
    a = Attention(940, causal=True, window=3)
    case("window", {**a.inputs(), "attn": a.weights, "out": a.out}, "--heads 3 --mask window:3,causal")
    case("window alone", {**a.inputs(), "out": a.out}, "--heads 3 --mask window:3,causal")
    a = Attention(950, features=16, count=4, kv=2, causal=True)
    case("gqa", {**a.inputs(), "q": a.q, "k": a.k, "v": a.v, "attn": a.weights, "out": a.out},
         "--heads 4 --kv-heads 2 --mask causal")
    a = Attention(951, features=16, count=4, kv=1, causal=True)
    case("mqa", {**a.inputs(), "q": a.q, "k": a.k[:, 0], "v": a.v[:, 0], "attn": a.weights, "out": a.out},
         "--heads 4 --kv-heads 1 --mask causal")


def save(folder, tensors, form):
    path = os.path.join(folder, "mine" if form == "npy" else "mine." + form)
    if form == "npz":
        np.savez(path, **tensors)
    elif form == "npy":
        os.makedirs(path, exist_ok=True)
        for name, tensor in tensors.items():
            np.save(os.path.join(path, name + ".npy"), tensor)
    elif form == "pt":
        import torch
        torch.save({n: torch.from_numpy(np.ascontiguousarray(t)) for n, t in tensors.items()}, path)
    else:
        header, data = {}, b""
        for name, tensor in tensors.items():
            raw = np.ascontiguousarray(tensor).tobytes()
            header[name] = {"dtype": {"f4": "F32", "f8": "F64"}[tensor.dtype.str[1:]],
                            "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text + data)
    return path


def ask(path, flags):
    done = subprocess.run([PROGRAM, "diagnose", path, "--json", *flags.split()], capture_output=True,
                          text=True)
    try:
        return done.returncode, json.loads(done.stdout), done.stderr.strip()
    except json.JSONDecodeError:
        return done.returncode, {}, done.stderr.strip()


def judged(code, found, mistake, asks):
    """Returns whether the verdict is right, and its text."""
    ids = [f["id"] or "unknown" for f in found.get("findings", []) if not f["harmless"]]
    ties = [t for f in found.get("findings", []) for t in f["ties"]]
    said = ", ".join(ids) + (f" (ties {', '.join(ties)})" if ties else "")
    for each in found.get("skipped", []):
        said += f"; not compared {each['name']}: {each['reason']}"
    if not mistake:
        question = any("Which is it?" in r for r in found.get("remarks", []))
        return code == 0 or (asks and code == 3 and question and not ids), said
    asked = [r for r in found.get("remarks", []) if "Which is it?" in r]
    if asked and any(p in r for r in asked for p in mistake.split("|")):
        return True, said
    named = len(ids) == 1 and any(i.startswith(p) for i in ids + ties for p in mistake.split("|"))
    return named, said


def main():
    for add in [f for n, f in globals().items() if n.startswith("add_")]:
        add()
    counts = {False: [0, 0], True: [0, 0]}
    for name, tensors, flags, mistake, asks, form in CASES:
        if ONLY not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            code, found, error = ask(save(folder, tensors, form), flags)
        fine, said = judged(code, found, mistake, asks)
        counts[bool(mistake)][0] += fine
        counts[bool(mistake)][1] += 1
        if not fine:
            print(f"{name}: exit {code}, should be {mistake or 'right'}: {said}{error}", flush=True)
    print(f"right programs that are right: {counts[False][0]} of {counts[False][1]}; "
          f"mistakes that are named: {counts[True][0]} of {counts[True][1]}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares rules of a user with PyTorch and NumPy.

    /usr/bin/python3 tests/check_rules.py build/dev/app/attn-explain

Evaluates each rule in three ways: by the program, by the lines that --code writes for it, and by hand
in PyTorch from the tensors before it. The exit code is 1 if any of them differ.
"""
import json
import math
import subprocess
import sys
import tempfile

import numpy as np
import torch

program = sys.argv[1]
failed = checked = 0


def run(*words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{words}: {done.stderr}")
    return done.stdout


def tensors(words):
    steps = json.loads(run(*words, "--format", "json", "--dtype", "float64"))["steps"]
    def numbers(data):
        return [numbers(each) for each in data] if isinstance(data, list) else float(data)
    return {step["name"]: torch.tensor(numbers(step["data"]), dtype=torch.float64) for step in steps}


def softmax_off_by_one(t):
    e = torch.exp(t["scaled_scores"])
    return e / (1 + e.sum(-1, keepdim=True))


def distances(t):
    return -torch.cdist(t["query"], t["key"]) ** 2


def cosine(t):
    return torch.nn.functional.cosine_similarity(
        t["query"].unsqueeze(-2), t["key"].unsqueeze(-3), dim=-1)


def latest(t):
    return t.get("masked_scores", t["scaled_scores"])


def grid(t):
    shape = t["scores"].shape
    q = torch.arange(shape[-2]).reshape(-1, 1)
    k = torch.arange(shape[-1]).reshape(1, -1)
    return q, k


def linear(t):
    phi = lambda x: torch.relu(x) + 0.1
    q, k, v = phi(t["query"]), phi(t["key"]), t["value"]
    return (q @ (k.transpose(-1, -2) @ v)) / (q @ k.sum(-2).unsqueeze(-1))


def earlier_mean(t):
    q, k = grid(t)
    seen = (k <= q).double()
    return (t["scaled_scores"] * 0 + 1) * seen / seen.sum(-1, keepdim=True)


rules = [
    ("scaled_scores[q,k] = scores[q,k] / D", lambda t: t["scores"] / t["query"].shape[-1]),
    ("scaled_scores[q,k] = scores[q,k] - 0.1 * abs(q - k)",
     lambda t: t["scores"] - 0.1 * (grid(t)[0] - grid(t)[1]).abs()),
    ("scaled_scores[q,k] = 2 * tanh(scores[q,k] / 2) ^ 3", lambda t: 2 * torch.tanh(t["scores"] / 2) ** 3),
    ("scores[q,k] = -(sum f: (query[q,f] - key[k,f]) ^ 2)", distances),
    ("scores[q,k] = (sum f: query[q,f] * key[k,f]) / (sqrt(sum f: query[q,f]^2) * sqrt(sum f: key[k,f]^2))",
     cosine),
    ("weights[q,k] = sigmoid(scores[q,k])", lambda t: torch.sigmoid(latest(t))),
    ("weights[q,k] = relu(scores[q,k]) / Tk", lambda t: torch.relu(latest(t)) / t["scores"].shape[-1]),
    ("weights[q,k] = exp(scaled_scores[q,k]) / (1 + sum j: exp(scaled_scores[q,j]))", softmax_off_by_one),
    ("weights[q,k] = if k <= q then 1 / (q + 1) else 0", earlier_mean),
    ("weights[q,k] = scores[q,k] - max j in 0..q+1: scores[q,j]",
     lambda t: latest(t) - torch.cummax(latest(t), -1).values.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)),
    ("context[q,f] = (sum k: (sum g: (relu(query[q,g]) + 0.1) * (relu(key[k,g]) + 0.1)) * value[k,f])"
     " / (sum k: sum g: (relu(query[q,g]) + 0.1) * (relu(key[k,g]) + 0.1))", linear),
    ("context[q,f] = if q >= 1 then value[q - 1, f] else mean k: value[k,f]",
     lambda t: torch.cat([t["value"].mean(-2, keepdim=True), t["value"][..., :-1, :]], -2)),
    ("merged[t,o] = context[o / Dv, t, o % Dv] * 2",
     lambda t: 2 * t["context"].transpose(-2, -3).flatten(-2)),
]
walks = [
    ["--seq-len", "5", "--embed-dim", "6", "--heads", "2"],
    ["--seq-len", "4", "--embed-dim", "4", "--heads", "2", "--batch", "3"],
    ["--seq-len", "3", "--embed-dim", "2", "--heads", "1", "--merge"],
]

for rule, by_hand in rules:
    step = rule[:rule.index("[")]
    for walk in walks:
        if step == "merged" and "1" == walk[walk.index("--heads") + 1]:
            continue
        words = [*walk, "--rule", rule]
        mine = tensors(words)
        theirs = by_hand(mine).reshape(mine[step].shape)
        checked += 1
        if not torch.allclose(mine[step], theirs, rtol=1e-9, atol=1e-9):
            failed += 1
            print("by hand:", rule, walk, float((mine[step] - theirs).abs().max()))
        for language in ("torch", "numpy"):
            code = run(*words, "--code", language, "--only", f"{step},context", "--dtype", "float64")
            scope = {}
            try:
                exec(code.replace("print(", "(lambda *_: None)("), scope)
            except Exception as error:
                failed += 1
                print("code:", language, rule, walk, repr(error), code[-900:])
                continue
            for name in (step, "context"):
                checked += 1
                made = torch.as_tensor(np.asarray(scope[name]))
                if made.shape != mine[name].shape or not torch.allclose(
                        made.double(), mine[name], rtol=1e-9, atol=1e-9):
                    failed += 1
                    print("code:", language, rule, walk, name)
print(f"{checked} tensors of {len(rules)} rules, {failed} failed")
sys.exit(1 if failed else 0)

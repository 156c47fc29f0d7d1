#!/usr/bin/python3
"""Checks the usual tolerance of `tolerance` with PyTorch: random walks in float32 and bfloat16, whose
context is computed from x and the parameters in other orders. At least 99 of 100 must pass; the
script also counts the known mistakes that pass. Then it compares the number of digits that the state
of retention loses in bfloat16 (`--forms --compute-dtype`) with the same recurrence in PyTorch.

    tests/check_tolerance.py [PROGRAM] [COUNT] [SEED]
"""

import collections
import json
import math
import random
import subprocess
import sys

from oracles import tensor_of, torch

TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(" ".join(map(str, words)) + ": " + done.stderr)
    return json.loads(done.stdout)


def random_walk(chance):
    heads = chance.choice((1, 2, 4, 8))
    width = chance.choice((2, 4, 8, 16, 32))
    words = [
        "--heads",
        heads,
        "--seq-len",
        chance.choice((2, 3, 5, 8, 17, 32)),
        "--embed-dim",
        heads * width,
        "--seed",
        chance.randrange(1000),
        "--no-merge",
    ]
    if chance.random() < 0.6:
        words += ["--mask", chance.choice(("causal", "causal,window:3"))]
    if chance.random() < 0.3:
        words += ["--bias"]
    if chance.random() < 0.3 and heads > 1:
        words += ["--kv-heads", heads // 2]
    return words


def tensors(walk, dtype):
    found = {}
    for step in walk["steps"]:
        if step["dtype"] in ("float32", "bfloat16", "bool"):
            cells = tensor_of(step)
            found[step["name"]] = cells if step["dtype"] == "bool" else cells.to(dtype)
    return found


def projected(t, name, heads, way):
    w, b = t["w_" + name], t.get("b_" + name)
    if way == "einsum":
        rows = torch.einsum("tc,oc->to", t["x"], w) + (0 if b is None else b)
    elif way == "chunks":  # the features of x in two parts
        half = w.shape[1] // 2
        rows = t["x"][:, :half] @ w[:, :half].T + t["x"][:, half:] @ w[:, half:].T
        rows = rows if b is None else rows + b
    else:
        rows = torch.nn.functional.linear(t["x"], w, b)
    return rows.reshape(len(rows), heads, -1).transpose(0, 1)


def hidden(t, q, k):
    return t["mask"] if "mask" in t else torch.zeros(q.shape[-2], k.shape[-2], dtype=torch.bool)


def attend(t, q, k, v, way):
    scale = 1 / math.sqrt(q.shape[-1])
    mask = hidden(t, q, k)
    if way == "einsum":
        scores = torch.einsum("hqf,hkf->hqk", q, k) * scale
        weights = scores.masked_fill(mask, -math.inf).softmax(-1)
        return torch.einsum("hqk,hkf->hqf", weights, v)
    if way == "scaled query":
        scores = torch.bmm(q * scale, k.transpose(-2, -1)).masked_fill(mask, -math.inf)
        return torch.bmm(scores.softmax(-1), v)
    if way == "float32":  # as fused kernels: rounded once, at the end
        scores = (q.float() @ k.float().mT * scale).masked_fill(mask, -math.inf)
        return (scores.softmax(-1) @ v.float()).to(q.dtype)
    if way == "chunks":  # online softmax over blocks of keys
        most = torch.full((*q.shape[:-1], 1), -math.inf)
        total, mixed = torch.zeros_like(most), torch.zeros(*q.shape[:-1], v.shape[-1])
        for first in range(0, k.shape[-2], 3):
            part = slice(first, first + 3)
            scores = (q @ k[:, part].mT).float() * scale
            scores = scores.masked_fill(mask[..., part], -math.inf)
            new = torch.maximum(most, scores.amax(-1, keepdim=True))
            base = torch.where(new.isinf(), torch.zeros_like(new), new)
            fade = torch.exp(torch.where(most.isinf(), most, most - base))
            grown = torch.exp(scores - base)
            total = total * fade + grown.sum(-1, keepdim=True)
            mixed = mixed * fade + (grown.to(q.dtype) @ v[:, part]).float()
            most = new
        return (mixed / total).to(q.dtype)
    scores = (q @ k.mT * scale).masked_fill(mask, -math.inf)
    if way == "float32 softmax":
        return scores.softmax(-1, dtype=torch.float32).to(q.dtype) @ v
    return scores.softmax(-1) @ v


WAYS = ("matmul", "einsum", "scaled query", "float32", "chunks", "float32 softmax")


def check_lost(program):
    """Compares the digits lost by the recurrent form of retention with those of PyTorch."""
    flags = "--heads 2 --compute-dtype bfloat16".split()
    said = run(program, "attentions", "retention", "--forms", "--json", *flags)
    form = next(each for each in said["precision"] if each["form"] == "recurrent")
    is_right = True
    for tokens in (64, 256):
        walk = ["--attention", "retention", "--form", "recurrent", "--seq-len", tokens, *flags]
        steps = {each["name"]: each for each in run(program, *walk, "--json")["steps"]}
        q, k, v = (tensor_of(steps[name]) for name in ("query", "key", "value"))
        states = {}
        for dtype in (torch.float64, torch.bfloat16):
            decay = (1 - 2.0 ** (-5 - torch.arange(2))).to(dtype)[:, None, None]
            state = torch.zeros(2, k.shape[-1], v.shape[-1], dtype=dtype)
            rows = []
            for t in range(tokens):
                grown = k[:, t, :, None].to(dtype) * v[:, t, None, :].to(dtype)
                state = decay * state + grown
                rows.append(state)
            states[dtype] = torch.stack(rows, 1)
        exact = states[torch.float64]
        error = (states[torch.bfloat16].double() - exact).square().mean().sqrt()
        lost = max(0, math.log10(error / exact.square().mean().sqrt() / 2.0**-8))
        stated = form[str(tokens)][form["steps"].index("state")]
        print(f"state, {tokens} tokens: {stated:.2f} digits lost, in PyTorch {lost:.2f}")
        is_right = is_right and abs(stated - lost) < 0.2
    return is_right


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/dev/app/attn-explain"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    passed, tried = collections.Counter(), collections.Counter()
    walks, right = collections.Counter(), collections.Counter()
    usual, certain, ratios = (
        collections.Counter(),
        collections.Counter(),
        collections.defaultdict(list),
    )
    for n in range(count):
        kind = "bfloat16" if n % 2 else "float32"
        words = random_walk(chance) + ["--dtype", kind, "--compute-dtype", kind]
        walk = run(program, *words, "--json")
        said = run(program, "tolerance", "--json", "--step", "context", *words)
        row = next(each for each in said["steps"] if each["name"] == "context")
        t, config = tensors(walk, TYPES[kind]), walk["config"]
        heads, kv_heads = config["heads"], config["kv_heads"]
        expected = t["context"].double().reshape(heads, config["seq_len"], -1)
        allowed = row["atol_usual"] + row["rtol_usual"] * expected.abs()
        all_pass = True
        for way in WAYS:
            made = {
                name: projected(t, name, heads if name == "query" else kv_heads, way)
                for name in ("query", "key", "value")
            }
            k, v = (made[each].repeat_interleave(heads // kv_heads, 0) for each in ("key", "value"))
            theirs = attend(t, made["query"], k, v, way).double()
            share = ((theirs - expected).abs() / allowed.clamp_min(1e-300)).max().item()
            ratios[kind].append(share)
            tried[kind, way] += 1
            passed[kind, way] += share <= 1
            all_pass = all_pass and share <= 1
        walks[kind] += 1
        right[kind] += all_pass
        usual[kind] += len(said["hides"]["mistakes"])
        usual[kind, "shown"] += said["hides"]["detected"]
        certain[kind] += len(said["hides"]["mistakes_certain"])
    is_right = check_lost(program)
    for kind in TYPES:
        for way in WAYS:
            print(f"{kind} {way}: {passed[kind, way]} of {tried[kind, way]} pass")
        total = sum(passed[kind, way] for way in WAYS)
        share = total / sum(tried[kind, way] for way in WAYS)
        many = usual[kind] + usual[kind, "shown"]
        sizes = sorted(ratios[kind])
        middle, largest = sizes[len(sizes) // 2], sizes[-1]
        print(
            f"{kind}: {100 * share:.2f}% pass, all orders in {right[kind]} of {walks[kind]} walks; "
            f"the largest error is {middle:.2f} of the tolerance in half of them, at most {largest:.2f}; "
            f"{usual[kind]} of {many} mistakes pass, {certain[kind]} with the certain tolerance"
        )
        is_right = is_right and share >= 0.99
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())

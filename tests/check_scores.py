#!/usr/bin/env python3
"""Compares caps, biases and masks of attn-explain with PyTorch in float64, in primitive operations,
over random configurations of awkward sizes.

    tests/check_scores.py build/dev/app/attn-explain [HOW_MANY]

Without PyTorch nothing is checked, and a line reports this.
"""

import json
import math
import random
import subprocess
import sys

from oracles import torch


def slopes_of(heads):
    """Computes ALiBi's slopes by the code of the paper."""

    def power_of_two(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(heads).is_integer():
        return power_of_two(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return power_of_two(closest) + slopes_of(2 * closest)[0::2][: heads - closest]


def buckets_of(relative, bidirectional, buckets, most):
    """Computes T5's buckets by its own code."""
    result = torch.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        result = result + (relative > 0).long() * buckets
        relative = relative.abs()
    else:
        relative = -torch.min(relative, torch.zeros_like(relative))
    exact = buckets // 2
    large = exact + (
        torch.log(relative.float() / exact) / math.log(most / exact) * (buckets - exact)
    ).clamp(min=0).long()
    large = torch.min(large, torch.full_like(large, buckets - 1))
    return result + torch.where(relative < exact, relative, large)


def hidden_of(kinds, queries, keys, first):
    q = torch.arange(first, first + queries)[:, None]
    k = torch.arange(keys)[None, :]
    hidden = torch.zeros(queries, keys, dtype=torch.bool)
    if "prefix" in kinds:
        hidden |= (k > q) & (k >= kinds["prefix"])
    elif "causal" in kinds:
        hidden |= k > q
    if "window" in kinds:
        hidden |= q - k >= kinds["window"]
    if "chunk" in kinds:
        hidden |= torch.div(q, kinds["chunk"], rounding_mode="floor") != k // kinds["chunk"]
    if "documents" in kinds:
        numbers = torch.cat([torch.full((n,), i) for i, n in enumerate(kinds["documents"])])
        hidden |= numbers[first : first + queries, None] != numbers
    return hidden


def check(program, seed):
    pick = random.Random(seed)
    heads, width = pick.randint(1, 6), pick.randint(1, 7)
    queries = pick.randint(1, 9)
    memory = pick.random() < 0.4
    keys = queries + pick.randint(0, 6) if memory else queries
    first = keys - queries if memory and pick.random() < 0.6 else 0
    batch = pick.choice([None, 1, 3])
    kinds = {}
    for kind, chance, most in (("window", 0.4, 5), ("chunk", 0.3, 5), ("prefix", 0.2, 5)):
        if pick.random() < chance:
            kinds[kind] = pick.randint(1, most)
    if pick.random() < 0.6:
        kinds["causal"] = None
    if keys > 1 and pick.random() < 0.2:
        split = pick.randint(1, keys - 1)
        kinds["documents"] = [split, keys - split]
    words = [
        k if v is None else f"{k}:" + ("+".join(map(str, v)) if isinstance(v, list) else str(v))
        for k, v in kinds.items()
    ]
    cap = pick.choice([None, 0.3, 2.0, 50.0])
    bias = pick.choice([None, "alibi", "t5", "t5:8:6"])
    scale = pick.choice(["head-dim", "none"])
    variant = pick.choice(["loop", "vectorized", "fused"])
    command = [program, "--dtype", "float64", "--seed", str(seed), "--heads", str(heads)]
    command += ["--head-dim", str(width), "--embed-dim", "8", "--seq-len", str(queries)]
    command += ["--scale", scale, "--variant", variant, "--format", "json"]
    command += ["--batch", str(batch)] if batch else []
    command += ["--memory-len", str(keys)] if memory else []
    command += ["--causal-align", "end"] if first else []
    command += ["--mask", ",".join(words)] if words else []
    command += ["--softcap", str(cap)] if cap else []
    command += ["--position-bias", bias] if bias else []
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return f"{' '.join(command)}\n{run.stderr}"
    steps = {s["name"]: s for s in json.loads(run.stdout)["steps"]}

    def tensor(name):
        text = json.dumps(steps[name]["data"])
        text = text.replace('"-inf"', "-Infinity").replace('"inf"', "Infinity").replace('"nan"', "NaN")
        return torch.tensor(json.loads(text), dtype=torch.float64)

    expected = {}
    scores = tensor("query") @ tensor("key").transpose(-2, -1)
    scores = scores / math.sqrt(width) if scale == "head-dim" else scores
    if cap:
        scores = expected["capped_scores"] = cap * torch.tanh(scores / cap)
    distance = torch.arange(keys)[None, :] - torch.arange(first, first + queries)[:, None]
    if bias == "alibi":
        slopes = torch.tensor(slopes_of(heads), dtype=torch.float64)
        expected["position_bias"] = -slopes[:, None, None] * distance.abs()
    elif bias:
        numbers = (32, 128) if bias == "t5" else (8, 6)
        one_way = "causal" in kinds and "prefix" not in kinds
        rows = buckets_of(distance, not one_way, *numbers)
        expected["position_bias"] = tensor("relative_attention_bias")[rows].permute(2, 0, 1)
    if bias:
        if heads == 1:
            expected["position_bias"] = expected["position_bias"][0]
        scores = expected["biased_scores"] = scores + expected["position_bias"]
    if kinds:
        hidden = hidden_of(kinds, queries, keys, first)
        expected["mask"] = hidden.double()
        scores = scores.masked_fill(hidden, -math.inf)
    expected["weights"] = torch.softmax(scores, -1)
    expected["context"] = expected["weights"] @ tensor("value")
    for name, right in expected.items():
        if name not in steps:
            if variant == "fused":
                continue
            return f"{' '.join(command)}\nno {name}"
        ours = tensor(name)
        far = (ours - right).abs()
        far = far[~(ours.isnan() & right.isnan()) & ~(ours == right)]
        if ours.shape != right.shape or (far.numel() and not far.max() < 1e-10):
            return f"{' '.join(command)}\n{name} differs by {far.max() if far.numel() else 'shape'}"
    return None


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    failures = [failure for seed in range(count) if (failure := check(program, seed))]
    for failure in failures[:10]:
        print(failure)
    print(f"{count - len(failures)} of {count} configurations agree")
    sys.exit(1 if failures else 0)


main()

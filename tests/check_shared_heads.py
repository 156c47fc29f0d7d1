"""Checks grouped heads, sinks and caches against PyTorch in float64, with primitive operations.

Usage: python3 tests/check_shared_heads.py PROGRAM [CONFIGURATIONS]

Every step of seeded random walks is recomputed from the walk's own x and parameters.
"""

import io
import random
import subprocess
import sys

from oracles import numpy as np, torch


def run(program, flags):
    done = subprocess.run(
        [program, *flags, "--dtype", "float64", "--format", "npz", "-o", "-"],
        check=True, capture_output=True)
    with np.load(io.BytesIO(done.stdout)) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


def pick(choose):
    """Returns the sizes and flags of one walk."""
    kv_heads = choose.choice([1, 1, 2, 3])
    size = {
        "kv_heads": kv_heads,
        "heads": kv_heads * choose.choice([1, 2, 3, 5]),
        "head_dim": choose.choice([1, 2, 3, 7]),
        "value_dim": choose.choice([1, 3, 6]),
        "embed_dim": choose.choice([1, 5, 8]),
        "seq_len": choose.choice([1, 2, 5, 9]),
        "batch": choose.choice([1, 2, 3]),
    }
    if size["heads"] == 1:
        size["heads"], size["kv_heads"] = 2, 1
    flags = ["--seed", str(choose.randrange(10**6)), "--output-projection"]
    for name, value in size.items():
        flags += ["--" + name.replace("_", "-"), str(value)]
    size["projection"] = choose.choice(["split", "fused", "stacked"])
    size["variant"] = choose.choice(["loop", "vectorized", "fused"])
    size["causal"] = choose.random() < 0.5
    flags += ["--projection", size["projection"], "--variant", size["variant"]]
    size["sink"] = choose.choice(["none", "zero", "randn"])
    if size["sink"] != "none":
        flags += ["--sink", size["sink"]]
    size["past"] = choose.choice([0, 0, 1, 4])
    if size["past"]:
        flags += ["--past", str(size["past"])]
    if choose.random() < 0.5:
        flags.append("--bias")
    if size["causal"]:
        flags += ["--mask", "causal"]
    return size, flags


def split(tensor, heads):
    batch, tokens, features = tensor.shape
    return tensor.view(batch, tokens, heads, features // heads).transpose(1, 2)


def expected(size, got):
    """Computes the steps from x and the parameters."""
    h, k, d, dv = (size[n] for n in ("heads", "kv_heads", "head_dim", "value_dim"))
    x = got["x"]
    steps = {}
    if size["projection"] == "stacked":
        for part in ("query", "key", "value"):
            steps[part] = x[:, None] @ got["w_" + part].transpose(-1, -2)
            if "b_" + part in got:
                steps[part] = steps[part] + got["b_" + part][:, None]
    else:
        if size["projection"] == "fused":
            qkv = x @ got["w_qkv"].T + got.get("b_qkv", 0)
            steps["qkv"] = qkv
            parts = qkv.split([h * d, k * d, k * dv], dim=-1)
        else:
            parts = [x @ got["w_" + part].T + got.get("b_" + part, 0)
                     for part in ("query", "key", "value")]
        for part, tensor, heads in zip(("query", "key", "value"), parts, (h, k, k)):
            steps[part] = split(tensor, heads)
    key, value = steps["key"], steps["value"]
    if size["past"]:
        key = steps["present_key"] = torch.cat([got["past_key"], key], dim=2)
        value = steps["present_value"] = torch.cat([got["past_value"], value], dim=2)
    key = steps["repeated_key"] = key.repeat_interleave(h // k, dim=1)
    value = steps["repeated_value"] = value.repeat_interleave(h // k, dim=1)
    steps["scores"] = steps["query"] @ key.transpose(-1, -2)
    logits = steps["scaled_scores"] = steps["scores"] * d ** -0.5
    if size["causal"]:
        hidden = torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1 + size["past"])
        logits = steps["masked_scores"] = logits.masked_fill(hidden, -float("inf"))
    total = logits.logsumexp(-1, keepdim=True)
    if size["sink"] != "none":
        sink = got["sink"].view(-1, 1, 1).expand(*total.shape)
        total = torch.logaddexp(total, sink)
        steps["sink_weight"] = torch.exp(sink - total).squeeze(-1)
    steps["weights"] = torch.exp(logits - total)
    context = steps["context"] = steps["weights"] @ value
    merged = steps["merged"] = context.transpose(1, 2).flatten(2)
    steps["output"] = merged @ got["w_output"].T
    return steps


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    choose = random.Random(20261122)
    compared = 0
    worst = 0.0
    for number in range(count):
        size, flags = pick(choose)
        got = run(program, flags)
        for name, right in expected(size, got).items():
            if name not in got:
                skipped = size["variant"] == "fused" or size["heads"] == size["kv_heads"]
                assert skipped, (name, flags)
                continue
            assert got[name].shape == right.shape, (name, got[name].shape, right.shape, flags)
            apart = torch.nan_to_num(got[name] - right, nan=0.0).abs().max().item()
            assert apart < 1e-10, (name, apart, " ".join(flags))
            worst = max(worst, apart)
            compared += 1
    print(f"{count} walks, {compared} steps agree with PyTorch, at most {worst:.1e} apart")


main()

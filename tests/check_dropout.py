#!/usr/bin/env python3
"""Compares walks with dropout with F.dropout, forward and backward, over random walks.

    tests/check_dropout.py build/dev/app/attn-explain [--count 60] [--seed 1]

x and the parameters are drawn here and given to the program as a file. The layer is written as
models write it, in float64 and 16 bits too; before it runs, torch.manual_seed sets the seed of
--dropout-seed, or NumPy draws the mask. The mask must be the same in every cell, other steps and
the gradients but for rounding. Masks from a file, masked rows and every place of dropout are among
the walks. PyTorch draws other masks if it was built with MKL: then only NumPy's are compared.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from oracles import numpy as np
from oracles import random_walks, tensor_of, torch

import torch.nn.functional as F

TYPES = {
    "float32": (torch.float32, 2e-6),
    "float64": (torch.float64, 1e-12),
    "bfloat16": (torch.bfloat16, 2e-2),
    "float16": (torch.float16, 2e-3),
}


def dropout(tensor, walk):
    """The mask and the tensor after dropout, as the library of the walk makes them."""
    p, seed, shape = walk["p"], walk["dropout_seed"], tuple(tensor.shape)
    if walk["mask_file"] is not None:
        keep = torch.from_numpy(walk["mask_file"].astype(float)).expand(shape).to(tensor.dtype)
        return keep, tensor * (keep / (1 - p))
    if walk["rng"] == "torch" and tensor.dtype != torch.float16:
        torch.manual_seed(seed)
        keep = (F.dropout(torch.ones(shape, dtype=tensor.dtype), p) > 0).to(tensor.dtype)
        torch.manual_seed(seed)
        return keep, F.dropout(tensor, p)
    if walk["rng"] == "torch":  # bernoulli_ has no float16 in older versions
        torch.manual_seed(seed)
        keep = torch.empty(shape).bernoulli_(1 - p)
    elif walk["rng"] == "numpy":
        np.random.seed(seed)
        keep = torch.from_numpy(np.random.rand(*shape) >= p)
    else:
        keep = torch.from_numpy(np.random.default_rng(seed).random(shape) >= p)
    keep = keep.to(tensor.dtype)
    return keep, tensor * (keep / (1 - p))


def layer(x, w, walk):
    """Attention with dropout, and everything that it passes through."""
    heads, place, made = walk["heads"], walk["place"], {}

    def dropped(tensor, at):
        if at != place:
            return tensor
        name = "keep" if at == "weights" else "keep_" + at
        made[name], result = dropout(tensor, walk)
        made["dropped_" + at] = result
        return result

    batch, length, _ = x.shape
    split = lambda t: t.view(batch, length, heads, -1).transpose(1, 2)
    q, k, v = (split(x @ w["w_" + part].T) for part in ("query", "key", "value"))
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if walk["causal"]:
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    weights = made["weights"] = F.softmax(scores, dim=-1)
    context = dropped(dropped(weights, "weights") @ v, "context")
    if place != "context":
        made["context"] = context
    merged = context.transpose(1, 2).reshape(batch, length, -1)
    made["merged"] = merged
    if walk["output"]:
        output = merged @ w["w_output"].T
        made["output"] = output
        return dropped(output, "output"), made
    return merged, made


def picked(number, seed):
    pick = random.Random(f"{seed} {number}")
    place = pick.choice(["weights"] * 4 + ["context", "output"])
    heads = pick.randint(2, 4)
    return {
        "heads": heads,
        "width": pick.randint(1, 5),
        "batch": pick.randint(1, 3),
        "length": pick.choice([1, 2, 3, 5, 7, 16, 33, 70]),
        "p": pick.choice([0.1, 0.2, 0.3, 0.5, 0.9, 1 / 3]),
        "place": place,
        "dropout_seed": pick.choice([0, 1, 42, 2**31 + 5]),
        "rng": pick.choice(["torch"] * 5 + ["numpy", "numpy-pcg64"]),
        "dtype": pick.choice(["float32", "float64", "float64", "bfloat16", "float16"]),
        "variant": pick.choice(["loop", "vectorized", "vectorized", "fused"]),
        "causal": pick.random() < 0.5,
        "output": place == "output" or pick.random() < 0.3,
        "mask_file": None,
        "pick": pick,
    }


def differ(name, ours, theirs, tolerance):
    if ours.shape != theirs.shape:
        return f"{name} has shape {tuple(ours.shape)}, not {tuple(theirs.shape)}"
    size = max(1.0, float(theirs.abs().max()))
    if name.startswith("keep") and not torch.equal(ours, theirs):
        return f"{name} has {int((ours != theirs).sum())} other cells"
    if name.startswith("dropped") and not torch.equal(ours == 0, theirs == 0):
        return f"{name} is 0 in other cells"
    worst = float((ours - theirs).abs().max())
    return f"{name} is off by {worst}" if not worst <= tolerance * size else None


def check(program, number, seed, folder):
    walk = picked(number, seed)
    pick, dtype = walk["pick"], TYPES[walk["dtype"]][0]
    width, tolerance = walk["heads"] * walk["width"], TYPES[walk["dtype"]][1]
    draw = np.random.RandomState(1000 * seed + number)
    x = draw.randn(walk["batch"], walk["length"], width)
    w = {f"w_{part}": draw.randn(width, width) / width**0.5 for part in ("query", "key", "value")}
    if walk["output"]:
        w["w_output"] = draw.randn(width, width) / width**0.5
    if pick.random() < 0.2:
        shape = (walk["length"], walk["length"]) if walk["place"] == "weights" else (1, width)
        if walk["place"] == "context":
            shape = (1, walk["width"])
        walk["mask_file"] = draw.rand(*shape) < 0.6
        if pick.random() < 0.5:
            walk["mask_file"] = walk["mask_file"].astype(np.int64)
    np.save(f"{folder}/x.npy", x)
    np.savez(f"{folder}/w.npz", **w)
    command = [program, "--x", f"{folder}/x.npy", "--weights", f"{folder}/w.npz", "--format", "json",
               "--weight-layout", "out-in", "--heads", str(walk["heads"]), "--dtype", walk["dtype"],
               "--variant", walk["variant"], "--rng", walk["rng"], "--dropout", repr(walk["p"])]
    if walk["place"] != "weights" or pick.random() < 0.5:
        command += ["--dropout-place", walk["place"]]
    if walk["mask_file"] is not None:
        np.save(f"{folder}/keep.npy", walk["mask_file"])
        command += ["--dropout-mask", f"{folder}/keep.npy"]
    else:
        seeding = pick.choice(["--dropout-seed", "--seed"])
        command += [seeding, str(walk["dropout_seed"])]
    command += ["--mask", "causal"] if walk["causal"] else []
    command += ["--output-projection"] if walk["output"] else []
    backward = walk["variant"] != "fused"
    command += ["--backward", "--loss", "sum"] if backward else []
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return f"{' '.join(command)}\n{run.stderr}"
    steps = {s["name"]: tensor_of(s) for s in json.loads(run.stdout)["steps"]}

    x = torch.tensor(x).to(dtype).requires_grad_()
    w = {name: torch.tensor(value).to(dtype).requires_grad_() for name, value in w.items()}
    # Products of 16 bits need a type of their own on a CPU: float16 is computed from float32.
    wide = torch.float32 if walk["dtype"] == "float16" else dtype
    result, made = layer(x.to(wide), {name: value.to(wide) for name, value in w.items()}, walk)
    for name, tensor in made.items():
        tensor.retain_grad() if tensor.requires_grad else None
    result.sum().backward()
    wanted = dict(made)
    if backward:
        wanted.update({f"d_{name}": value.grad for name, value in w.items()})
        wanted["d_x"] = x.grad
        wanted.update({f"d_{n}": t.grad for n, t in made.items() if t.grad is not None})
    faults = []
    for name, tensor in wanted.items():
        if name not in steps:
            if walk["variant"] != "fused" or not name.endswith("weights"):
                faults.append(f"there is no {name}")
            continue
        ours = steps[name]
        bound = tolerance * (20 if name.startswith("d_") else 4)
        faults.append(differ(name, ours, tensor.detach().double(), bound))
    faults = [fault for fault in faults if fault]
    if any("keep" in name and name.startswith("d_") for name in steps):
        faults.append("the mask has a gradient")
    return f"{' '.join(command)}\n  " + "\n  ".join(faults) if faults else None


def main():
    asked = random_walks(__doc__)
    torch.set_default_dtype(torch.float32)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.count if asked.count != 200 else 60):
            fault = check(asked.program, number, asked.seed, folder)
            if fault:
                failures += 1
                print(f"FAILED walk {number}: {fault}")
        print(f"{number + 1} walks with dropout, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

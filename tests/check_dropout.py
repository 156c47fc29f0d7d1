#!/usr/bin/env python3
"""Compares walks with dropout with F.dropout, forward and backward, over random walks.

    tests/check_dropout.py build/dev/app/attn-explain [--count 60] [--seed 1]

First checks the three outputs that the notebook Transformer_Captioning of Stanford's CS231n expects,
which many took for wrong: a PyTorch with MKL drew them with a dropout of 0.1 that was on. This script
draws its masks with MKL's own generator and passes them to the program.

Then random walks. Draws x and the parameters and passes them to the program as a file. The layer is
written as in models, also in float64 and 16 bits; before it runs, torch.manual_seed sets the seed of
--dropout-seed, or NumPy draws the mask. The mask must be the same in every cell, other steps and the
gradients except for rounding. The walks include masks from a file, masked rows and every place of
dropout. PyTorch draws other masks if it was built with MKL: then only NumPy's are compared.
"""
import json
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
    """Returns the mask and the tensor after dropout, computed by the library of the walk."""
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
    """Computes attention with dropout, and all its intermediate tensors."""
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


# Printed by the notebook for torch.manual_seed(231), E = 8 and 2 heads: self-attention, the same
# under a mask, and attention to another input.
CS231N = [
    [[-0.2494, 0.1396, 0.4323, -0.2411, -0.1547, 0.2329, -0.1936, -0.1444],
     [-0.1997, 0.1746, 0.7377, -0.3549, -0.2657, 0.2693, -0.2541, -0.2476],
     [-0.0625, 0.1503, 0.7572, -0.3974, -0.1681, 0.2168, -0.2478, -0.3038]],
    [[-0.1347, 0.1934, 0.8628, -0.4903, -0.2614, 0.2798, -0.2586, -0.3019],
     [-0.1013, 0.3111, 0.5783, -0.3248, -0.3842, 0.1482, -0.3628, -0.1496],
     [-0.2071, 0.1669, 0.7097, -0.3152, -0.3136, 0.2520, -0.2774, -0.2208]],
    [[-0.1980, 0.4083, 0.1968, -0.3477, 0.0321, 0.4258, -0.8972, -0.2744],
     [-0.1603, 0.4155, 0.2295, -0.3485, -0.0341, 0.3929, -0.8248, -0.2767],
     [-0.0908, 0.4113, 0.3017, -0.3539, -0.1020, 0.3784, -0.7189, -0.2912]],
]


def mask_of_mkl(shape, share):
    """bernoulli_ of a PyTorch with MKL: one draw seeds MKL's generator MCG31m1."""
    modulus, cells = 2**31 - 1, []
    state = int(torch.empty(1, dtype=torch.int64).random_(0, 2**32 - 1)) % modulus or 1
    for _ in range(int(np.prod(shape))):
        cells.append(state / modulus < share)
        state = state * 1132489760 % modulus
    return np.array(cells).reshape(shape)


def check_cs231n(program, folder):
    torch.manual_seed(231)
    w = {}
    for name in ("key", "query", "value", "output"):
        linear = torch.nn.Linear(8, 8)
        w["w_" + name], w["b_" + name] = linear.weight.data.numpy(), linear.bias.data.numpy()
    np.savez(f"{folder}/w.npz", **w)

    def save(name, array):
        np.save(f"{folder}/{name}.npy", array)
        return f"{folder}/{name}.npy"

    x = save("x", torch.randn(1, 3, 8)[0].numpy())
    masks = [save("keep0", mask_of_mkl((2, 3, 3), 0.9))]
    seen = save("seen", (torch.randn(3, 3) < 0.5).numpy())
    masks.append(save("keep1", mask_of_mkl((2, 3, 3), 0.9)))
    other = save("other", torch.randn(1, 3, 8)[0].numpy())
    masks.append(save("keep2", mask_of_mkl((2, 3, 3), 0.9)))
    more = [[], ["--mask-file", seen, "--mask-true", "keep"], ["--memory", other]]
    for keep, flags, expected in zip(masks, more, CS231N):
        command = [program, "--x", x, "--weights", f"{folder}/w.npz", "--weight-layout", "out-in",
                   "--heads", "2", "--bias", "--output-projection", "--output-bias", "--only",
                   "output", "--dropout", "0.1", "--dropout-mask", keep, "--format", "json", *flags]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            return f"{' '.join(command)}\n{run.stderr}"
        output = tensor_of(json.loads(run.stdout)["steps"][-1])
        worst = float((output - torch.tensor(expected, dtype=torch.float64)).abs().max())
        if worst > 6e-5:
            return f"{' '.join(command)}\n  output is off by {worst}"
    return None


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
    # In 16 bits a kept cell may be 0 by rounding.
    small = max(1e-3, tolerance)
    kept_apart = (ours.abs() > small) & (theirs == 0) | (ours == 0) & (theirs.abs() > small)
    if name.startswith("dropped") and kept_apart.any():
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
        fault = check_cs231n(asked.program, folder)
        if fault:
            failures += 1
            print(f"FAILED CS231n: {fault}")
        for number in range(asked.count if asked.count != 200 else 60):
            fault = check(asked.program, number, asked.seed, folder)
            if fault:
                failures += 1
                print(f"FAILED walk {number}: {fault}")
        print(f"CS231n's outputs and {number + 1} walks with dropout, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

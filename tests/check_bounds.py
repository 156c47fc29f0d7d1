#!/usr/bin/python3
"""Holds the bounds of --bounds to what PyTorch makes: no cell of a step may be further from the
exact number than its bound, and a bound that is never near is none.

    tests/check_bounds.py PROGRAM [--count N] [--seed N]

Each random walk is written as JSON with its bounds and its lines of PyTorch. The lines of a step
are run from the tensors before it twice, in the walk's own type and in float64; what lies between
is rounding. Prints every step with a cell beyond its bound, and for each step how large the median
of its bounds is beside the largest error seen.
"""
import collections
import json
import math
import random
import re
import shlex
import statistics
import subprocess
import sys

from oracles import numbers, numpy, random_walks, torch

DTYPES = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64,
          "bool": torch.bool, "float16": torch.float16, "bfloat16": torch.bfloat16}


def random_walk(chance):
    pick, maybe = chance.choice, lambda p: chance.random() < p
    heads = pick((1, 2, 4, 8))
    width = pick((2, 4, 8, 16, 64))
    words = ["--heads", heads, "--seq-len", pick((1, 2, 3, 5, 8, 17, 64, 130)),
             "--embed-dim", heads * width, "--seed", chance.randrange(1000)]
    if maybe(.5):
        words += ["--mask", pick(("causal", "causal,window:3", "window:4"))]
    if maybe(.3):
        words += ["--batch", 2]
    if maybe(.3) and heads > 1:
        words += ["--kv-heads", heads // 2]
    if maybe(.3):
        words += ["--rope", pick(("half", "interleaved"))]
    elif maybe(.3):
        words += ["--position-bias", pick(("alibi", "t5"))]
    for chosen, flags in ((.2, ["--qk-norm", "head"]), (.2, ["--x-norm", pick(("rms", "layer"))]),
                          (.2, ["--softcap", 5]), (.15, ["--sink", "randn"]), (.3, ["--bias"]),
                          (.5, ["--output-projection"]), (.2, ["--weights-by", "sigmoid"]),
                          (.15, ["--scale", pick(("none", "embed-dim", "0.3"))]),
                          (.3, ["--compute-dtype", pick(("bfloat16", "float16"))]),
                          (.3, ["--backward"])):
        if maybe(chosen):
            words += flags
    if "--backward" in words and "--compute-dtype" in words:  # NumPy adds float16 up in float16
        words.remove("--backward")
    return [str(word) for word in words]


def made(line, name, steps, dtype, of_numpy):
    """What the lines of a step make of the tensors before it, in that type."""
    names = {"torch": torch, "F": torch.nn.functional, "math": math, "np": numpy}
    for before in steps:
        if before["name"] == name:
            break
        kept = DTYPES[before["dtype"]]
        if "data" in before:
            tensor = torch.tensor(numbers(before["data"]), dtype=kept).reshape(before["shape"])
            tensor = tensor.to(dtype) if tensor.is_floating_point() else tensor
            names[before["name"]] = tensor.numpy() if of_numpy else tensor
    torch.set_default_dtype(dtype)
    word = str(dtype).split(".")[1]
    exec(re.sub(r"(torch|np)\.(float32|bfloat16|float16)", r"\1." + word, line), names)
    torch.set_default_dtype(torch.float64)
    return torch.as_tensor(names[name]).detach().to(torch.float64)


def main():
    asked = random_walks(__doc__)
    ratios, beyond, cells, refused = collections.defaultdict(list), 0, 0, 0
    for walk in range(asked.count):
        words = random_walk(random.Random(asked.seed * 100_003 + walk))
        of_numpy = "--backward" in words  # PyTorch goes back at once
        ran = subprocess.run([asked.program, *words, "--bounds", "--detail", "--code",
                              "numpy" if of_numpy else "torch", "--format", "json"],
                             capture_output=True, text=True)
        if ran.returncode != 0:
            refused += 1
            continue
        steps = json.loads(ran.stdout)["steps"]
        for step in steps:
            if "bound" not in step or not step.get("code") or "seed" in step["code"]:
                continue
            name, shape = step["name"], step["shape"]
            bound = torch.tensor(numbers(step["bound"]), dtype=torch.float64).reshape(shape)
            try:
                exact = made(step["code"], name, steps, torch.float64, of_numpy)
                theirs = made(step["code"], name, steps, DTYPES[step["dtype"]], of_numpy)
            except Exception as error:  # lines that need what another section has set up
                print(f"not run: {name}: {error}", file=sys.stderr)
                continue
            error = (theirs - exact).abs().nan_to_num(0, posinf=0).reshape(shape)
            cells += error.numel()
            off = int((error > bound).sum())
            if off:
                beyond += off
                at = int((error - bound).argmax())
                print(f"{shlex.join(words)}\n    {name}: {off} cells, {error.flatten()[at]:.4g} of at "
                      f"most {bound.flatten()[at]:.4g}, exact {exact.flatten()[at]:.4g}")
            if float(error.max()) > 0:
                ratios[step["dtype"] + " " + name].append(float(bound.median() / error.max()))
    for name, all_ratios in ratios.items():
        print(f"{name:34} {len(all_ratios):5} walks, bound over error: median "
              f"{statistics.median(all_ratios):7.1f}, largest {max(all_ratios):9.1f}")
    print(f"{asked.count - refused} walks, {cells} cells, {beyond} beyond their bound")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())

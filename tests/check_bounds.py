"""Compares the bounds of --bounds with the rounding errors of PyTorch: no cell of a step may be
further from the exact number than its bound, and a bound that is never nearly reached is useless.

    tests/check_bounds.py PROGRAM [--count N] [--seed N]

Writes each random walk as an archive with its bounds and as a notebook with its lines of PyTorch.
Runs the lines of each step on the tensors before it twice, in the walk's own type and in float64; the
difference is the rounding error. float16 runs in float32, and is rounded, where PyTorch 1.13 lacks a
function. Prints every step with a cell beyond its bound, and for each step the median of its bounds
relative to the largest error seen.
"""
import collections
import json
import math
import os
import random
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

from oracles import numpy, random_walks, torch

TYPES = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64,
         "bool": torch.bool, "float16": torch.float16, "bfloat16": torch.bfloat16}


def random_walk(chance):
    pick, maybe = chance.choice, lambda p: chance.random() < p
    heads = pick((1, 2, 4, 8))
    width = pick((2, 4, 8, 16, 64))
    length = 512 if maybe(.02) else pick((1, 2, 3, 5, 8, 17, 64, 130))
    words = ["--heads", heads, "--seq-len", length,
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
    if "--backward" in words and "--compute-dtype" in words:  # NumPy sums float16 in float16
        words.remove("--backward")
    return [str(word) for word in words]


class Lines:
    """Runs the lines of a walk step by step, each on the walk's own tensors, as `cast`
    makes them."""

    def __init__(self, cast, of_numpy, word=None):
        self.names = {"torch": torch, "F": torch.nn.functional, "math": math, "np": numpy}
        self.cast, self.of_numpy, self.word = cast, of_numpy, word

    def run(self, code, name, kept):
        """Records the result of the lines of a step, and uses `kept` instead."""
        if self.word:  # not the walk's type
            code = re.sub(r"(torch|np)\.(float32|bfloat16|float16)", r"\1." + self.word, code)
            torch.set_default_dtype(getattr(torch, self.word))
        try:
            exec(code, self.names)
            return torch.as_tensor(self.names[name]).detach().to(torch.float64)
        finally:
            torch.set_default_dtype(torch.float32)
            kept = self.cast(kept)
            self.names[name] = kept.numpy() if self.of_numpy else kept


def floating(dtype):
    return lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor


def half_of(lines, code, name, kept):
    """Lines that PyTorch cannot run in float16."""
    names = {key: value.float() if isinstance(value, torch.Tensor) and value.dtype == torch.float16
             else value for key, value in lines.names.items()}
    single = Lines(lines.cast, False, "float32")
    single.names = names
    made = single.run(code, name, kept)
    return made.to(torch.float16 if kept.dtype == torch.float16 else torch.float32).double()


def steps_of(program, words, of_numpy):
    """Returns the steps of a walk with lines, tensors and bounds; nothing if it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "walk.npz")
        told = [program, *words, "--detail"]
        lines = subprocess.run(told + ["--code", "numpy" if of_numpy else "torch", "--format",
                                       "ipynb"], capture_output=True, text=True)
        saved = subprocess.run(told[:-1] + ["--bounds", "-o", path], capture_output=True)
        if lines.returncode or saved.returncode:
            return
        arrays = numpy.load(path)
        cells = json.loads(lines.stdout)["cells"]
        for words_cell, code_cell in zip(cells, cells[1:]):
            if code_cell["cell_type"] != "code":
                continue
            text = "".join(words_cell["source"])
            name = re.match(r"## (\w+):", text)[1]
            kind = re.search(r"(?:, |\n)(float\d+|bfloat16|int64|bool)(?:\n|$)", text)[1]
            code = "".join(line for line in code_cell["source"]
                           if "__matmul__" not in line and not line.startswith("print("))
            tensor = torch.as_tensor(arrays[name]).to(TYPES[kind])
            yield name, kind, code, tensor, arrays.get(name + "_bound")


def main():
    asked = random_walks(__doc__)
    ratios, beyond, cells, walks = collections.defaultdict(list), 0, 0, 0
    for walk in range(asked.count):
        words = random_walk(random.Random(asked.seed * 100_003 + walk))
        of_numpy = "--backward" in words  # PyTorch computes the backward pass at once
        exactly = Lines(floating(torch.float64), of_numpy, "float64")
        theirs = Lines(lambda tensor: tensor, of_numpy)
        walks += 1
        for name, kind, code, tensor, bound in steps_of(asked.program, words, of_numpy):
            try:
                exact = exactly.run(code, name, tensor)
                try:
                    made = theirs.run(code, name, tensor)
                except RuntimeError as error:
                    if "'Half'" not in str(error):
                        raise
                    made = half_of(theirs, code, name, tensor)
            except Exception as error:  # lines that need missing tensors
                if bound is not None:
                    print(f"not run: {name}: {error}", file=sys.stderr)
                continue
            if bound is None:
                continue
            bound = torch.as_tensor(bound)
            same = (made == exact) | (made.isnan() & exact.isnan())
            error = torch.where(same, 0.0, (made - exact).abs().nan_to_num(math.inf))
            error = error.reshape(bound.shape)
            cells += error.numel()
            off = int((error > bound).sum())
            if off:
                beyond += off
                at = int((error - bound).nan_to_num(-math.inf).argmax())
                print(f"{shlex.join(words)}\n    {name}: {off} cells, {error.flatten()[at]:.4g} of at "
                      f"most {bound.flatten()[at]:.4g}, exact {exact.flatten()[at]:.4g}", flush=True)
            if 0 < float(error.max()) < math.inf:
                ratios[kind + " " + name].append(float(bound.median() / error.max()))
    for name, all_ratios in ratios.items():
        print(f"{name:34} {len(all_ratios):5} walks, bound over error: median "
              f"{statistics.median(all_ratios):7.1f}, largest {max(all_ratios):9.1f}")
    print(f"{walks} walks, {cells} cells, {beyond} beyond their bound")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares walks in 16 bits with PyTorch, word by word and digit by digit.

    tests/check_bits.py build/dev/app/attn-explain [WORD]

Runs the walks of check_program.py (those that contain WORD) and some more with --dtype bfloat16,
--dtype float16 and a --compute-dtype of the two; PyTorch must print the same text when it runs their
--code torch. Functions of float16 that a build of PyTorch lacks are computed here in float32 and
rounded. A text counts as equal only if all of it is; otherwise the tokens that differ are counted,
because another order of addition in float32 may round a number differently.
"""

import contextlib
import io
import re
import shlex
import subprocess
import sys

from oracles import torch
from check_ipynb import WALKS
from check_program import MORE

OURS = """
--seq-len 1
--seq-len 2 --heads 3 --embed-dim 12 --batch 2
--seq-len 5 --heads 2 --embed-dim 16 --bias --output-projection --output-bias
--seq-len 9 --heads 2 --embed-dim 8 --mask causal --rope half
--seq-len 12 --heads 4 --kv-heads 2 --embed-dim 32 --mask window:3,causal --rope interleaved
--seq-len 4 --heads 2 --embed-dim 8 --rope half --rope-scaling yarn:2:4
--seq-len 6 --heads 2 --embed-dim 8 --position-bias alibi --mask causal
--seq-len 6 --heads 2 --embed-dim 8 --softcap 2
--seq-len 6 --heads 2 --embed-dim 8 --qk-norm head
--seq-len 6 --heads 2 --embed-dim 8 --qk-norm l2
--seq-len 6 --heads 2 --embed-dim 8 --x-norm rms
--seq-len 6 --heads 2 --embed-dim 8 --sink randn --mask causal
--seq-len 6 --heads 2 --embed-dim 8 --scale 0.3
--seq-len 6 --heads 2 --embed-dim 8 --scale none --init normal
--seq-len 6 --heads 2 --embed-dim 8 --detail
--seq-len 30 --embed-dim 48 --heads 3
--seq-len 40 --embed-dim 64 --heads 2 --mask causal
--rng numpy --seq-len 5 --heads 2 --embed-dim 8
--rng numpy-pcg64 --seq-len 5 --embed-dim 6 --detail
--past 3 --seq-len 2 --heads 2 --embed-dim 8 --mask causal
--differential --heads 4 --embed-dim 16 --seq-len 4
--mla 4 --heads 2 --embed-dim 8 --seq-len 4
--projection fused --heads 2 --seq-len 4
--projection stacked --heads 2 --seq-len 4 --bias
--projection mha --heads 2 --seq-len 4
--text "the cat sat on the mat" --mask causal --detail
--position-embedding sinusoidal --text "the cat sat" --heads 2 --embed-dim 8
--position-embedding learned --text "the cat sat" --heads 2 --embed-dim 8
--backward --seq-len 3
--backward --heads 2 --embed-dim 8 --seq-len 5 --mask causal --bias
--sci-mode on --seq-len 3
--precision 2 --seq-len 3 --heads 2
--threshold 20 --seq-len 8 --heads 2 --embed-dim 16
"""

TYPES = (["--dtype", "bfloat16"], ["--dtype", "float16"], ["--compute-dtype", "bfloat16"],
         ["--compute-dtype", "float16"])
LACKING = {torch: "exp cos sin tanh sqrt rsqrt log sigmoid clamp maximum minimum",
           torch.Tensor: "exp cos sin tanh sqrt rsqrt log sigmoid softmax var norm clamp clamp_min",
           torch.nn.functional: "layer_norm normalize"}


def lend_float16():
    """Functions that this build of PyTorch has for float32 only."""
    def lent(function):
        def call(first, *others, **named):
            if not isinstance(first, torch.Tensor) or first.dtype is not torch.float16:
                return function(first, *others, **named)
            wide = [o.float() if isinstance(o, torch.Tensor) and o.is_floating_point() else o for o in others]
            return function(first.float(), *wide, **named).half()
        return call
    for place, names in LACKING.items():
        for name in names.split():
            setattr(place, name, lent(getattr(place, name)))
    softmax = torch.nn.functional.softmax
    torch.nn.functional.softmax = lambda x, dim: (
        Softmax.apply(x, dim) if x.dtype is torch.float16 else softmax(x, dim))


class Softmax(torch.autograd.Function):
    """The backward pass of PyTorch in 16 bits: from stored weights, with a stored sum."""

    @staticmethod
    def forward(context, scores, dim):
        weights = torch.softmax(scores.float(), dim).to(scores.dtype)
        context.save_for_backward(weights)
        context.dim = dim
        return weights

    @staticmethod
    def backward(context, d_weights):
        (weights,) = context.saved_tensors
        w, d = weights.float(), d_weights.float()
        row_dot = (w * d).sum(context.dim, keepdim=True).to(weights.dtype).float()
        return (w * (d - row_dot)).to(weights.dtype), None


MATMUL = torch.Tensor.__matmul__


def output_of(code):
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)
    torch.Tensor.__matmul__ = MATMUL
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "program", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def main(program, word=""):
    lend_float16()
    # A program prints in the order of the walk.
    ordered = WALKS.replace("weights,row_max,exponentials,row_sum", "row_max,exponentials,row_sum,weights")
    walks = [shlex.split(line) for line in (OURS + ordered + MORE).strip().splitlines()]
    equal = done = tokens = apart = raised = 0
    for walk in walks:
        given = [w for i, w in enumerate(walk) if w != "--code" and walk[i - 1] != "--code"]
        if word not in shlex.join(walk) or {"--dtype", "--compute-dtype"} & set(given):
            continue
        for kind in TYPES:
            runs = [subprocess.run([program, *given, *kind, *form, "-q"], capture_output=True, text=True)
                    for form in (["--format", "torch"], ["--code", "torch"])]
            if any(run.returncode != 0 for run in runs) or "ATEN_CPU_CAPABILITY" in runs[1].stdout:
                print("refused:", shlex.join(given + kind), runs[0].stderr.strip()[:120] or runs[1].stderr.strip()[:120])
                continue
            done += 1
            expected = runs[0].stdout
            try:
                printed = output_of(runs[1].stdout)
            except Exception as error:  # any exception of a program is a finding
                raised += 1
                print(f"RAISED {shlex.join(given + kind)}: {type(error).__name__}: {error}"[:300])
                continue
            ours, theirs = (re.findall(r"[^\s,\[\]()]+", text) for text in (expected, printed))
            tokens += len(ours)
            if printed == expected:
                equal += 1
                continue
            others = sum(a != b for a, b in zip(ours, theirs)) + abs(len(ours) - len(theirs))
            apart += others
            first = next((f"{a} not {b}" for a, b in zip(ours, theirs) if a != b), "lengths")
            print(f"{others} of {len(ours)} tokens, first {first}: {shlex.join(given + kind)}")
    print(f"{done} texts, {equal} equal, {raised} raised; {apart} of {tokens} tokens differ")
    return 1 if raised or apart > tokens / 1000 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else __doc__)

#!/usr/bin/python3
"""Tests verdicts close to rounding. Small factors, dropped keys and masks shifted by one, in three
types and three sizes, must be named or at least not be called right; correct programs in 16 bits, as
libraries run them, must not be accused. Every second run passes the type, which files of 32 bits do
not reveal.

    tests/check_verdicts.py PROGRAM [--count N] [--seed N]

Prints each wrong program that is called right, each right one that is accused, and the counts.
"""
import collections
import itertools
import os
import subprocess
import tempfile

import numpy as np

from oracles import random_walks, torch

SHAPES = ((8, 8, 1), (8, 16, 2), (32, 64, 4))  # tokens, features, heads
SIZES = (0.02, 1, 30)  # scale of the numbers in x
YARN = ["--rope", "half", "--rope-scaling", "yarn:4:32"]
WHERE = ("scores", "weights", "context")
FACTORS = (0.9, 0.98, 0.995, 1.005, 1.02, 1.1)
TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
WAYS = ("", "exp2", "split", "low-probabilities", "float-probabilities", "low-sums")


class Program:
    """Computes attention head by head in a type, with at most one mistake."""

    def __init__(self, seed, shape, dtype, causal, way="", size=1.0):
        tokens, features, self.heads = shape
        r = np.random.default_rng(seed)
        self.dtype, self.causal, self.way = TYPES[dtype], causal, way
        self.given = {"x": (size * r.normal(size=(tokens, features))).astype("f4")}
        for name in ("w_query", "w_key", "w_value"):
            self.given[name] = (r.normal(size=(features, features)) / features**0.5).astype("f4")

    def low(self, tensor):
        """Rounds to the stored type."""
        return tensor.to(self.dtype).to(torch.float32)

    def product(self, a, b):
        """Sums in float32, or rounds after each addition."""
        if self.way != "low-sums":
            return a @ b
        total = torch.zeros(*a.shape[:-1], b.shape[-1], dtype=torch.float32)
        for i in range(a.shape[-1]):
            total = self.low(total + a[..., i : i + 1] * b[..., i : i + 1, :])
        return total

    def softmax(self, s):
        m = s.max(-1, keepdim=True).values
        e = torch.exp2((s - m) * 1.4426950408889634) if self.way == "exp2" else torch.exp(s - m)
        return e / e.sum(-1, keepdim=True)

    def attend(self, s, v):
        """Returns the saved weights and the context."""
        w = self.softmax(s)
        if self.way == "split":  # keys in two parts, combined by their sums
            cut = max(1, s.shape[-1] // 2)
            parts = []
            for a, b in ((s[..., :cut], v[..., :cut, :]), (s[..., cut:], v[..., cut:, :])):
                m = a.max(-1, keepdim=True).values
                e = torch.exp(a - torch.where(torch.isinf(m), torch.zeros_like(m), m))
                parts.append((m, e.sum(-1, keepdim=True), e @ b))
            top = torch.maximum(parts[0][0], parts[1][0])
            sums = [p[1] * torch.exp(p[0] - top) for p in parts]
            context = sum(p[2] * torch.exp(p[0] - top) for p in parts) / sum(sums)
            return self.low(w), self.low(context)
        if self.way == "low-probabilities":
            e = self.low(torch.exp(s - s.max(-1, keepdim=True).values))
            return self.low(w), self.low(e @ v / e.sum(-1, keepdim=True))
        used = w if self.way == "float-probabilities" else self.low(w)
        return self.low(w), self.low(self.product(used, v))

    def run(self, wrong="", factor=1.0):
        low = self.low
        tensors = {name: low(torch.tensor(t)) for name, t in self.given.items()}
        split = lambda t: t.reshape(t.shape[0], self.heads, -1).transpose(0, 1)
        q, k, v = (
            split(low(self.product(tensors["x"], tensors[w].T)))
            for w in ("w_query", "w_key", "w_value")
        )
        s = low(low(self.product(q, k.transpose(-1, -2))) / q.shape[-1] ** 0.5)
        if wrong == "scores":
            s = low(s * factor)
        tokens = s.shape[-1]
        visible = torch.ones(tokens, tokens, dtype=torch.bool)
        if self.causal:
            visible = torch.tril(visible, 1 if wrong == "mask" else 0)
        masked = s.masked_fill(~visible, -torch.inf)
        if wrong == "key":
            masked[..., tokens // 2] = masked[..., tokens // 2].masked_fill(
                torch.arange(tokens) > tokens // 2, -torch.inf
            )
        w, context = self.attend(masked, v)
        if wrong == "weights":
            w = low(w * factor)
            context = low(w @ v)
        if wrong == "context":
            context = low(context * factor)
        return {"q": q, "k": k, "v": v, "scaled_scores": s, "weights": w, "context": context}

    def save(self, folder, tensors):
        np.savez(os.path.join(folder, "given.npz"), **self.given)
        half = self.dtype == torch.float16
        np.savez(
            os.path.join(folder, "mine.npz"),
            **{n: t.numpy().astype("f2" if half else "f4") for n, t in tensors.items()},
        )


def said_type(dtype, number):
    """Returns the flag for a 16-bit type, for every second number."""
    return ["--compute-dtype", dtype] if dtype != "float32" and number % 2 else []


def diagnosed(program, tool, tensors, flags):
    with tempfile.TemporaryDirectory() as folder:
        program.save(folder, tensors)
        words = [
            tool,
            "diagnose",
            os.path.join(folder, "mine.npz"),
            "--given",
            os.path.join(folder, "given.npz"),
            "--heads",
            str(program.heads),
            *flags,
        ]
        ran = subprocess.run(
            words + (["--mask", "causal"] if program.causal else ["--mask", "none"]),
            capture_output=True,
            text=True,
        )
        return ran.returncode, ran.stdout + ran.stderr


def without_yarns_factor(tool, dtype, shape, size):
    """Returns the program's own walk, but without YaRN's factor in cosines and sines."""
    tokens, features, heads = shape
    with tempfile.TemporaryDirectory() as folder:
        x = os.path.join(folder, "x.npy")
        np.save(x, (size * np.random.default_rng(3).normal(size=(tokens, features))).astype("f4"))
        flags = ["--x", x, "--heads", str(heads), *YARN]
        mine = os.path.join(folder, "mine.npz")
        subprocess.run(
            [
                tool,
                *flags,
                "--bug",
                "yarn-factor-missing",
                "--compute-dtype",
                dtype,
                "--only",
                "query,key,value,scores,weights,context",
                "-o",
                mine,
            ],
            check=True,
            capture_output=True,
        )
        ran = subprocess.run([tool, "diagnose", mine, *flags], capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr


def main():
    asked = random_walks(__doc__)
    torch.set_default_dtype(torch.float32)
    bad, counts = 0, collections.Counter()
    wrongs = [(where, factor) for where in WHERE for factor in FACTORS]
    for dtype, shape, size in itertools.product(TYPES, SHAPES, SIZES):
        for wrong, factor in wrongs + [("key", 1), ("mask", 1), ("yarn", 1)]:
            if wrong == "yarn":
                code, text = without_yarns_factor(asked.program, dtype, shape, size)
            else:
                program = Program(asked.seed, shape, dtype, causal=True, size=size)
                flags = said_type(dtype, SIZES.index(size) + int(100 * factor))
                code, text = diagnosed(program, asked.program, program.run(wrong, factor), flags)
            named = code == 1 or "every number is" in text
            counts["wrong: " + ("named" if named else "not right" if code else "RIGHT")] += 1
            if code == 0 or code > 3 or "\nright:" in text:
                bad += 1
                print(
                    f"called right: {dtype} {shape} {size} {wrong} {factor}: exit {code}\n{text}",
                    flush=True,
                )
    for walk in range(asked.count):
        chance = np.random.default_rng(asked.seed * 1000 + walk)
        way, dtype = WAYS[walk % len(WAYS)], list(TYPES)[walk // len(WAYS) % 3]
        size = SIZES[walk // len(WAYS) // 3 % 3]
        program = Program(
            int(chance.integers(1 << 30)),
            SHAPES[int(chance.integers(3))],
            dtype,
            bool(chance.integers(2)),
            way,
            size,
        )
        flags = said_type(dtype, walk // len(WAYS) // 9)
        code, text = diagnosed(program, asked.program, program.run(), flags)
        counts[f"right {dtype}: {'accused' if code else 'right'}"] += 1
        if code:
            bad += 1
            print(
                f"accused: {dtype}, {size}, {way or 'plain'}, walk {walk}: exit {code}\n{text}",
                flush=True,
            )
    for what, count in sorted(counts.items()):
        print(f"{what}: {count}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())

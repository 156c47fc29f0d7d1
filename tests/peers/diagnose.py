#!/usr/bin/env python3
"""Times `attn-explain diagnose` on tensors that a NumPy program saved, in turns, as a table.

    tests/peers/diagnose.py PROGRAM [OTHER_PROGRAM] [--rounds 3]

A causal layer is right, divides by the square root of the wrong width, or has weights that no known
mistake makes; it saves all its steps or the output alone. Each row has the medians of processor time,
wall time and peak memory. `small` has 8 tokens.
"""

import argparse
import os
import pathlib
import statistics
import tempfile
import time

import numpy as np

SHAPES = {"small": (1, 8, 16, 2), "medium": (2, 128, 128, 8), "large": (4, 256, 512, 8)}


def layer(samples, tokens, width, heads, kind):
    """Returns the tensors of one attention layer, with names of a typical program."""
    draw = np.random.default_rng(7)
    x = draw.normal(size=(samples, tokens, width)).astype("f4")
    names = ("w_query", "w_key", "w_value", "w_output")
    weights = {name: (draw.normal(size=(width, width)) / width**0.5).astype("f4") for name in names}

    def split(rows):
        return rows.reshape(samples, tokens, heads, -1).transpose(0, 2, 1, 3)

    q, k, v = (np.ascontiguousarray(split(x @ weights[name].T)) for name in names[:3])
    size = width if kind == "named" else width // heads
    scores = q @ k.swapaxes(-1, -2)
    scaled = scores / np.float32(size**0.5)
    masked = np.where(np.triu(np.ones((tokens, tokens), bool), 1), np.float32(-np.inf), scaled)
    numerator = np.exp(masked - masked.max(-1, keepdims=True))
    attention = numerator / numerator.sum(-1, keepdims=True)
    if kind == "unknown":
        attention[..., ::7] *= np.float32(0.8)
    context = attention @ v
    merged = np.ascontiguousarray(context.transpose(0, 2, 1, 3)).reshape(x.shape)
    steps = dict(q=q, k=k, v=v, scores=scores, scaled=scaled, masked=masked, attn=attention)
    steps |= dict(context=context, merged=merged, output=merged @ weights["w_output"].T)
    return {"x": x, **weights}, steps


def measured(command):
    """Returns processor seconds, wall seconds and peak MiB of one process."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        away = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), stream) for stream in (1, 2)]
        start = time.perf_counter()
        child = os.posix_spawn(command[0], command, os.environ, file_actions=away)
        _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 3):
        raise SystemExit(f"failed: {' '.join(command)}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shapes", default=",".join(SHAPES))
    asked = parser.parse_args()
    print(f"{'shape':8}{'program':10}{'saved':8}" + "     cpu    wall   MiB" * len(asked.programs))
    with tempfile.TemporaryDirectory() as folder:
        for shape in asked.shapes.split(","):
            samples, tokens, width, heads = SHAPES[shape]
            for kind in ("right", "named", "unknown"):
                given, steps = layer(samples, tokens, width, heads, kind)
                for saved in ("all", "output"):
                    path = str(pathlib.Path(folder) / f"{kind}-{saved}.npz")
                    kept = steps if saved == "all" else {"output": steps["output"]}
                    np.savez(path, **given, **kept)
                    flags = ["--heads", str(heads), "--mask", "causal", "--output-projection"]
                    rounds = [
                        [measured([program, "diagnose", path, *flags]) for program in asked.programs]
                        for _ in range(asked.rounds)
                    ]
                    line = f"{shape:8}{kind:10}{saved:8}"
                    for at in range(len(asked.programs)):
                        cpu, wall, peak = map(statistics.median, zip(*(each[at] for each in rounds)))
                        line += f"{cpu:8.2f}{wall:8.2f}{peak:6.0f}"
                    print(line, flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs the programs that --code writes and compares their output with the walk.

    tests/check_program.py build/dev/app/attn-explain [WORD]

Writes the walks of check_ipynb.py (those that contain WORD) with --code torch and --code numpy, quiet,
and runs them. Their output must be that of the walk in the form of the same library: word by word
outside of numbers, numbers except for rounding. Without PyTorch or NumPy nothing is checked, and a
line reports this.
"""

import contextlib
import io
import re
import shlex
import subprocess
import sys

from check_ipynb import MISTAKEN, TOKEN, WALKS, difference

MORE = """
--model-file stories --text "Once upon a time"
--model-file stories --text "Once upon" --layer 3 --bug rope-style
--model-file tests/models/fixtures/gpt2 --ids 1,2,0,1
--preset llama3 --seq-len 5
--preset gemma2 --seq-len 5
--preset t5 --seq-len 4
--tokens the,cat --ids 5,9
--text "a\\tb 'c' \\"d\\" é 猫"
--x data/six-by-three.csv --heads 3
--example adjective
--example heads --backward
--example induction
--dtype float64 --heads 2 --embed-dim 8
--backward
--backward --heads 2 --mask causal --output-projection --output-bias --batch 2 --seq-len 3 --loss mean
--backward --heads 4 --kv-heads 2 --embed-dim 16 --seq-len 4 --rope half --qk-norm head --softcap 3 --bias
--backward --projection fused-by-head --heads 2 --seq-len 3 --loss weights[0,1,0]
--backward --projection stacked --heads 2 --seq-len 3 --bias
--backward --projection per-head --heads 2 --seq-len 3
--backward --ids 1,2,1 --pad-id 0 --sink randn
--backward --differential --heads 4 --seq-len 3
--backward --mla 3 --heads 2 --seq-len 3
--backward --projection mha --heads 2 --seq-len 3 --bias --output-projection
--backward --past 2 --seq-len 3 --mask causal --rope interleaved
--backward --rng numpy --seq-len 4 --x-norm layer
--backward --heads 2 --seq-len 3 --rule 'weights[q,k] = sigmoid(scores[q,k])' --dtype float64
--backward --projection none --heads 2 --seq-len 3 --softmax-axis query
--backward --dropout 0.3 --heads 2 --seq-len 3 --mask causal
--backward --dropout 0.5 --dropout-place output --output-projection --seq-len 3 --dtype float64
"""


def alike(ours, theirs):
    """True if two printed texts are the same except for the last digits."""
    # A walk in two types names one of them, its program the other.
    texts = [re.sub(r",\s+dtype=torch.float\d\d", "", text) for text in (ours, theirs)]
    words = [re.sub(r"\s+", "", TOKEN.sub("#", text)) for text in texts]
    numbers = [TOKEN.findall(text) for text in (ours, theirs)]
    if words[0] != words[1] or len(numbers[0]) != len(numbers[1]):
        return False
    finite = [abs(float(t)) for t in numbers[0] if re.search(r"\d$|\.$", t)]
    found = [difference(a, b, "float32", max(finite, default=0)) for a, b in zip(*numbers)]
    return "other" not in found


def output_of(code):
    import numpy
    import torch

    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)
    numpy.set_printoptions(precision=8, threshold=1000, edgeitems=3, linewidth=75, suppress=False)
    numpy.seterr(all="ignore")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "program", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def main(program, word=""):
    try:
        import numpy  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        print(f"SKIPPED: {error.name} is not installed, so no program can be run")
        return 0
    # A program prints in the order of the walk.
    ordered = WALKS.replace("weights,row_max,exponentials,row_sum", "row_max,exponentials,row_sum,weights")
    walks = [shlex.split(line) for line in (ordered + MORE).strip().splitlines()]
    for line in MISTAKEN.strip().splitlines():
        for bug in ("softmax-axis=query", "k-dot-k", "rope-style", "transposed-keys"):
            walks.append(shlex.split(line) + ["--bug", bug])
    failures = done = 0

    def ran(arguments):
        made = subprocess.run([program, *arguments], capture_output=True, text=True)
        return made.stdout if made.returncode == 0 else None

    for walk in walks:
        if word not in shlex.join(walk):
            continue
        for language in ("torch", "numpy"):
            given = [w for i, w in enumerate(walk) if w != "--code" and walk[i - 1] != "--code"]
            code = ran([*given, "--code", language, "-q"])
            expected = ran([*given, "--format", language, "-q"])
            if code is None or expected is None or "ATEN_CPU_CAPABILITY" in code:
                continue
            done += 1
            try:
                printed = output_of(code)
            except Exception as error:  # any exception of a program is a finding
                printed = f"{type(error).__name__}: {error}"
            if not alike(expected, printed):
                failures += 1
                print(f"FAILED --code {language} {shlex.join(given)}\n{printed[-300:]}")
    print(f"{done} programs, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else __doc__)

#!/usr/bin/env python3
"""Runs the Jupyter notebooks that attn-explain writes and compares the output of their cells.

    tests/check_ipynb.py build/dev/app/attn-explain

Writes all notebooks, a variety of walks and every mistake of the catalogue with --format ipynb. Runs
their code cells in one namespace, as Jupyter would, under the installed PyTorch and NumPy, and
compares every printed number with the output in the file: float64 exactly, float32 except for an
occasional unit in the last place. Without PyTorch or NumPy nothing is checked, which a line reports.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time

WALKS = """
--heads 4 --kv-heads 2 --embed-dim 12 --seq-len 4 --output-projection --batch 2
--heads 6 --kv-heads 3 --projection fused --bias --head-dim 3 --value-dim 5 --seq-len 3 --rng numpy
--heads 4 --kv-heads 1 --projection stacked --bias --seq-len 3 --variant loop
--heads 2 --embed-dim 8 --seq-len 4 --sink randn --mask causal --detail
--seq-len 4 --sink zero --rng numpy --batch 2 --detail
--heads 4 --kv-heads 2 --past 3 --seq-len 3 --embed-dim 8 --rope half --mask causal --sink randn --batch 2
--past 2 --seq-len 3 --rng numpy --mask causal --variant loop
--preset mistral --seq-len 7
--preset neox --seq-len 5
--preset gpt-oss --seq-len 6 --past 3
--position-embedding learned --text "the cat saw the dog" --detail
--position-embedding sinusoidal --batch 2 --seq-len 5 --embed-dim 6 --positions 3,1,4,1,5 --rope half
--position-embedding sinusoidal --ids "1,2;2,3" --embed-dim 5 --rng numpy --memory-len 3
--qk-norm head --heads 2 --embed-dim 8 --seq-len 5 --rope half
--qk-norm all --heads 4 --kv-heads 2 --embed-dim 16 --batch 2 --seq-len 5 --rope interleaved --qk-norm-place after --dtype float64
--qk-norm l2 --norm-eps 1e-12 --rng numpy --variant loop
--rope half
--rope half --heads 2 --embed-dim 24 --seq-len 5 --rope-scaling linear:4 --rng numpy
--rope half --heads 2 --embed-dim 24 --seq-len 9 --rope-scaling dynamic:4:6 --variant loop
--rope half --heads 2 --embed-dim 32 --rope-scaling llama3:8:1:4:64 --rope-theta 500000 --seed 3
--rope half --heads 2 --embed-dim 32 --rope-scaling yarn:32:128:truncate=false --rope-theta 150000
--preset phi3 --seq-len 5 --detail
--preset phi3 --seq-len 3 --positions 5,9000,7 --rng numpy --variant loop
--preset deepseek --seq-len 4 --batch 2
--preset deepseek --seq-len 4 --mla-absorbed --detail
--preset deepseek --rope half --weight-layout in-out --rope-scaling yarn:40:64:mscale=1:mscale_all_dim=1 --rng numpy --variant loop --batch 2 --mla-absorbed
--heads 2 --head-dim 3 --value-dim 5 --mla 4 --seq-len 3 --memory-len 5 --rng numpy
--differential --heads 2 --embed-dim 8 --seq-len 4 --mask causal --batch 2 --output-projection --detail
--differential 3 --heads 4 --kv-heads 2 --head-dim 4 --projection fused --rope half --seq-len 4 --rng numpy
--rope interleaved --heads 2 --embed-dim 12 --seq-len 6 --rotary-dim 4 --rope-theta 500000 --positions 7,8,9,20,3,0 --detail --seed 1
--rope half --rotary-dim 2 --memory-len 3 --positions 1,2,3,4,5,6;0,5,10 --rng numpy --variant loop
--dropout 0.2 --heads 2 --seq-len 4 --batch 2 --mask causal --detail
--dropout 0.2 --dropout-seed 7 --rng numpy --batch 2 --seq-len 3 --heads 2 --dropout-place context
--dropout 0.3 --rng numpy-pcg64 --seq-len 4 --dtype float32 --output-projection --dropout-place output
--variant loop
--text "the cat sat on the mat" --heads 2 --embed-dim 8 --mask causal --output-projection
--text "a dog barks" --text "it runs" --mask padding --heads 2 --embed-dim 6 --projection fused
--notebook 000 --bug none
--random rand --batch 2 --seq-len 5 --embed-dim 6 --heads 3 --projection stacked --init uniform
--batch 2 --seq-len 3 --embed-dim 8 --heads 2 --projection per-head --init normal --bias
--seq-len 3 --embed-dim 8 --heads 4 --projection per-head --merge --output-projection --output-bias
--seq-len 4 --embed-dim 8 --heads 2 --projection mha --bias --batch 2 --mask causal
--seq-len 4 --embed-dim 8 --heads 2 --projection mha
--seq-len 4 --memory-len 6 --embed-dim 8 --heads 2 --projection mha --bias
--text "le chat noir" --memory-text "the black cat" --heads 2 --embed-dim 8 --mask causal --causal-align end
--seq-len 3 --memory-len 5 --embed-dim 8 --heads 2 --projection fused --bias --mask causal
--seq-len 3 --memory-len 5 --embed-dim 8 --heads 2 --projection fused-by-head --bias
--seq-len 3 --memory-len 5 --embed-dim 8 --heads 2 --projection fused-by-head --bias --weight-layout in-out
--projection none --seq-len 3 --embed-dim 2
--projection none --text "x is its own query" --embed-dim 4 --heads 2
--projection none --text "x is its own query" --embed-dim 4 --output-projection
--notebook 003 --bug none
--batch 3 --seq-len 4 --embed-dim 6 --lengths 4,2,0 --mask padding,causal --empty-row zero
--batch 3 --seq-len 4 --embed-dim 6 --lengths 4,2,0 --mask padding
--dtype float64 --batch 2 --seq-len 5 --embed-dim 12 --heads 3 --bias --output-projection --output-bias --only x,query,scores,row_max,exponentials,row_sum,weights,context,merged,output
--compute-dtype float64 --batch 2 --seq-len 5 --embed-dim 12 --heads 3 --draw-order kvq
--seq-len 6 --embed-dim 8 --softmax-axis query --scale none
--seq-len 6 --embed-dim 6 --heads 3 --softcap 0.5 --position-bias alibi --mask causal
--rng numpy --seq-len 4 --embed-dim 4 --softcap 2 --position-bias alibi
--seq-len 9 --embed-dim 6 --heads 2 --position-bias t5:8:6 --scale none
--seq-len 3 --memory-len 9 --embed-dim 6 --heads 2 --position-bias t5:8:12 --mask causal --causal-align end --detail
--seq-len 5 --embed-dim 4 --position-bias t5 --code numpy
--seq-len 7 --embed-dim 8 --heads 2 --mask causal,window:3,chunk:4,documents:2+3+2
--rng numpy --seq-len 7 --embed-dim 4 --mask prefix:3,window:5,chunk:4,documents:2+3+2
--seq-len 3 --memory-len 7 --embed-dim 4 --mask window:2,causal,chunk:3 --causal-align end
--rng numpy --seq-len 5 --memory-len 7 --embed-dim 4 --mask prefix:2,documents:4+3 --causal-align end
--heads 2 --seq-len 6 --embed-dim 8 --softmax-axis head --scale embed-dim
--batch 2 --seq-len 6 --embed-dim 8 --softmax-axis batch --scale 0.3
--weight-layout in-out --bias --heads 2 --seq-len 3 --embed-dim 4 --output-projection
--projection matrix --init uniform --head-dim 5 --value-dim 3 --x data/six-by-three.csv
--x data/six-by-three.csv --batch 2 --heads 2 --head-dim 2 --projection per-head --merge --seed 123 --mask causal
--rng numpy --seq-len 4 --embed-dim 6 --heads 2 --mask causal
--rng numpy --seq-len 4 --embed-dim 6 --heads 2 --projection per-head --init uniform,uniform,normal
--rng numpy --text "a b c a" --embed-dim 4 --init linear --bias
--rng numpy --dtype float32 --batch 2 --seq-len 4 --embed-dim 4 --lengths 4,1 --mask padding --empty-row zero
--rng numpy-pcg64 --seq-len 4 --embed-dim 6 --projection fused --heads 2 --softmax-axis query
--rng numpy-pcg64 --batch 2 --seq-len 3 --embed-dim 4 --init linear --code torch
--code numpy --seq-len 4 --embed-dim 8 --heads 2 --bias --mask causal --only weights,row_max,exponentials,row_sum,output --output-projection
--code numpy --text "one two three" --embed-dim 4 --projection mha --heads 2 --bias
--precision 6 --sci-mode on --seq-len 3 --embed-dim 4
--seq-len 40 --embed-dim 64 --heads 4 --edgeitems 2 --threshold 50 --linewidth 100
--only 'weights[0,1:3],context[...,0]' --seq-len 4 --embed-dim 4 --heads 2
"""

# Each mistake is made in every one of these walks in which it can show.
MISTAKEN = """
--heads 2 --embed-dim 16 --seq-len 4 --rope half --positions 3,4,5,6 --rope-scaling yarn:4:64:8:1 --qk-norm head --weights data/norm-gains.npz --scale 0.2
--heads 2 --embed-dim 16 --seq-len 4 --rope half --positions 3,4,5,6 --rotary-dim 4 --qk-norm all
--heads 2 --embed-dim 16 --seq-len 4 --rope interleaved --positions 3,4,5,6 --scale none
--text "the cat sat on the mat" --heads 2 --embed-dim 8 --mask causal --output-projection --bias --output-bias
--ids "1,2,0,0;1,2,3,1" --pad-id 0 --vocab-size 9 --heads 2 --embed-dim 8 --mask padding,causal --bias --output-projection
--ids "1,2,0,0;1,2,3,1" --pad-id 0 --vocab-size 9 --heads 2 --embed-dim 8 --mask padding
--batch 3 --seq-len 4 --heads 3 --embed-dim 12 --projection fused --bias
--batch 2 --seq-len 4 --heads 2 --embed-dim 8 --projection fused-by-head --bias --output-projection
--batch 2 --seq-len 3 --memory-len 5 --heads 2 --embed-dim 8 --bias
--batch 2 --seq-len 3 --memory-len 5 --heads 2 --embed-dim 8 --projection fused --bias
--seq-len 3 --memory-len 5 --heads 2 --embed-dim 8 --mask causal --causal-align end --scale 0.3
--batch 2 --seq-len 4 --heads 2 --embed-dim 4 --head-dim 4 --projection stacked --bias
--batch 3 --seq-len 4 --embed-dim 4 --bias --mask causal
--batch 3 --seq-len 4 --embed-dim 4 --lengths 4,2,0 --mask padding
--seq-len 5 --embed-dim 4 --weight-layout in-out --output-projection --scale embed-dim
--code numpy --batch 2 --seq-len 4 --heads 2 --embed-dim 8 --weight-layout in-out --bias --mask causal --output-projection --output-bias
--rng numpy --ids "1,2,0,0;1,2,3,1" --pad-id 0 --vocab-size 9 --heads 2 --embed-dim 8 --mask padding,causal
--batch 2 --seq-len 4 --heads 4 --kv-heads 2 --embed-dim 8 --bias --mask causal
--batch 2 --seq-len 4 --heads 4 --kv-heads 2 --embed-dim 8 --projection fused --bias --code numpy
--batch 2 --seq-len 4 --heads 2 --embed-dim 8 --rope half --mask causal --bias
--batch 2 --seq-len 5 --heads 2 --embed-dim 8 --softcap 2 --mask window:2,causal --position-bias alibi
--seq-len 6 --heads 4 --kv-heads 2 --embed-dim 16 --qk-norm head --rope interleaved --rotary-dim 2
--seq-len 6 --heads 2 --embed-dim 8 --mask chunk:3,prefix:2 --position-bias t5
--seq-len 6 --heads 2 --embed-dim 8 --mask documents:2+4,causal --qk-norm all --qk-norm-place after --rope half
--seq-len 6 --heads 2 --embed-dim 8 --mask prefix:2,causal --qk-norm l2
--seq-len 4 --heads 2 --embed-dim 8 --past 3 --mask window:2,causal --sink randn
--seq-len 6 --heads 2 --embed-dim 8 --mask causal --prefill 4 --rope half --scale 0.25
--seq-len 4 --heads 2 --embed-dim 8 --past 3 --mask causal --position-bias t5:8:6 --rope interleaved
--seq-len 4 --heads 6 --kv-heads 3 --embed-dim 24 --rope half --mask causal,window:3 --qk-norm all --norm-eps 0.05
--ids 0,0,1,2,3 --pad-id 0 --vocab-size 9 --heads 2 --embed-dim 8 --mask padding --position-embedding learned --positions 4,4,0,1,2
--ids 0,0,1,2,3 --pad-id 0 --vocab-size 9 --heads 2 --embed-dim 8 --mask padding --position-embedding sinusoidal --positions 0,0,0,1,2
--text "the cat sat" --heads 2 --embed-dim 8 --position-embedding learned --positions 2,3,4 --output-projection
--seq-len 4 --memory-len 5 --heads 2 --embed-dim 8 --scale none --weights data/t5-table.npz
--seq-len 5 --heads 6 --embed-dim 24 --position-bias alibi
--seq-len 5 --heads 8 --kv-heads 2 --embed-dim 16 --output-projection --sink randn
--seq-len 5 --heads 8 --kv-heads 2 --embed-dim 16 --projection fused --past 2 --sink zero
--seq-len 5 --heads 2 --head-dim 4 --embed-dim 6
--seq-len 5 --heads 6 --kv-heads 3 --embed-dim 12
--seq-len 4 --heads 3 --head-dim 4 --value-dim 3 --embed-dim 7 --mla 5 --mla-query-rank 2 --rotary-dim 4 --positions 3,4,5,6 --rope-scaling yarn:40:32:mscale_all_dim=1
--seq-len 4 --heads 3 --head-dim 4 --embed-dim 7 --mla 2 --mla-absorbed --batch 2 --weight-layout in-out --output-projection
--seq-len 4 --heads 3 --head-dim 4 --embed-dim 5 --differential 1 --batch 2 --output-projection
--seq-len 4 --heads 2 --embed-dim 8 --weights-by sigmoid --mask causal
--seq-len 4 --heads 2 --embed-dim 8 --dropout 0.2 --mask causal --output-projection
"""

NOTEBOOKS = [
    [name] + more
    for name in ("000", "001", "002", "003")
    for more in ([], ["--corrected"], ["--seed", "7"])
]

# The tensors of cells that print only shapes.
KEPT = {
    "001": "loop_context,array_weights,array_context,head_context",
    "002": "average_by_triangle,average_by_softmax,context,context_by_einsum,two_heads_weights,"
    "two_heads_output,five_heads_scores,five_heads_output",
}
NOTEBOOKS += [
    [name, "--only", kept] + more for name, kept in KEPT.items() for more in ([], ["--corrected"])
]

TOKEN = re.compile(
    r"(?<![\w.])(?:-?\d+\.?\d*(?:e[-+]\d+)?(?![\w])|True\b|False\b|-?inf\b|nan\b)"
)


def unit(token):
    """Returns one unit in the last printed digit."""
    mantissa, _, exponent = token.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals)


def run(notebook):
    """Runs all code cells in one namespace; yields each with the type of its output and its text."""
    namespace = {}
    kind = ""
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            found = re.findall(r", (float16|bfloat16|float32|float64|int64|bool)$", "".join(cell["source"]), re.M)
            kind = found[0] if found else "text"
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), "cell", "exec"), namespace)
        yield cell, kind, printed.getvalue()


def difference(ours, theirs, kind, largest):
    """Classifies how two printed numbers differ: equal, one unit, rounding or other."""
    if ours == theirs:
        return "equal"
    if kind == "float64" or not re.search(r"[.]", ours):
        return "other"
    distance = abs(float(ours) - float(theirs))
    if distance < 1.5 * max(unit(ours), unit(theirs)):
        return "one unit"
    # A number that is 0 in exact arithmetic, such as the gradient of a key bias, is only rounding.
    return "rounding" if distance <= max(4 * 2.0**-23 * largest, 5e-7) else "other"


def check(notebook):
    """Returns counts of each kind of difference, the roundings, and a message for any other."""
    import numpy
    import torch

    torch.set_printoptions(profile="default")
    numpy.set_printoptions(
        precision=8, threshold=1000, edgeitems=3, linewidth=75, suppress=False
    )
    numpy.seterr(all="ignore")
    assert notebook["nbformat"] == 4
    try:
        import nbformat

        nbformat.validate(nbformat.from_dict(notebook))
    except ImportError:
        pass
    counts = {"equal": 0, "one unit": 0, "rounding": 0}
    roundings = []
    for cell, kind, printed in run(notebook):
        ours = "".join("".join(output["text"]) for output in cell["outputs"])
        our_tokens, their_tokens = TOKEN.findall(ours), TOKEN.findall(printed)
        where = "".join(cell["source"]).splitlines()[-1]
        if len(our_tokens) != len(their_tokens):
            return counts, roundings, f"{where}: we print\n{ours}\nPython prints\n{printed}"
        finite = [abs(float(t)) for t in our_tokens if t[-1].isdigit() or t[-1] == "."]
        for a, b in zip(our_tokens, their_tokens):
            found = difference(a, b, kind, max(finite, default=0))
            if found == "other":
                return counts, roundings, f"{where}: {a} is not {b}"
            counts[found] += 1
            if found == "rounding":
                roundings.append(f"{where}: {a} and {b}")
    return counts, roundings, ""


def child():
    """Checks the notebooks named on standard input, one JSON list of [title, file text] pairs."""
    results = []
    for title, text in json.load(sys.stdin):
        try:
            start = time.perf_counter()
            results.append([title, *check(json.loads(text))])
        except Exception as error:  # any exception of a generated cell is a finding
            results.append([title, {}, [], f"{type(error).__name__}: {error}"])
        results[-1].append(time.perf_counter() - start)
    json.dump(results, sys.stdout)


def mistaken(program):
    """Returns the commands that make each mistake; a mistake that shows in no walk is a failure."""
    import shlex

    listed = subprocess.run([program, "bugs", "--json"], capture_output=True, check=True).stdout
    ids = [bug["id"] for bug in json.loads(listed) if not bug.get("harmless")]
    commands = []
    for bug in ids:
        made = []
        for line in MISTAKEN.strip().splitlines():
            walk = shlex.split(line) + ["--bug", bug]
            # Mistakes of the backward pass need a walk with --backward.
            walk += ["--backward"] if bug.startswith("grad-") else []
            tried = subprocess.run([program, *walk, "--only", "x"], capture_output=True, text=True)
            if "has no effect here" not in tried.stderr:
                made.append(walk)
        if not made:
            sys.exit(f"no walk can show the mistake {bug}")
        commands += made
    return commands


def main():
    try:
        import numpy
        import torch
    except ImportError as error:
        print(f"SKIPPED: {error.name} is not installed, so no notebook can be run")
        return 0
    print(f"PyTorch {torch.__version__}, NumPy {numpy.__version__}")

    import shlex

    program = os.path.abspath(sys.argv[1])
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))  # files belong to the project
    commands = [["notebook"] + arguments for arguments in NOTEBOOKS]
    commands += [shlex.split(line) for line in WALKS.strip().splitlines()]
    commands += mistaken(program)
    groups = {False: [], True: []}
    failures = 0
    spent = {"attn-explain": 0.0, "Python": 0.0}
    for command in commands:
        title = shlex.join(command)
        start = time.perf_counter()
        made = subprocess.run(
            [program, *command, "--format", "ipynb"], capture_output=True, text=True
        )
        spent["attn-explain"] += time.perf_counter() - start
        if made.returncode != 0:
            print(f"FAILED {title}: {made.stderr.strip()}")
            failures += 1
            continue
        # PyTorch chooses its kernels once per process.
        groups["ATEN_CPU_CAPABILITY" in made.stdout].append([title, made.stdout])

    for group in groups.values():
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__), "--child"],
            input=json.dumps(group),
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            print(f"FAILED to run: {done.stderr.strip()[-2000:]}")
            failures += len(group)
            continue
        for title, counts, roundings, complaint, seconds in json.loads(done.stdout):
            spent["Python"] += seconds
            # Here and there: about one number in forty at most; more in texts of eight digits.
            total = sum(counts.values())
            failed = complaint or total == 0
            if "--code numpy" not in title and "--rng numpy" not in title:
                failed = failed or (total - counts["equal"]) * 40 > total + 100
            failures += bool(failed)
            words = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
            print(f"{'FAILED' if failed else 'ok    '} {title}: {words}")
            for line in roundings + ([complaint] if complaint else []):
                print(f"       {line}")
    for name, seconds in spent.items():
        print(f"{name}: {1000 * seconds / len(commands):.1f} ms for a notebook")
    print(f"{len(commands)} notebooks, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--child"]:
        child()
    elif len(sys.argv) == 2:
        sys.exit(main())
    else:
        sys.exit(__doc__)

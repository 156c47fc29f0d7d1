#!/usr/bin/python3
"""Runs `diagnose` on mistakes that are not in the catalogue: one step of a walk is computed by a rule
with one error, by the evaluator of check_step_rules.py, and the later steps by the right rules.

    tests/check_mutations.py [PROGRAM [COUNT]]

Counts the mistakes that are named, by one of the catalogue or by the rule that the numbers follow.
No correct walk may be accused.
"""
import json
import random
import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np

import check_step_rules as rules

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "build/dev/app/attn-explain"
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 200
rules.PROGRAM = PROGRAM

WALKS = """
--seq-len 4 --embed-dim 6 --head-dim 5
--seq-len 5 --embed-dim 12 --heads 3 --output-projection
--seq-len 5 --embed-dim 12 --heads 3 --mask causal --bias --output-projection --output-bias
--seq-len 5 --embed-dim 12 --heads 2 --kv-heads 1 --rope half --mask causal
--seq-len 5 --embed-dim 12 --heads 2 --rope interleaved --qk-norm head
--seq-len 6 --embed-dim 8 --heads 2 --softcap 2 --mask window:3,causal
--seq-len 4 --embed-dim 8 --heads 2 --position-bias alibi --mask causal
--seq-len 4 --embed-dim 8 --heads 2 --sink randn --mask causal
--seq-len 4 --embed-dim 8 --heads 2 --x-norm rms
--seq-len 3 --past 2 --embed-dim 8 --heads 2 --mask causal
--seq-len 5 --embed-dim 8 --heads 4 --differential
--seq-len 4 --memory-len 6 --embed-dim 8 --heads 2
"""


def mutants(rule, tensors):
    """Yields versions of a rule with one error."""
    left, right = rule.split(" = ", 1)
    name = left.split("[")[0]
    changes = []
    for found in re.finditer(r"(\w+)\[([^\[\]]+)\]", right):
        if found.group(1) not in tensors:
            continue
        shape = tensors[found.group(1)]["shape"]
        places = found.group(2).split(",")
        for a in range(len(places)):
            for b in range(a + 1, len(places)):
                if shape[a] == shape[b] > 1 and places[a].isalpha() and places[b].isalpha():
                    other = places[:]
                    other[a], other[b] = other[b], other[a]
                    changes.append((found.start(2), found.end(2), ",".join(other)))
        for other, step in tensors.items():
            same = step["shape"] == shape and step["dtype"] == tensors[found.group(1)]["dtype"]
            if same and other != found.group(1) and other != name:
                changes.append((found.start(1), found.end(1), other))
    pairs = [(" / ", " * "), (" * ", " / "), (" + ", " - "), (" - ", " + "), ("sum ", "mean "),
             ("max ", "min "), ("cos(", "sin("), ("tanh(", "("), ("exp(", "("), (" > q", " > q + 1"),
             (" / sqrt(", " / ("), (" ^ 2", "")]
    depth = [0]
    for c in right:
        depth.append(depth[-1] + (c == "[") - (c == "]"))
    for before, after in pairs:
        for found in re.finditer(re.escape(before), right):
            if depth[found.start()] == 0:
                changes.append((found.start(), found.end(), after))
    return [left + " = " + right[:a] + text + right[b:] for a, b, text in changes]


def made(rule, step, tensors):
    _, indices, body = rules.Reader(rule, tensors).rule()
    result = np.empty(step["shape"], dtype=float)
    for at in np.ndindex(*step["shape"]):
        result[at] = body(dict(zip(indices, at)))
    return result


def data(array, dtype):
    if dtype == "bool":
        return (array != 0).tolist()
    return array.tolist()


def ask(walk, arrays):
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file.name, **arrays)
        run = subprocess.run([PROGRAM, "diagnose", file.name, *shlex.split(walk), "--json"],
                             capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def arrays_of(tensors):
    types = {"bool": bool, "int64": np.int64}
    kinds = ("w_", "b_", "g_", "embedding", "memory", "past_", "sink", "lambda_", "ids", "row_",
             "exponentials", "slopes", "x")
    out = {}
    for name, step in tensors.items():
        if not name.startswith(kinds):
            out[name] = np.array([[rules.number(c)] for _, c in rules.cells(step["data"])],
                                 dtype=types.get(step["dtype"], np.float64)).reshape(step["shape"])
    return out


def main():
    random.seed(7)
    trials, accused = [], 0
    for walk in WALKS.strip().splitlines():
        walk += " --dtype float64"
        run = subprocess.run([PROGRAM, *shlex.split(walk), "--format", "json"], capture_output=True,
                             text=True, check=True)
        steps = json.loads(run.stdout)["steps"]
        right = {step["name"]: step for step in steps}
        code, out, err = ask(walk, arrays_of(right))
        if code != 0:
            accused += 1
            print("accused:", walk, out[:300], err)
        for number, step in enumerate(steps):
            if "rule" not in step or step["name"] in ("row_max", "row_sum", "exponentials", "x"):
                continue
            before = {s["name"]: s for s in steps[:number]}
            for rule in mutants(step["rule"], before):
                trials.append((walk, number, rule, steps))
    random.shuffle(trials)
    tried = named = by_rule = 0
    for walk, number, rule, steps in trials:
        if tried == COUNT:
            break
        tensors, changed = {}, False
        try:
            for i, step in enumerate(steps):
                step = dict(step)
                if i >= number and "rule" in step:
                    array = made(rule if i == number else step["rule"], step, tensors)
                    was = np.array([c for _, c in rules.cells(step["data"])], float).reshape(
                        step["shape"])
                    if i == number:
                        changed = not np.allclose(array, was, rtol=1e-3, atol=1e-3, equal_nan=True)
                        if not changed or not np.isfinite(array[~np.isinf(was)]).all():
                            changed = False
                            break
                    step["data"] = data(array, step["dtype"])
                tensors[step["name"]] = step
        except (AssertionError, IndexError, OverflowError, ValueError):
            continue
        if not changed:
            continue
        tried += 1
        code, out, err = ask(walk, arrays_of(tensors))
        findings = json.loads(out)["findings"] if code in (0, 1, 3) and out else []
        is_named = any(f.get("id") or f.get("mistake") for f in findings)
        follows = any("follows" in f for f in findings)
        named += is_named or follows
        by_rule += follows
        if not is_named and not follows:
            print(f"not named ({code}): {walk}\n    {rule}\n    {err.strip()[:200]}")
    print(f"{tried} mutations: {named} named, {by_rule} of them by their rule; {accused} right "
          "walks accused")
    return 1 if accused or named < 0.9 * tried else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Computes every example of data/examples with NumPy, from its file alone, and compares.

    tests/check_examples.py [PROGRAM]

Parses the file independently, and computes the walk in float64 by the textbook formula,
softmax(q k^T / sqrt(d)) v. The program's JSON must agree, and the weights must satisfy each claim of
the file.
"""

import json
import math
import pathlib
import subprocess
import sys

from oracles import numpy as np

EXAMPLES = pathlib.Path(__file__).parent.parent / "data" / "examples"


def read(path):
    tables, claims, flags = {}, [], ""
    for paragraph in path.read_text().split("\n\n"):
        lines = [line.split(" #")[0].split() for line in paragraph.splitlines() if not line.startswith("#")]
        lines = [line for line in lines if line]
        if lines[0][0] == "example":
            claims = [line[1:] for line in lines if line[0] == "looks"]
            flags = " ".join(sum((line[1:] for line in lines if line[0] == "begins"), []))
            continue
        numbers = np.array([[float(cell) for cell in line[1:]] for line in lines[1:]])
        tables[lines[0][0]] = ([line[0] for line in lines[1:]], numbers)
    return tables, claims, flags


def walk(tables, flags):
    """Returns weights and context of each head."""
    x = tables["x"][1]
    heads = 2 if "--heads 2" in flags else 1
    query, key, value = (
        (x @ tables[name][1].T if name in tables else x).reshape(len(x), heads, -1).transpose(1, 0, 2) for name in ("w_query", "w_key", "w_value"))
    scores = query @ key.transpose(0, 2, 1)
    if "--scale none" not in flags:
        scores = scores / math.sqrt(query.shape[-1])
    if "--mask causal" in flags:
        scores = np.where(np.triu(np.ones(scores.shape[1:]), 1) > 0, -np.inf, scores)
    powers = np.exp(scores)
    weights = powers / powers.sum(-1, keepdims=True)
    return weights, weights @ value


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/dev/app/attn-explain"
    faults = claims_met = 0
    paths = sorted(EXAMPLES.glob("*.txt"))
    for path in paths:
        tables, claims, flags = read(path)
        words = tables["x"][0]
        weights, context = walk(tables, flags)
        made = subprocess.run([program, "--example", path.stem, "--format", "json"], capture_output=True, text=True, check=True)
        theirs = {step["name"]: np.array(step["data"]) for step in json.loads(made.stdout)["steps"]}
        for name, ours in (("weights", weights), ("context", context)):
            off = np.abs(theirs[name].reshape(ours.shape) - ours).max()
            if not off < 2e-6:
                faults += 1
                print(f"{path.stem}: {name} is {off} off")
        for claim in claims:
            head = int(claim[5]) if len(claim) > 3 else 0
            row = weights[head, words.index(claim[0])]
            if not row[words.index(claim[2])] > 0.5:
                faults += 1
                print(f"{path.stem}: false claim: {' '.join(claim)}, the row is {row.round(4)}")
            claims_met += 1
    print(f"{len(paths)} examples, {claims_met} claims, {faults} faults")
    return 1 if faults or not paths else 0


if __name__ == "__main__":
    sys.exit(main())

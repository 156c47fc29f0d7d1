#!/usr/bin/env python3
"""Pages in the styles in which people publish attention, with and without wrong cells: proofread
must name every wrong cell, with the right number, and no other.

    tests/check_proofread.py PROGRAM [FOLDER]

Needs NumPy, which computes the numbers; prints a line and exits 0 without it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    np = None

WORDS = ["dog", "bought", "big", "bone", "yesterday"]


def softmax(scores):
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def walk(seed, tokens, features, decimals, causal):
    """Matrices by name, rounded as a page prints them; each is made from unrounded ones."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(tokens, features)).round(decimals)
    w_q, w_k, w_v = (rng.normal(size=(features, features)).round(decimals) for _ in range(3))
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T
    scaled = scores / np.sqrt(features)
    weights = softmax(np.where(np.tri(tokens) > 0, scaled, -np.inf) if causal else scaled)
    made = {"X": x, "W_Q": w_q, "W_K": w_k, "W_V": w_v, "Q": q, "K": k, "V": v}
    made |= {"scores": scores, "scaled scores": scaled, "weights": weights, "output": weights @ v}
    return {name: np.round(each, decimals) + 0.0 for name, each in made.items()}


def cells(matrix, decimals):
    return [[f"{value:.{decimals}f}" for value in row] for row in matrix]


def rows_of(name, words):
    return words if not name.startswith("W_") else [""] * 9


def html_table(name, matrix, decimals, words):
    head = "".join(f"<th>{i}</th>" for i in range(matrix.shape[1]))
    body = "".join(
        "<tr><th>" + word + "</th>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>\n"
        for word, row in zip(rows_of(name, words), cells(matrix, decimals))
    )
    return f"<h3>{name}</h3>\n<table><thead><tr><th></th>{head}</tr></thead>\n<tbody>{body}</tbody></table>\n"


def html_page(parts):
    return (
        "<!doctype html><html><head><title>Attention [1, 2]</title><style>td{padding:1em}</style>"
        "<script>var a = [[1, 2], [3, 4]];</script></head><body><h1>Attention by hand</h1>"
        "<p>Every word looks at all words &amp; itself.</p>" + "".join(parts) + "</body></html>"
    )


def bracketed(matrix, decimals):
    return "[" + ",\n ".join("[" + ", ".join(row) + "]" for row in cells(matrix, decimals)) + "]"


def html_pre(name, matrix, decimals, words):
    return f"<p>This is <b>{name}</b>:</p><pre><code>{name} = {bracketed(matrix, decimals)}</code></pre>\n"


def latex(matrix, decimals, kind):
    lines = " \\\\\n".join(" & ".join(row) for row in cells(matrix, decimals))
    return f"\\begin{{{kind}}}\n{lines}\n\\end{{{kind}}}"


def symbol(name):
    return {"weights": "A", "scores": "S", "output": "O"}.get(name, name.replace("_", "_"))


def mathjax(name, matrix, decimals, words):
    label = {"W_Q": "W^Q", "W_K": "W^K", "W_V": "W^V", "scores": "QK^T"}.get(name, name)
    if " " in label or label in ("weights", "output"):
        label = f"\\text{{{label}}}"
    return f"<p>Now \\[ {label} = {latex(matrix, decimals, 'bmatrix')} \\]</p>\n"


def markdown_table(name, matrix, decimals, words):
    lines = ["|  | " + " | ".join(f"f{i}" for i in range(matrix.shape[1])) + " |"]
    lines.append("|---" * (matrix.shape[1] + 1) + "|")
    for word, row in zip(rows_of(name, words), cells(matrix, decimals)):
        lines.append("| " + " | ".join([word, *row]) + " |")
    return f"### {name}\n\n" + "\n".join(lines) + "\n\n"


def markdown_fence(name, matrix, decimals, words):
    return f"The matrix `{name}`:\n\n```\n{bracketed(matrix, decimals)}\n```\n\n"


def markdown_math(name, matrix, decimals, words):
    label = name if " " not in name else f"\\text{{{name}}}"
    return f"$$\n{label} = {latex(matrix, decimals, 'pmatrix')}\n$$\n\n"


def tex(name, matrix, decimals, words):
    label = name if name[0].isupper() else f"\\text{{{name}}}"
    return f"We obtain\n\\[\n  {label} = {latex(matrix, decimals, 'pmatrix')}\n\\]\n"


def text(name, matrix, decimals, words):
    return f"{name}:\n" + "\n".join(" ".join(row) for row in cells(matrix, decimals)) + "\n\n"


def notebook(parts):
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": parts}
    return json.dumps(book)


def notebook_numpy(name, matrix, decimals, words):
    name = name.replace(" ", "_")
    printed = np.array2string(matrix, precision=decimals, floatmode="fixed", separator=", ")
    return {
        "cell_type": "code",
        "source": [f"print('{name} =', {name})\n"],
        "outputs": [{"output_type": "stream", "name": "stdout", "text": [f"{name} = {printed}\n"]}],
    }


def notebook_torch(name, matrix, decimals, words):
    name = name.replace(" ", "_")
    printed = "tensor(" + bracketed(matrix, decimals).replace("\n", "\n       ") + ")"
    return {
        "cell_type": "code",
        "source": f"{name}",
        "outputs": [
            {"output_type": "execute_result", "data": {"text/plain": f"{name} = {printed}"}}
        ],
    }


STYLES = [
    (html_table, html_page, "html"),
    (html_pre, html_page, "html"),
    (mathjax, html_page, "html"),
    (markdown_table, "".join, "md"),
    (markdown_fence, "".join, "md"),
    (markdown_math, "".join, "md"),
    (tex, "".join, "tex"),
    (text, "".join, "txt"),
    (notebook_numpy, notebook, "ipynb"),
    (notebook_torch, notebook, "ipynb"),
]
# which matrices the page prints, the wrong cells (name, row, column, error in units of the last
# digit), decimals, tokens, features
KINDS = [
    (["X", "W_Q", "W_K", "W_V", "Q", "K", "V", "scores", "weights", "output"], [], 4, 4, 3),
    (["X", "W_V", "W_Q", "W_K", "V", "Q", "K", "weights", "output"], [("V", 1, 2, 260)], 3, 4, 3),
    (
        ["Q", "K", "V", "scores", "scaled scores", "weights", "output"],
        [("output", 2, 0, 30)],
        2,
        5,
        2,
    ),
    (["Q", "K", "V", "scores", "weights", "output"], [("weights", 0, 1, 2000)], 4, 3, 4),
]


def main():
    if np is None:
        print("skipped: needs NumPy")
        return 0
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    planted_all, found_all, accused, judged, failed = 0, 0, 0, 0, 0
    for s, (part, page, ending) in enumerate(STYLES):
        for k, (names, wrong, decimals, tokens, features) in enumerate(KINDS):
            made = walk(100 * s + k, tokens, features, decimals, False)
            right = {name: matrix.copy() for name, matrix in made.items()}
            for name, row, column, units in wrong:
                made[name][row, column] += units * 10.0**-decimals
            words = WORDS[:tokens]
            path = folder / f"{part.__name__}_{k}.{ending}"
            path.write_text(page([part(name, made[name], decimals, words) for name in names]))
            ran = subprocess.run(
                [sys.argv[1], "proofread", path, "--json"], capture_output=True, text=True
            )
            planted = {
                (f"{made[n][r, c]:.{decimals}f}", f"{right[n][r, c]:.{decimals}f}")
                for n, r, c, _ in wrong
            }
            if ran.returncode not in (0, 1, 3):
                print(f"{path.name}: exit {ran.returncode}: {ran.stderr.strip()[-200:]}")
                failed += 1
                planted_all += len(planted)
                continue
            said = json.loads(ran.stdout)
            found = {(each["printed"], each["expected"]) for each in said["wrong"]}
            near = {
                (p, q)
                for p, q in planted
                if any(
                    p == a and abs(float(q) - float(b)) < 3 * 10.0**-decimals for a, b in found
                )
            }
            planted_all += len(planted)
            found_all += len(near)
            extra = [each for each in found if each[0] not in {p for p, _ in planted}]
            accused += len(extra)
            judged += ran.returncode in (0, 1)
            if near != planted or extra or ran.returncode != (1 if planted else 0):
                failed += 1
                print(f"{path.name}: exit {ran.returncode}, planted {planted}, said {found}")
                print("   " + said.get("reason", "")[:150])
    count = len(STYLES) * len(KINDS)
    print(
        f"{count} pages: {judged} judged, {found_all} of {planted_all} wrong cells found, "
        f"{accused} right cells accused; {failed} not as expected"
    )
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

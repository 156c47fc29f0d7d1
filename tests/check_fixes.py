#!/usr/bin/python3
"""Runs the fix of each mistake in the wrong program of that mistake.

    tests/check_fixes.py [PROGRAM [ID ...]]

For a walk in which the mistake can show, --code writes the right program and the wrong one. Runs the
wrong one up to the first line that differs, then the fix, with short names for the tensors (q, k, v,
scores, hidden, ...). The result must be a tensor of the right program that the wrong one does not
have. Fixes that are no line of arithmetic (a class, a flag, a comment) are counted and listed. Without
PyTorch nothing is checked, and a line reports this.
"""

import ast
import contextlib
import io
import json
import math
import re
import shlex
import subprocess
import sys
import types

import check_mistake_rules

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit("skipped: no PyTorch")

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "build/dev/app/attn-explain"
ONLY = sys.argv[2:]
FIRST_OF = {
    "q": "rotated_query normed_query query projected_query",
    "k": "repeated_key present_key rotated_key normed_key key projected_key",
    "v": "repeated_value present_value value projected_value",
    "scores": "masked_scores biased_scores capped_scores scaled_scores scores",
}
# They fix by omission, or in a program that --code does not write.
LEFT_ALONE = "rope-value rope-value=kept transpose-wrong-axes mask-tile-order softmax-overflow".split()
POSITIONS = ("mask", "position_bias", "slopes", "biased_scores")


def program(walk, more=()):
    batch = [] if re.search("--(batch|text|ids|lengths)|documents", walk) else ["--batch", "2"]
    words = [PROGRAM, *shlex.split(walk), *batch, *more, "--code", "torch", "--format", "python", "-q",
             "--dtype", "float64"]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    return ast.parse(made.stdout).body if made.returncode == 0 else None


def run(statements, names):
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(ast.Module(statements, []), "program", "exec"), names)  # noqa: S102
    return names


def tensors(names):
    return {name: value for name, value in names.items() if isinstance(value, torch.Tensor)}


def same(a, b, in_any_layout=True):
    """True if two tensors have the same numbers, with heads next to each other or before the tokens."""
    if not isinstance(a, torch.Tensor) or a.numel() != b.numel() or a.numel() == 0:
        return False
    ways = [a.reshape(b.shape)]
    if in_any_layout and b.dim() > 2 and a.dim() >= b.dim() - 1:
        ways.append(a.reshape(*b.shape[:-3], b.shape[-2], b.shape[-3], b.shape[-1]).transpose(-3, -2))
    return any(torch.allclose(way.double(), b.double(), rtol=1e-6, atol=1e-6, equal_nan=True) for way in ways)


def halves_turned(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def turned(x, right, positions=None):
    """Rotates `x` as the right program does, by its own positions or others."""
    angles = torch.atan2(right["sin"], right["cos"])
    if positions is not None:
        angles = positions.double()[..., None] * right["inverse_frequencies"].double()
    pairs, c, s = angles.shape[-1], angles.cos().to(x.dtype), angles.sin().to(x.dtype)

    def half(x):
        a, b = x[..., :pairs], x[..., pairs:2 * pairs]
        return torch.cat((a * c - b * s, b * c + a * s, x[..., 2 * pairs:]), -1)

    def neighbours(x):
        a, b = x[..., 0:2 * pairs:2], x[..., 1:2 * pairs:2]
        both = torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)
        return torch.cat((both, x[..., 2 * pairs:]), -1)

    meant = angles if positions is None else None
    is_half = meant is None or same(half(right["key"]), right["rotated_key"])
    return half(x) if is_half else neighbours(x)


def surroundings(before, right, mistake, level, walk):
    """Returns short names for the tensors computed so far, and for values that the author knows."""
    step, fix = mistake["step"], mistake["fix_torch"]
    names = {"math": math, "torch": torch, "F": F, "nn": torch.nn, "int": int, "range": range}
    names.update(before)
    for short, longer in FIRST_OF.items():
        found = next((before[name] for name in longer.split()[level:] if name in before), None)
        if found is not None:
            names[short] = found
    names.update(query=names.get("q"), key=names.get("k"), value=names.get("v"))
    cells = right["scores"].shape
    h, tq, tk = cells[-3] if len(cells) > 2 else 1, cells[-2], cells[-1]
    d = right["query"].shape[-1]
    names.update(H=h, Tq=tq, Tk=tk, T=tq, D=d, d=d, B=cells[0] if len(cells) > 3 else 1, past=tk - tq,
                 past_length=tk - tq, head_dim=d, K=right["key"].shape[-3] if right["key"].dim() > 2 else 1)
    said = dict(re.findall(r"(softcap|window|chunk|prefix|theta|dropout)[ :]([0-9.]+)", walk))
    names.update(cap=float(said.get("softcap", 50)), W=int(said.get("window", 0)),
                 N=int(said.get("chunk", said.get("prefix", 0))), hidden_size=d)
    if "mask" in right:
        names.update(hidden=right["mask"], keep=~right["mask"])
    if "dropout" in said:
        names.update(p=float(said["dropout"]), keep=right["keep"])
    if "slopes" in right:
        names["slopes"] = right["slopes"].reshape(-1)
    if step in POSITIONS:
        place = torch.arange(tk - tq, tk)
        if "past" in fix:
            place = torch.arange(tq)
        names.update(i=place[:, None], j=torch.arange(tk)[None])
        names.update(distance=names["i"] - names["j"])
        lengths = re.search("--lengths ([0-9,]+)", walk)
        if lengths:
            lengths = torch.tensor([int(n) for n in lengths.group(1).split(",")])
            names["is_padding"] = torch.arange(tk) >= lengths[:, None]
        documents = re.search(r"documents:([0-9+]+)", walk)
        if documents:
            sizes = [int(n) for n in documents.group(1).split("+")]
            names["document"] = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    if names.get("scores") is not None:
        names["e"] = torch.exp(names["scores"] - names["scores"].amax(-1, keepdim=True))

    def layer(name):
        weight, bias = before.get("w_" + name), before.get("b_" + name)
        return lambda x: F.linear(x, weight, bias)

    names["self"] = types.SimpleNamespace(**{"w_" + n: layer(n) for n in ("query", "key", "value", "output")})
    if "cos" in right:
        halves = torch.cat((right["cos"], right["cos"]), -1), torch.cat((right["sin"], right["sin"]), -1)
        names.update(cos=halves[0], sin=halves[1], rotate_half=halves_turned, angles=right.get("angles"))
        names["rotate"] = lambda x, positions=None: turned(x, right, positions)
        names["apply_rotary_pos_emb"] = lambda q, k, cos, sin: tuple(
            turned(before[n], right) for n in ("query", "key"))
        i = torch.arange(right["inverse_frequencies"].numel())
        if step not in POSITIONS:
            names["i"] = i
        names.update(rotary_dim=2 * i.numel(), theta=float(said.get("theta", 10000)))
        if step == "cos":
            factor = (right["cos"] ** 2 + right["sin"] ** 2).mean().sqrt()
            names.update(cos=right["cos"] / factor, sin=right["sin"] / factor, attention_factor=factor)
    return names


def made_by(fix, names):
    """Returns the values that a fix computes; None if it is not code that runs here."""
    try:
        body = ast.parse(fix).body
        stored = [n for s in body for n in ast.walk(s) if isinstance(getattr(n, "ctx", None), ast.Store)]
        assigned = {getattr(n, "id", None) or getattr(getattr(n, "value", None), "id", "") for n in stored}
        if len(body) == 1 and isinstance(body[0], ast.Expr):
            return [eval(compile(ast.Expression(body[0].value), "fix", "eval"), names)]  # noqa: S307
        run(body, names)
        return [torch.as_tensor(names[n], dtype=torch.float64) if isinstance(names[n], list) else names[n]
                for n in assigned if n in names]
    except Exception:  # any exception: the line cannot run alone
        return None


def in_numpy(names):
    """Returns the same namespace for a line of NumPy."""
    def array(value):
        return value.numpy() if isinstance(value, torch.Tensor) else value

    def softmax(scores, axis=-1):
        e = np.exp(scores - scores.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    def called(function):
        def call(*values):
            made = function(*(torch.as_tensor(v) for v in values))
            return tuple(map(array, made)) if isinstance(made, tuple) else array(made)
        return call

    made = {n: array(v) for n, v in names.items() if n not in ("torch", "F", "nn", "self")}
    made.update({n: called(made[n]) for n in ("rotate", "rotate_half") if n in made})
    return {**made, "np": np, "softmax": softmax}


def verdict(mistake, walk, language="torch"):
    """Returns `right`, `wrong` or `not run` for a fix in one walk; None if the mistake has no effect."""
    if mistake["id"] in LEFT_ALONE:
        return "not run"
    right, wrong = program(walk), program(walk, ["--bug", mistake["id"]])
    if right is None or wrong is None:
        return None
    at = next((i for i, (a, b) in enumerate(zip(right, wrong)) if ast.dump(a) != ast.dump(b)), None)
    if at is None:
        return None
    try:
        meant, before, after = run(right, {}), run(wrong[:at], {}), run(wrong, {})
    except Exception:
        return None
    missing = {n: t for n, t in tensors(meant).items() if n not in after or not same(after[n], t, False)}
    if not missing:
        return None
    best = "not run"
    for level in range(4):
        names = surroundings(tensors(before), tensors(meant), mistake, level, walk)
        if language == "numpy":
            names = in_numpy(names)
        values = made_by(mistake["fix_" + language], names)
        if values is None:
            continue
        values = [torch.as_tensor(v) if isinstance(v, np.ndarray) else v for v in values]
        best = "wrong"
        # A tensor that is right but read wrongly is the same in both programs.
        targets = {**missing, **{n: meant[n] for n in ("positions", "mask") if n in meant}}
        for table in ("angles", "cos"):
            if table in meant:
                targets[table] = torch.cat((meant[table], meant[table]), -1)
        if any(same(v, t) for v in values for t in targets.values()):
            return "right"
    return best


def main():
    listed = subprocess.run([PROGRAM, "bugs", "--json"], capture_output=True, text=True, check=True).stdout
    found = {}
    for mistake in json.loads(listed):
        if mistake["id"].startswith("grad-") or (ONLY and mistake["id"] not in ONLY):
            continue
        for language in ("torch", "numpy"):
            verdicts = set()
            for walk in check_mistake_rules.WALKS.strip().splitlines():
                verdicts.add(verdict(mistake, walk, language))
                if verdicts & {"right"}:
                    break
            best = next((v for v in ("right", "wrong", "not run") if v in verdicts), "no walk")
            found.setdefault((language, best), []).append(mistake["id"])
    for (language, best), ids in found.items():
        print(f"{language} {best}: {len(ids)}" + ("" if best == "right" else " " + " ".join(ids)))
    return 1 if any(best == "wrong" for _, best in found) else 0


if __name__ == "__main__":
    sys.exit(main())

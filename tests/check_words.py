#!/usr/bin/python3
"""Compares the words of attention files (softmax, define, together, stop, latest, sums of integers)
with PyTorch code written by hand: values, all gradients, --code numpy and torch (executed), verify.

    tests/check_words.py [PROGRAM]
"""

import json
import pathlib
import sys
import tempfile

import torch
import torch.nn.functional as F

from check_random_rules import array_of, code_faults, off_by, run

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "app/python"))
import attn_verify  # noqa: E402

FLAGS = "--seq-len 5 --embed-dim 6 --heads 2 --mask causal --no-merge --dtype float64".split()
TITANS = """
parameter w_eta[h,c] ~ linear
parameter w_alpha[h,c] ~ linear
together momentum store
step eta[h,t] = sigmoid(sum c: x[t,c] * w_eta[h,c])
step alpha[h,t] = sigmoid(sum c: x[t,c] * w_alpha[h,c])
step momentum[h,t,f,g] = (if t == 0 then 0 else eta[h,t] * momentum[h,t - 1,f,g]) - keys[h,t,f] * ((if t == 0 then 0 else sum e: keys[h,t,e] * store[h,t - 1,e,g]) - values[h,t,g])
step store[h,t,f,g] = (if t == 0 then 0 else (1 - alpha[h,t]) * store[h,t - 1,f,g]) + momentum[h,t,f,g]
step context[h,t,g] = sum f: queries[h,t,f] * store[h,t,f,g]
"""
MLSTM = """
parameter w_i[h,c] ~ linear
together top total
define sum_of(w)[h,t] = sum c: x[t,c] * w[h,c]
step gate[h,t] = exp(sum_of(w_i)[h,t])
step top[h,t,g] = (if t == 0 then 0 else top[h,t - 1,g] / (1 + total[h,t - 1])) + gate[h,t] * values[h,t,g]
step total[h,t] = (if t == 0 then 0 else total[h,t - 1] / 2) + gate[h,t]
step context[h,t,g] = top[h,t,g] / total[h,t]
"""


# Each rule is a condition on the row alone: a number on one side, fewer letters on the other.
BARE = """
together one two
step one[h,t,f] = if t == 0 then 0 else two[h,t - 1,f] - sum e in 0..D: two[h,t - 1,e]
step two[h,t,f] = if t == 0 then 2 * one[h,t,f] + keys[h,t,f] else one[h,t,f] * values[h,t,0]
step context[h,t,g] = two[h,t,g]
"""


def bare(t):
    two = t["key"][:, 0]
    rows = [two]
    for i in range(1, 5):
        two = (two - two.sum(-1, keepdim=True)) * t["value"][:, i, :1]
        rows.append(two)
    return torch.stack(rows, 1)


def titans(t):
    eta = torch.sigmoid(t["w_eta"] @ t["x"].T)
    alpha = torch.sigmoid(t["w_alpha"] @ t["x"].T)
    momentum = store = torch.zeros(2, 3, 3, dtype=torch.float64)
    rows = []
    for i in range(5):
        key, value = t["key"][:, i], t["value"][:, i]
        error = (key[:, None] @ store)[:, 0] - value
        momentum = eta[:, i, None, None] * momentum - key[..., None] * error[:, None]
        store = (1 - alpha[:, i, None, None]) * store + momentum
        rows.append((t["query"][:, i, None] @ store)[:, 0])
    return torch.stack(rows, 1)


def mlstm(t):
    gate = torch.exp(t["w_i"] @ t["x"].T)
    top, total, rows = (
        torch.zeros(2, 3, dtype=torch.float64),
        torch.zeros(2, dtype=torch.float64),
        [],
    )
    for i in range(5):
        top = top / (1 + total[:, None]) + gate[:, i, None] * t["value"][:, i]
        total = total / 2 + gate[:, i]
        rows.append(top / total[:, None])
    return torch.stack(rows, 1)


def scores_of(t):
    return t["query"] @ t["key"].transpose(-2, -1)


def masked(t):
    return (scores_of(t) / 3**0.5).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)


def unit(v):
    return v / torch.sqrt((v**2).sum(-1, keepdim=True) + 1e-6)


CASES = {  # the lines of a file, and the same in PyTorch
    "softmax": (
        "step weights[h,q,k] = softmax k: latest scores[h,q,k]\n",
        lambda t: F.softmax(masked(t), -1) @ t["value"],
    ),
    "softmax over queries": (
        "step context[h,q,f] = sum k: (softmax q: scores[h,q,k] + 0 * latest weights[h,0,0]) * values[h,k,f]\n",
        lambda t: F.softmax(scores_of(t), -2) @ t["value"],
    ),
    "stop": (
        "step weights[h,q,k] = stop(softmax k: latest scores[h,q,k]) * sigmoid(latest scores[h,q,k])\n",
        lambda t: (F.softmax(masked(t), -1).detach() * torch.sigmoid(masked(t))) @ t["value"],
    ),
    "define": (
        "define unit(v)[f] = v[f] / sqrt((sum e: v[e] ^ 2) + 1e-6)\n"
        "step a[h,q,f] = unit(queries)[h,q,f]\nstep b[h,k,f] = unit(keys)[h,k,f]\n"
        "step context[h,q,f] = sum k: (sum e: a[h,q,e] * b[h,k,e]) * values[h,k,f]\n",
        lambda t: (unit(t["query"]) @ unit(t["key"]).transpose(-2, -1)) @ t["value"],
    ),
    "whole sums": (
        "step seen[q] = sum k in 0..Tk: if k > q then 0 else 1\n"
        "step context[h,q,f] = values[h,seen[q] - 1,f] * keys[h,sum j in 0..q: 1,f]\n",
        lambda t: t["value"] * t["key"],
    ),
    "stop, around a whole step": (
        "step top[h,q] = stop(max k: latest scores[h,q,k])\n"
        "step raised[h,q,k] = exp(latest scores[h,q,k] - top[h,q])\n"
        "step weights[h,q,k] = raised[h,q,k] / sum j in 0..Tk: raised[h,q,j]\n",
        lambda t: F.softmax(masked(t), -1) @ t["value"],
    ),
    "a step of constants": (
        "step power[] = 2 ^ 3\nstep context[h,t,f] = values[h,t,f] * power[]\n",
        lambda t: t["value"] * 8,
    ),
    "together, bare conditions": (BARE, bare),
    "together, momentum and memory": (TITANS, titans),
    "together, with fewer indices": (MLSTM, mlstm),
}


def check(program, text, by_hand):
    with tempfile.NamedTemporaryFile("w", suffix=".attn") as file:
        file.write("attention words\n" + text)
        file.flush()
        common = [program, "--attention", file.name, *FLAGS, "-q"]
        told = run(*common, "--backward", "--format", "json")
        if told.returncode != 0:
            return [told.stderr.strip()[:400]]
        document = json.loads(told.stdout)
        tensors = {step["name"]: array_of(step) for step in document["steps"]}
        found = []
        leaves = {
            name: torch.tensor(array, requires_grad=array.dtype.kind == "f")
            for name, array in tensors.items()
            if not name.startswith("d_")
        }
        split = lambda w: (leaves["x"] @ leaves[w].T).reshape(5, 2, 3).transpose(0, 1)  # noqa: E731
        made = dict(leaves)
        for name in ("query", "key", "value"):
            if "w_" + name in leaves:
                made[name] = split("w_" + name)
        context = by_hand(made)
        context.sum().backward()
        if wrong := off_by(context.detach().numpy(), tensors["context"]):
            found.append(f"context: {wrong}")
        for name, leaf in leaves.items():
            if "d_" + name in tensors and (name == "x" or name.startswith("w_")):
                grad = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
                if wrong := off_by(grad.numpy(), tensors["d_" + name]):
                    found.append(f"d_{name}: {wrong}")
        found += code_faults(common, tensors, "context")
        said = []
        with tempfile.NamedTemporaryFile("w", suffix=".json") as walk:
            walk.write(told.stdout)
            walk.flush()
            if not attn_verify.verify(walk.name, said.append):
                found.append(f"verify: {said}")
    return found


def main(program="build/dev/app/attn-explain"):
    failed = 0
    for name, (text, by_hand) in CASES.items():
        found = check(program, text, by_hand)
        failed += bool(found)
        print(f"{name}: {'right' if not found else ''}" + "".join(f"\n    {x}" for x in found))
    print(f"{failed} of {len(CASES)} words are wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

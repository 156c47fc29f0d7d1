#!/usr/bin/env python3
"""Holds the attentions of data/attentions to PyTorch written here by hand from the papers: values of
every form to 1e-12, gradients of x and of all parameters by autograd to 1e-9, and --code run.

    /usr/bin/python3 tests/check_attentions.py build/dev/app/attn-explain [NAME ...]"""

import json
import math
import subprocess
import sys

from oracles import tensor_of, torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
SIZES = ["--seq-len", "7", "--embed-dim", "8", "--seed", "5", "--random", "randn"]
TYPES = ["--dtype", "float64", "--compute-dtype", "float64"]


class Walk:
    """x, and queries, keys and values of each head from it."""

    def __init__(self, tensors, config):
        self.leaves = {name: tensor.clone().requires_grad_() for name, tensor in tensors.items()}
        self.x = self.leaves["x"]
        self.heads = config["heads"]
        self.q, self.k, self.v = (self.split(self.x @ self.leaves[f"w_{part}"].T)
                                  for part in ("query", "key", "value"))
        self.t, self.d = self.q.shape[1:]

    def split(self, rows):
        return rows.reshape(len(rows), self.heads, -1).transpose(0, 1)

    def __getattr__(self, name):
        return self.leaves[name]

    def lower(self, diagonal=0):
        return torch.ones(self.t, self.t).tril(diagonal)


def causal(scores):
    return scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -math.inf)


def retention(w):
    decay = 1 - 2.0 ** (-5 - torch.arange(w.heads))
    state, out = torch.zeros(w.heads, w.d, w.v.shape[-1]), []
    for t in range(w.t):
        state = decay[:, None, None] * state + w.k[:, t, :, None] * w.v[:, t, None, :]
        out.append((w.q[:, t, None, :] @ state)[:, 0])
    return torch.stack(out, 1) / math.sqrt(w.d)


def linear(w):
    q, k = F.elu(w.q) + 1, F.elu(w.k) + 1
    weights = (q @ k.mT) * w.lower()
    return (weights / weights.sum(-1, keepdim=True)) @ w.v


def gated_linear(w):
    gate = F.logsigmoid((w.x @ w.w_gate_low.T) @ w.w_gate.T + w.b_gate) / 16
    total = w.split(gate).cumsum(1)
    q, k = w.q * total.exp(), w.k * (-total).exp()
    return ((q @ k.mT) * w.lower()) @ w.v / math.sqrt(w.d)


def unit(rows):
    return rows * torch.rsqrt((rows * rows).sum(-1, keepdim=True) + 1e-6)


def deltanet(w):
    q, k = unit(w.q) / math.sqrt(w.d), unit(w.k)
    beta = torch.sigmoid(w.x @ w.w_beta.T).T[..., None]
    # The UT transform: (I + tril(beta k k', -1)) u = beta v.
    system = torch.eye(w.t) + beta * (k @ k.mT) * w.lower(-1)
    u = torch.linalg.solve(system, beta * w.v)
    return ((q @ k.mT) * w.lower()) @ u


def mamba2(w):
    dt = F.softplus(w.x @ w.w_dt.T + w.b_dt).T
    a = -w.a_log.exp()[:, None] * dt
    total = a.cumsum(-1)
    decay = (total[:, :, None] - total[:, None, :]).exp() * w.lower()
    return ((w.q @ w.k.mT) * decay) @ (w.v * dt[..., None]) + w.skip[:, None, None] * w.v


def forgetting(w):
    total = F.logsigmoid(w.x @ w.w_forget.T + w.b_forget).T.cumsum(-1)
    scores = w.q @ w.k.mT / math.sqrt(w.d) + total[:, :, None] - total[:, None, :]
    return torch.softmax(causal(scores), -1) @ w.v


def stick_breaking(w):
    scores = w.q @ w.k.mT / math.sqrt(w.d)
    rows = []
    for i in range(w.t):
        left, row = torch.ones(w.heads), [torch.zeros(w.heads)] * w.t
        for j in range(i - 1, -1, -1):
            row[j] = torch.sigmoid(scores[:, i, j]) * left
            left = left * (1 - torch.sigmoid(scores[:, i, j]))
        rows.append(torch.stack(row, -1))
    return torch.stack(rows, 1) @ w.v


def talking_heads(w):
    scores = torch.einsum("hg,gqk->hqk", w.mix_scores, w.q @ w.k.mT / math.sqrt(w.d))
    weights = torch.softmax(causal(scores), -1)
    return torch.einsum("hg,gqk->hqk", w.mix_weights, weights) @ w.v


def program(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}: {done.returncode}\n{done.stderr}")
    return done.stdout


def far(a, b):
    return ((a - b).abs().max() / b.abs().max().clamp(min=1)).item() if a.shape == b.shape else math.inf


def check(binary, name, oracle):
    file = json.loads(program(binary, "attentions", name, "--json"))
    worst, slope, failed = 0, 0, []
    for form in file["forms"] or [""]:
        flags = ["--attention", name, *(["--form", form] if form else []), *SIZES, *TYPES]
        walk = json.loads(program(binary, *flags, "--backward", "--detail", "--json"))
        steps = {step["name"]: step for step in walk["steps"]}
        start = {each: tensor_of(steps[each]) for each in steps
                 if each == "x" or each.startswith("w_") or
                 f"parameter  {each}[" in file["text"]}
        ours = Walk(start, walk["config"])
        context = oracle(ours)
        worst = max(worst, far(tensor_of(steps["context"]), context.detach()))
        context.sum().backward()
        for each, leaf in ours.leaves.items():
            if f"d_{each}" in steps:
                slope = max(slope, far(tensor_of(steps[f"d_{each}"]), leaf.grad))
            elif leaf.grad is not None and leaf.grad.abs().max() > 0:
                failed.append(f"no d_{each} in {form}")
        for language in ("torch", "numpy"):
            code = program(binary, *flags, "--only", "context", "--code", language, "-q")
            tail = "\nimport json\nprint(json.dumps(context.tolist()))"
            said = program("/usr/bin/python3", "-c", code + tail).splitlines()[-1]
            apart = far(torch.tensor(json.loads(said)), context.detach())
            if apart > 1e-9:
                failed.append(f"--code {language} of {form} is {apart} off")
    if worst > 1e-12:
        failed.append(f"context is {worst} off")
    if slope > 1e-9:
        failed.append(f"a gradient is {slope} off")
    print(f"{name:18} {len(file['forms']) or 1} forms, values {worst:.1e}, gradients {slope:.1e}",
          *failed, sep="\n    ")
    return not failed


def main():
    binary, *names = sys.argv[1:]
    shipped = [each["name"] for each in json.loads(program(binary, "attentions", "--json"))]
    right = True
    for name in names or shipped:
        oracle = globals().get(name.replace("-", "_"))
        if oracle is None:
            right = False
            print(f"{name}: nothing here makes it by hand")
        else:
            right = check(binary, name, oracle) and right
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()

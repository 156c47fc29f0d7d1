#!/usr/bin/python3
"""Compares every gradient that --backward prints with PyTorch's autograd.

    tests/check_backward.py [PROGRAM] [COUNT] [SEED]

Evaluates the forward rules in the JSON again in PyTorch, cell by cell, from the inputs of the walk;
loss.backward() then fills .grad of every tensor. The program's d_NAME must agree to 1e-10. The walks
are those of check_step_rules.py and COUNT random ones (40), in both variants and with all kinds of
loss; then a few layers in PyTorch's own code, and the text of some gradients as PyTorch prints it.
"""
import json
import math
import random
import shlex
import subprocess
import sys
import tempfile

import numpy as np
import torch

import check_step_rules as rules

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "build/dev/app/attn-explain"
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 40
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1

rules.PROGRAM = PROGRAM
is_tensor = torch.is_tensor


def with_torch(name, plain):
    def function(*parts):
        if not any(is_tensor(p) for p in parts):
            return plain(*parts)
        parts = [p if is_tensor(p) else torch.tensor(float(p), dtype=torch.float64) for p in parts]
        if name == "min":
            return torch.minimum(*parts)
        if name == "max":
            return torch.maximum(*parts)
        if name == "sqrt" and float(parts[0].detach()) == 0:
            return parts[0] * 0  # a length of 0 has no direction, as in F.normalize
        return getattr(torch, name)(*parts)
    return function


rules.FUNCTIONS = {name: with_torch(name, plain) for name, plain in rules.FUNCTIONS.items()}
rules.number = lambda cell: cell if is_tensor(cell) else {
    "inf": math.inf, "-inf": -math.inf, "nan": math.nan}.get(cell, cell) if isinstance(
        cell, str) else math.nan if cell is None else cell
plain_divide = rules.divide
rules.divide = lambda a, b: a / b if is_tensor(a) or is_tensor(b) else plain_divide(a, b)


def numbers(data):
    if isinstance(data, list):
        return [numbers(each) for each in data]
    return rules.number(data)


def nested(shape, make, at=()):
    if len(at) == len(shape):
        return make(at)
    return [nested(shape, make, at + (i,)) for i in range(shape[len(at)])]


def leaf(value):
    if isinstance(value, list):
        return [leaf(each) for each in value]
    if isinstance(value, bool) or isinstance(value, int):
        return value
    return torch.tensor(float(value), dtype=torch.float64, requires_grad=True)


def flat(data):
    return [value for part in data for value in flat(part)] if isinstance(data, list) else [data]


def leaf_where_plain(data):
    if isinstance(data, list):
        return [leaf_where_plain(each) for each in data]
    return data if is_tensor(data) and data.requires_grad else torch.tensor(
        float(data), dtype=torch.float64, requires_grad=True)


def forward(steps):
    """Returns all tensors of a walk as nested lists of PyTorch scalars."""
    tensors, faults = {}, []
    for step in steps:
        name = step["name"]
        if name.startswith("d_") or name == "row_dot":
            continue
        if "rule" not in step:
            whole = step["dtype"] in ("int64", "bool")
            data = numbers(step["data"])
            tensors[name] = {"shape": step["shape"], "data": data if whole else leaf(data)}
            continue
        text = step["rule"]
        if name == "loss":
            text = text.replace("loss[]", "loss[one]")
        _, indices, body = rules.Reader(text, tensors).rule()

        def cell(at):
            value = body(dict(zip(indices, at)))
            if is_tensor(value) and value.requires_grad:
                value = value + 0.0  # a separate scalar, even for a copied number
                value.retain_grad()
            return value
        shape = step["shape"] if name != "loss" else [1]
        data = nested(shape, cell)
        if any(is_tensor(value) and value.requires_grad for value in flat(data)):
            # A constant cell, -inf under the mask, has a gradient like its neighbours.
            data = leaf_where_plain(data)
        tensors[name] = {"shape": shape, "data": data}
        printed = step["data"] if name != "loss" else [step["data"]]
        for at, is_ in rules.cells(printed):
            made = data
            for i in at:
                made = made[i]
            if not rules.close(float(made), rules.number(is_)):
                faults.append(f"{text}: {at} is {is_}, not {float(made)}")
                break
    return tensors, faults


def gradient(value):
    if isinstance(value, list):
        return [gradient(each) for each in value]
    return float(value.grad) if is_tensor(value) and value.grad is not None else 0.0


def differ(made, printed):
    worst = 0.0
    for at, is_ in rules.cells(printed):
        value = made
        for i in at:
            value = value[i]
        if value != value or is_ != is_:
            if (value != value) != (is_ != is_):
                return math.inf
        elif value != is_:
            worst = max(worst, abs(value - is_) / max(1, abs(value)))
    return worst


def walk_of(words):
    done = subprocess.run([PROGRAM, *words, "--backward", "--detail", "--dtype", "float64",
                           "--format", "json", "-q"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)["steps"]


def check(words):
    """Returns the number of compared gradients, and the faults."""
    try:
        steps = walk_of(words)
    except RuntimeError as error:
        return 0, [str(error)]
    tensors, faults = forward(steps)
    loss = tensors["loss"]["data"][0]
    if is_tensor(loss) and loss.requires_grad:
        loss.backward()
    count = 0
    printed = {step["name"][2:]: step for step in steps if step["name"].startswith("d_")}
    inside = ("row_max", "exponentials", "row_sum")
    for name, tensor in tensors.items():
        if name in inside and name not in printed:
            continue
        is_ = gradient(tensor["data"])
        if name not in printed:
            if any(value != 0 for _, value in rules.cells(is_)) and name not in (
                    "loss", "target", "upstream"):
                faults.append(f"there is no d_{name}")
            continue
        if name == "embedding" and "ids" in tensors:
            pad = padding_of(steps, words)
            if pad is not None:
                is_[pad] = [0.0] * len(is_[pad])
        count += 1
        made = numbers(printed[name]["data"])
        if any(value != value for _, value in rules.cells(numbers_of(tensors, "weights"))):
            # A fully masked row is nan in the backward pass too, for any upstream gradient: nan
            # times 0. Cell by cell no gradient goes there.
            made = without_nan(made, is_)
        worst = differ(is_, made)
        if worst > 1e-10:
            faults.append(f"d_{name} is {worst:.2g} off: {printed[name]['rule']}")
    return count, faults


def numbers_of(tensors, name):
    def plain(value):
        return [plain(each) for each in value] if isinstance(value, list) else float(value)
    return plain(tensors[name]["data"])


def without_nan(data, other):
    if isinstance(data, list):
        return [without_nan(each, there) for each, there in zip(data, other)]
    return 0.0 if data != data and other == 0 else data


def padding_of(steps, words):
    """Returns the row of the embedding without a gradient."""
    if "--pad-id" in words:
        pad = words[words.index("--pad-id") + 1]
        return None if pad == "none" else int(pad)
    return None if "--ids" in words or "--vocab-size" in words else 0


def random_walk(draw):
    heads = draw.choice([1, 1, 2, 4])
    words = ["--seed", str(draw.randrange(1000)), "--seq-len", str(draw.choice([1, 2, 3, 5])),
             "--heads", str(heads)]
    width = heads * draw.choice([2, 4])
    words += ["--embed-dim", str(width)]
    if draw.random() < 0.4:
        words += ["--batch", str(draw.choice([1, 2, 3]))]
    kind = draw.random()
    if kind < 0.12:
        words = [w for w in words]
        at = words.index("--seq-len")
        del words[at:at + 2]
        words += ["--ids", draw.choice(["1,2,1,3", "3,0,3", "1,2;2,2"])]
        if "--batch" in words:
            at = words.index("--batch")
            del words[at:at + 2]
        if draw.random() < 0.5:
            words += ["--pad-id", "0"]
    layout = draw.choice(["split", "split", "split", "fused", "fused-by-head", "mha", "none"] +
                         (["matrix"] if heads == 1 else ["stacked", "per-head"]))
    words += ["--projection", layout]
    if layout != "none" and draw.random() < 0.5:
        words += ["--bias"]
    if layout == "split" and heads > 1 and draw.random() < 0.5:
        words += ["--kv-heads", str(draw.choice([k for k in (1, 2, 4) if heads % k == 0]))]
    if layout in ("split", "fused") and draw.random() < 0.3:
        words += ["--weight-layout", "in-out"]
    if layout == "split" and draw.random() < 0.2:
        words += ["--memory-len", str(draw.choice([1, 2, 4]))]
    elif layout == "split" and draw.random() < 0.25:
        words += ["--past", str(draw.choice([1, 3]))]
    if draw.random() < 0.6:
        words += ["--mask", draw.choice(["causal", "causal,window:2", "prefix:1", "chunk:2"])]
        if draw.random() < 0.3:
            words += ["--empty-row", "zero"]
    elif draw.random() < 0.2:
        words += ["--softmax-axis", draw.choice(["query"] + (["head"] if heads > 1 else []))]
    if draw.random() < 0.35 and width // heads % 2 == 0:
        words += ["--rope", draw.choice(["half", "interleaved"])]
        if width // heads == 4 and draw.random() < 0.4:
            words += ["--rotary-dim", "2"]
    if draw.random() < 0.25:
        words += ["--qk-norm", draw.choice(["head", "all", "l2"])]
    if draw.random() < 0.2:
        words += ["--x-norm", draw.choice(["rms", "layer"])]
    if draw.random() < 0.25:
        words += ["--softcap", "3"]
    if draw.random() < 0.2:
        words += ["--position-bias", draw.choice(["alibi", "t5"])]
    if draw.random() < 0.2 and "--softmax-axis" not in words:
        words += ["--sink", draw.choice(["zero", "randn"])]
    if draw.random() < 0.15:
        words += ["--position-embedding", draw.choice(["learned", "sinusoidal"])]
    if draw.random() < 0.5:
        words += ["--output-projection"] + (["--output-bias"] if draw.random() < 0.5 else [])
    if draw.random() < 0.2:
        words += ["--scale", draw.choice(["none", "embed-dim", "0.3"])]
    return words


OWN = [
    "--rule 'weights[q,k] = relu(scores[q,k]) / Tk'",
    "--rule 'weights[q,k] = sigmoid(scores[q,k])' --heads 2 --mask causal",
    "--rule 'scores[q,k] = -(sum f: (query[q,f] - key[k,f]) ^ 2)'",
    "--rule 'scaled_scores[q,k] = scores[q,k] - 0.1 * abs(q - k)' --heads 2 --batch 2",
    "--rule 'weights[q,k] = exp(scaled_scores[q,k]) / (1 + sum j: exp(scaled_scores[q,j]))'",
    "--rule 'scores[q,k] = (sum f: query[q,f] * key[k,f]) / (sqrt(sum f: query[q,f]^2) * "
    "sqrt(sum f: key[k,f]^2))'",
    "--rule 'context[q,f] = if q >= 1 then value[q - 1, f] else mean k: value[k,f]'",
    "--rule 'exponentials[q,k] = exp(scores[q,k])' --rule "
    "'weights[q,k] = exponentials[q,k] / row_sum[q]'",
    "--rule 'merged[t,o] = context[o / Dv, t, o % Dv] * 2' --heads 2",
    "--rule 'weights[q,k] = scores[q,k] - max j in 0..q+1: scores[q,j]'",
    "--rule 'row_sum[q] = sum k: exponentials[q,k] ^ 2' --rule "
    "'weights[q,k] = exponentials[q,k] / row_sum[q]'",
]
LOSSES = ["sum", "mean", "context", "weights", "mse", "upstream"]


def with_loss(words, draw, folder):
    loss = draw.choice(LOSSES)
    if loss == "sum":
        return words
    if loss == "mean":
        return words + ["--loss", "mean"]
    steps = walk_of(words)
    if loss in ("context", "weights"):
        step = next(s for s in steps if s["name"] == loss)
        cell = ",".join(str(draw.randrange(n)) for n in step["shape"])
        return words + ["--loss", f"{loss}[{cell}]"]
    last = [s for s in steps if s["name"] in ("context", "merged", "output", "expanded_context",
                                              "scaled_context")][-1]
    path = f"{folder}/{len(words)}{draw.randrange(10 ** 9)}.npy"
    np.save(path, np.random.default_rng(SEED).standard_normal(last["shape"]))
    return words + ["--loss", ("mse:" if loss == "mse" else "") + path]


def layers_of_pytorch():
    """Attention as PyTorch itself writes it."""
    faults = []
    steps = {s["name"]: torch.tensor(numbers(s["data"]), dtype=torch.float64) for s in walk_of(
        shlex.split("--projection mha --bias --output-projection --output-bias --heads 2 "
                    "--embed-dim 8 --seq-len 5 --batch 2 --mask causal")) if s["dtype"] != "bool"}
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    weight, bias = ("w_qkv", "b_qkv")
    with torch.no_grad():
        layer.in_proj_weight.copy_(steps[weight])
        layer.in_proj_bias.copy_(steps[bias])
        layer.out_proj.weight.copy_(steps["w_output"])
        layer.out_proj.bias.copy_(steps["b_output"])
    x = steps["x"].clone().requires_grad_()
    hidden = torch.ones(5, 5).triu(1).bool()
    layer(x, x, x, attn_mask=hidden)[0].sum().backward()
    for name, made in (("x", x.grad), (weight, layer.in_proj_weight.grad),
                       (bias, layer.in_proj_bias.grad), ("w_output", layer.out_proj.weight.grad),
                       ("b_output", layer.out_proj.bias.grad)):
        if not torch.allclose(made, steps["d_" + name], rtol=1e-10, atol=1e-12):
            faults.append(f"nn.MultiheadAttention: d_{name}")
    steps = {s["name"]: torch.tensor(numbers(s["data"]), dtype=torch.float64) for s in walk_of(
        shlex.split("--projection none --heads 3 --seq-len 4 --head-dim 4 --batch 2 --mask causal"))
        if s["dtype"] != "bool"}
    q, k, v = (steps[n].clone().requires_grad_() for n in ("query", "key", "value"))
    scores = (q @ k.transpose(-1, -2) / 2).masked_fill(torch.ones(4, 4).triu(1).bool(), -math.inf)
    (torch.softmax(scores, -1) @ v).sum().backward()
    for name, made in (("query", q.grad), ("key", k.grad), ("value", v.grad)):
        if not torch.allclose(made, steps["d_" + name], rtol=1e-10, atol=1e-12):
            faults.append(f"softmax(q k^T / 2) v: d_{name}")
    return faults


def texts_of_pytorch():
    """Checks that the text of a gradient in float64 is PyTorch's, to the last character."""
    torch.set_default_dtype(torch.float64)  # print() omits this type, the walk's own
    compared, faults = 0, []
    for heads, length, width, causal, bias, output, mean in (
            (1, 4, 4, False, False, False, False), (1, 6, 8, True, False, False, True),
            (2, 3, 8, True, True, True, False), (2, 5, 12, False, False, True, True),
            (4, 7, 16, True, False, True, False), (3, 2, 9, False, True, False, False),
            (2, 6, 4, True, True, True, True), (1, 1, 3, False, False, True, False)):
        flags = [f"--seq-len={length}", f"--heads={heads}", f"--embed-dim={width}"]
        flags += ["--mask=causal"] * causal + ["--bias"] * bias
        flags += ["--output-projection"] * output + ["--loss=mean"] * mean
        steps = {s["name"]: s["data"] for s in walk_of(flags)}
        given = {n: torch.tensor(numbers(steps[n]), dtype=torch.float64, requires_grad=True)
                 for n in steps if n == "x" or n[:2] in ("w_", "b_")}
        x = given["x"]
        query, key, value = (
            torch.nn.functional.linear(x, given["w_" + n], given.get("b_" + n))
            .view(length, heads, -1).transpose(0, 1) for n in ("query", "key", "value"))
        scores = query @ key.transpose(-1, -2) / math.sqrt(width // heads)
        if causal:
            scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -math.inf)
        last = (torch.softmax(scores, -1) @ value).transpose(0, 1).reshape(length, width)
        if output:
            last = last @ given["w_output"].T
        (last.mean() if mean else last.sum()).backward()
        for name, tensor in given.items():
            if name == "b_key":
                continue  # it shifts all scores of a row: 0 except for rounding
            ours = subprocess.run(
                [PROGRAM, *flags, "--dtype=float64", "--backward", "--only", "d_" + name, "-q"],
                capture_output=True, text=True, check=True).stdout
            compared += 1
            if ours != f"{tensor.grad}\n":
                faults.append(f"{shlex.join(flags)}: d_{name}\n{ours}{tensor.grad}")
    torch.set_default_dtype(torch.float32)
    print(f"{compared} gradients print as in PyTorch, except {len(faults)}")
    return faults


def main():
    draw = random.Random(SEED)
    folder = tempfile.mkdtemp()
    walks = [shlex.split(walk) for walk in rules.WALKS.strip().splitlines() + OWN]
    walks = [walk for walk in walks if "fused" not in walk or walk[walk.index("fused") - 1] !=
             "--variant"]
    walks += [random_walk(draw) for _ in range(COUNT)]
    compared, failed, refused = 0, 0, 0
    for number_, words in enumerate(walks):
        if number_ % 3 == 2 and "--variant" not in words:
            words = words + ["--variant", "loop"]
        try:
            words = with_loss(words, draw, folder)
        except RuntimeError:
            refused += 1  # incompatible settings
            if number_ < len(walks) - COUNT:
                failed += 1
                print(shlex.join(words), "\n    refused")
            continue
        count, faults = check(words)
        if number_ >= len(walks) - COUNT and any("attn-explain: error: --" in f for f in faults):
            refused += 1
            continue
        compared += count
        failed += len(faults)
        for fault in faults:
            print(f"{shlex.join(words)}\n    {fault}")
    for fault in layers_of_pytorch() + texts_of_pytorch():
        failed += 1
        print(fault)
    print(f"{compared} gradients of {len(walks) - refused} walks, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

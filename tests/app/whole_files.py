#!/usr/bin/python3
"""Attention files of strangers that contain all that diagnose needs: no flag is passed.

    tests/app/whole_files.py

Writes data/reference/whole/ and its index.json: the exit code that diagnose must return, the
mistakes that it must name, and words that it must print. tests/app/diagnose_unset_test.cpp reads
that folder. Only this script needs NumPy and PyTorch: run it after adding a file.
"""

import json
import pathlib

import numpy as np
import torch

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "data" / "reference" / "whole"
random = np.random.default_rng(590)
cases = []


def softmax(z, axis=-1):
    e = np.exp(z - z.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def add(name, code, named, says, **tensors):
    """Saves a file, with what diagnose must answer."""
    np.savez_compressed(FOLDER / f"{name}.npz", **tensors)
    cases.append({"file": f"{name}.npz", "code": code, "named": named, "says": says})


def masks():
    """A batch with one padded sample, under every form of its mask."""
    q, k, v = random.normal(size=(3, 2, 6, 4))
    keep = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]], float)[:, None, :]
    scores = q @ k.swapaxes(-1, -2) / 2

    def with_mask(name, code, named, says, mask, masked):
        weights = softmax(masked)
        add(name, code, named, says, q=q, k=k, v=v, mask=mask, weights=weights, out=weights @ v)

    right = np.where(keep == 0, -1e9, scores)
    lengths = ["--mask padding --lengths 6,4, by mask"]
    with_mask("padding_floats", 0, [], lengths, keep, right)
    with_mask("padding_hidden", 0, [], lengths, keep == 0, right)
    with_mask("padding_added", 0, [], lengths, (1 - keep) * -1e9, right)
    with_mask("all_visible", 0, [], ["nothing is hidden, by mask"], np.ones((2, 6, 6)), scores)
    with_mask("padding_inverted", 1, ["mask-inverted"], [], keep, np.where(keep == 0, scores, -1e9))
    with_mask("padding_zeros", 1, ["mask-times-zero"], [], keep, np.where(keep == 0, 0, scores))
    over = (1 - keep.swapaxes(1, 2)) * -1e4
    with_mask(
        "padding_over_queries",
        1,
        ["pad-on-query-axis", "mask-not-applied"],
        [],
        over,
        scores + over,
    )
    # Padding before the tokens, as text is generated: nothing in the file accuses it.
    left = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]], bool)[:, None, :]
    with_mask("padding_left", 0, [], ["--mask-file FILE:mask"], left, np.where(left, scores, -1e9))
    # A mask of padding that hides nothing, beside scores that are causal.
    later = np.triu(np.ones((6, 6)), 1) > 0
    masked = np.where(later, -1e9, scores)
    weights = softmax(masked)
    tensors = dict(q=q, k=k, v=v, attention_mask=np.ones((2, 6), int))
    tensors.update(scores=masked, weights=weights, out=weights @ v)
    add("causal_beside_visible", 0, [], ["--mask causal, by scores"], **tensors)


def cached():
    """One query after a cache, whose causal mask begins at the first key."""
    q, k, v = random.normal(size=(1, 2, 1, 4)), *random.normal(size=(2, 1, 2, 6, 4))
    hidden = np.tril(np.ones((1, 6))) == 0
    scores = np.where(hidden, -np.inf, q @ k.swapaxes(-1, -2) / 2)
    weights = softmax(scores)
    add(
        "cached_top_left",
        3,
        ["causal-top-left"],
        [],
        q=q,
        k_cache=k,
        v_cache=v,
        scores=scores,
        weights=weights,
        out=weights @ v,
    )


def square(scale, name, code, named):
    """Three heads whose matrices multiply x from the right."""
    x, w = random.normal(size=(5, 12)), random.normal(size=(4, 12, 12)) * 0.3
    q, k, v = x @ w[0], x @ w[1], x @ w[2]

    def heads(z):
        return z.reshape(-1, 3, 4).swapaxes(0, 1)

    scores = heads(q) @ heads(k).swapaxes(-1, -2) / scale
    weights = softmax(scores)
    merged = (weights @ heads(v)).swapaxes(0, 1).reshape(5, 12)
    add(
        name,
        code,
        named,
        ["--weight-layout in-out"],
        x=x,
        w_q=w[0],
        w_k=w[1],
        w_v=w[2],
        w_o=w[3],
        q=q,
        k=k,
        v=v,
        scores=scores,
        weights=weights,
        output=merged @ w[3],
    )


def layers(name, code, named, axis):
    """Two layers, the second of which sums along that axis."""
    tensors = {}
    for i, along in enumerate((-1, axis)):
        x, w = random.normal(size=(5, 4)), random.normal(size=(3, 4, 6)) / 2
        q, k, v = (x @ each for each in w)
        weights = softmax(q @ k.T / 6**0.5, along)
        layer = dict(x=x, wq=w[0], wk=w[1], wv=w[2], attn=weights, out=weights @ v)
        tensors.update({f"layer{i}.{key}": tensor for key, tensor in layer.items()})
    add(name, code, named, ["layer0", "layer1"], **tensors)


def beside():
    """Tensors of a program that belong to no step, and scores with a name of weights."""
    q, k, v = random.normal(size=(3, 5, 4))
    weights = softmax(q @ k.T / 2)
    add(
        "sizes",
        0,
        [],
        ["d_k: a single number"],
        Q=q,
        K=k,
        V=v,
        A=weights,
        out=weights @ v,
        d_k=4,
        d_v=4,
        lr=0.001,
    )
    add(
        "logits",
        3,
        [],
        ["logits: its last axis has length 50"],
        q=q,
        k=k,
        v=v,
        att=q @ k.T / 2,
        probs=weights,
        out=weights @ v,
        logits=random.normal(size=(5, 50)),
    )
    scores = q @ k.T / 8
    weights = softmax(scores)
    add(
        "att_beside_probs",
        1,
        ["scale-other=8"],
        [],
        q=q,
        k=k,
        v=v,
        att=scores,
        probs=weights,
        out=weights @ v,
    )
    weights = softmax(softmax(q @ k.T / 2))
    add("softmax_twice", 1, ["softmax-twice"], [], Q=q, K=k, V=v, weights=weights, out=weights @ v)


def rotated(name, code, named, only_query):
    """Rotated queries and keys under the names of a library."""
    x, w = random.normal(size=(1, 6, 16)), random.normal(size=(3, 16, 16)) * 0.3

    def turned(z):
        angles = np.arange(6)[:, None] * 10000.0 ** (-np.arange(0, 8, 2) / 8)
        angles = np.concatenate([angles, angles], -1)
        swapped = np.concatenate([-z[..., 4:], z[..., :4]], -1)
        return z * np.cos(angles) + swapped * np.sin(angles)

    q, k, v = ((x @ each.T).reshape(1, 6, 2, 8).swapaxes(1, 2) for each in w)
    q_embed, k_embed = turned(q), k if only_query else turned(k)
    weights = softmax(q_embed @ k_embed.swapaxes(-1, -2) / 8**0.5)
    parameters = {f"{letter}_proj.weight": each for letter, each in zip("qkv", w)}
    add(
        name,
        code,
        named,
        ["--rope half, by q_embed"],
        hidden_states=x,
        **parameters,
        query_states=q,
        key_states=k,
        value_states=v,
        q_embed=q_embed,
        k_embed=k_embed,
        attn_weights=weights,
    )


def pre_norm():
    """A layer of PyTorch's modules, with the norm before its attention."""
    torch.manual_seed(59)
    x, norm = torch.randn(2, 5, 24), torch.nn.LayerNorm(24)
    fused, project = torch.nn.Linear(24, 72), torch.nn.Linear(24, 24)
    torch.nn.init.normal_(norm.weight)
    q, k, v = (z.view(2, 5, 3, 8).transpose(1, 2) for z in fused(norm(x)).split(24, -1))
    later = torch.triu(torch.ones(5, 5), 1).bool()
    scores = (q @ k.transpose(-1, -2) / 8**0.5).masked_fill(later, float("-inf"))
    weights = scores.softmax(-1)
    out = project((weights @ v).transpose(1, 2).reshape(2, 5, 24))
    tensors = {
        "h.0.input": x,
        "h.0.attn.scores": scores,
        "h.0.attn.probs": weights,
        "h.0.attn.output": out,
    }
    for name, module in (("ln_1", norm), ("attn.c_attn", fused), ("attn.c_proj", project)):
        tensors.update({f"h.0.{name}.{key}": each for key, each in module.state_dict().items()})
    add(
        "pre_norm",
        0,
        [],
        ["--mask causal, by h.0.attn.scores", "--x-norm layer, by its gain"],
        **{name: each.detach().numpy() for name, each in tensors.items()},
    )


FOLDER.mkdir(parents=True, exist_ok=True)
masks()
cached()
square(2, "square", 0, [])
square(12**0.5, "square_dmodel", 1, ["scale-dmodel"])
layers("two_layers", 0, [], -1)
layers("two_layers_axis", 1, ["softmax-axis=query"], 0)
beside()
rotated("rotated", 0, [], False)
rotated("rotated_query_only", 1, ["rope-q-only"], True)
pre_norm()
(FOLDER / "index.json").write_text(
    json.dumps({"cases": cases}, indent=1).replace('\n   "', ' "').replace("\n  }", " }") + "\n"
)
print(len(cases), "files")

#!/usr/bin/env python3
"""Runs stories260K in float64 with NumPy and compares it with attn-explain on the same file.

    tests/check_stories.py build/dev/app/attn-explain

Compares the greedy text, all logits of the first 32 steps (to 1e-4), every figure of `heads` (to
1e-4) with the names that follow from them, and the texts of the mistakes.
"""
import json
import pathlib
import struct
import subprocess
import sys

from oracles import numpy as np

MODELS = pathlib.Path(__file__).resolve().parent.parent / "data" / "models"
NEAR = 1e-4


class Stories:
    """Reads the file's own layout, independent of the program."""

    def __init__(self):
        data = (MODELS / "stories260K.bin").read_bytes()
        self.dim, self.hidden, self.layers, self.heads, self.kv_heads, vocab, _ = struct.unpack(
            "<7i", data[:28]
        )
        self.head_dim = self.dim // self.heads
        numbers = np.frombuffer(data, "<f4", offset=28).astype(np.float64)
        c, f, n, kv = self.dim, self.hidden, self.layers, self.kv_heads * self.head_dim
        place = 0

        def take(*shape):
            nonlocal place
            size = int(np.prod(shape))
            place += size
            return numbers[place - size : place].reshape(shape)

        self.embedding = take(vocab, c)
        self.attention_norm = take(n, c)
        self.wq, self.wk, self.wv = take(n, c, c), take(n, kv, c), take(n, kv, c)
        self.wo = take(n, c, c)
        self.mlp_norm = take(n, c)
        self.w1, self.w2, self.w3 = take(n, f, c), take(n, c, f), take(n, f, c)
        self.norm = take(c)

        tokens = (MODELS / "tok512.bin").read_bytes()
        self.pieces, place = [], 4
        for _ in range(vocab):
            size = struct.unpack_from("<i", tokens, place + 4)[0]
            self.pieces.append(tokens[place + 8 : place + 8 + size].decode())
            place += 8 + size

    def text(self, ids):
        text = "".join("\n" if self.pieces[i] == "<0x0A>" else self.pieces[i] for i in ids)
        return text[1:] if text.startswith(" ") else text

    def forward(self, ids, bug=""):
        """Returns the logits of every position and the weights of every layer (layer, head, q, k)."""
        h, k_heads, d = self.heads, self.kv_heads, self.head_dim
        t = len(ids)
        position = np.arange(t)
        theta = 5e5 if bug == "rope-theta" else 1e4
        exponent = {"rope-exponent-dim": np.arange(0, d, 2) / self.dim}.get(
            bug, np.arange(0, d, 2) / d
        )
        angle = position[:, None] * theta**-exponent
        if bug == "rope-missing":
            angle = angle * 0

        def turned(x, angle):
            cos, sin, y = np.cos(angle), np.sin(angle), np.empty_like(x)
            pairs = (
                (slice(0, d // 2), slice(d // 2, d))
                if bug == "rope-style"
                else (slice(0, d, 2), slice(1, d, 2))
            )
            a, b = x[..., pairs[0]], x[..., pairs[1]]
            y[..., pairs[0]], y[..., pairs[1]] = a * cos - b * sin, a * sin + b * cos
            return y

        def rms(x, gain):
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain

        scale = {
            "scale-missing": 1.0,
            "scale-twice": 1 / d,
            "scale-d-model": self.dim**-0.5,
        }.get(bug, d**-0.5)
        distance = position[:, None] - position[None, :]
        hidden = distance < 0
        if bug.startswith("window-"):
            hidden = hidden | (distance >= int(bug[7:]))
        x, weights = self.embedding[ids], []
        for n in range(self.layers):
            y = rms(x, self.attention_norm[n])
            q = (y @ self.wq[n].T).reshape(t, h, d).swapaxes(0, 1)
            k = (y @ self.wk[n].T).reshape(t, k_heads, d).swapaxes(0, 1)
            v = (y @ self.wv[n].T).reshape(t, k_heads, d).swapaxes(0, 1)
            q = turned(q, angle * (0 if bug == "rope-offset-q" else 1))
            k = k if bug == "rope-q-only" else turned(k, angle)
            v = turned(v, angle) if bug == "rope-value" else v
            group = h // k_heads
            of = np.arange(h) % k_heads if bug == "gqa-tile" else np.arange(h) // group
            k, v = k[of], v[of]
            s = np.where(hidden, -np.inf, q @ k.swapaxes(1, 2) * scale)
            w = np.exp(s - s.max(-1, keepdims=True))
            w /= w.sum(-1, keepdims=True) + (
                np.exp(-s.max(-1, keepdims=True)) if bug == "softmax1" else 0
            )
            weights.append(w)
            x = x + (w @ v).swapaxes(0, 1).reshape(t, -1) @ self.wo[n].T
            y = rms(x, self.mlp_norm[n])
            gate = y @ self.w1[n].T
            x = x + (gate / (1 + np.exp(-gate)) * (y @ self.w3[n].T)) @ self.w2[n].T
        return rms(x, self.norm) @ self.embedding.T, np.array(weights)

    def greedy(self, count, bug=""):
        ids = [1]
        for _ in range(count):
            ids.append(int(np.argmax(self.forward(ids, bug)[0][-1])))
        return ids[1:]


def figures_of(weights):
    """Returns means over the queries from the third on, for each head of one layer."""
    tokens = weights.shape[-1]
    q = np.arange(2, tokens)
    rows = weights[:, 2:]
    bits = -(rows * np.log2(np.where(rows > 0, rows, 1))).sum(-1)
    return {
        "entropy": bits.mean(-1),
        "evenness": (bits / np.log2((rows > 0).sum(-1))).mean(-1),
        "distance": (rows * (q[:, None] - np.arange(tokens))).sum(-1).mean(-1),
        "self": rows[:, q - 2, q].mean(-1),
        "previous": rows[:, q - 2, q - 1].mean(-1),
        "first": rows[:, :, 0].mean(-1),
        "first_lift": lift_of_first(weights),
    }


def lift_of_first(weights):
    """Returns the mean weight of the first token, in multiples of an even share, over the queries from
    the ninth on: 0 if another of the first nine tokens gets more, or with fewer than 16 tokens."""
    if weights.shape[-1] < 16:
        return np.zeros(len(weights))
    far = weights[:, 8:]
    lift = (far[:, :, 0] * (far > 0).sum(-1)).mean(-1)
    return np.where(far[:, :, :9].mean(1).argmax(-1) == 0, lift, 0)


def name_of(figures, head):
    for key, name in (("previous", "previous token"), ("first", "first token"), ("self", "current token")):
        if figures[key][head] > 0.5:
            return name
    if figures["first_lift"][head] >= 3:
        return "first token"
    return "uniform" if figures["evenness"][head] > 0.95 else ""


def main():
    program = sys.argv[1]

    def run(*arguments):
        return json.loads(subprocess.run([program, *arguments, "--json"], capture_output=True, check=True).stdout)

    stories = Stories()
    written = run("generate", "--tokens", "32", "--top", "512")
    ids = stories.greedy(32)
    assert [token["id"] for token in written["tokens"]] == ids, "greedy text"
    logits, _ = stories.forward([1] + ids)
    worst = 0.0
    for step, token in enumerate(written["tokens"]):
        for each in token["top"]:
            worst = max(worst, abs(each["logit"] - logits[step, each["id"]]))
    assert worst < NEAR, f"logits differ by {worst}"
    print(f"greedy text and 32 x 512 logits agree, to {worst:.1e}")

    unknown = subprocess.run([program, "generate", "--bug", "?"], capture_output=True, text=True).stderr
    bugs = unknown.strip().split("choose one of ")[1].split(", ")
    names = {"rope-exponent": "rope-exponent-dim", "scale-dmodel": "scale-d-model", "softmax-off-by-one": "softmax1"}
    for bug in bugs:
        name = names.get(bug, bug.replace("=", "-"))
        if name in ("rope-k-only", "positions-plus-one"):
            continue
        written = run("generate", "--bug", bug, "--tokens", "40")["bug"]
        theirs = [token["id"] for token in written["tokens"]]
        assert theirs == stories.greedy(40, name)[: len(theirs)], bug
    print(f"{len(bugs)} mistakes write the same texts")

    texts = [
        "Once upon a time, there was a little girl named Lily. She loved to play outside.",
        "Tom and his dog went to the park. The dog saw a big red ball and ran to get it.",
        "The sun is hot. The moon is cold. Ben asked his mom why the sky is blue.",
        "A cat sat.",
    ]
    for text in texts:
        survey = run("heads", "--text", text)
        _, weights = stories.forward(survey["ids"])
        named = {}
        for head in survey["heads"]:
            figures = figures_of(weights[head["layer"]])
            for key, values in figures.items():
                assert abs(values[head["head"]] - head[key]) < NEAR, (key, head)
            assert name_of(figures, head["head"]) == head["name"], head
            if head["name"]:
                named.setdefault(head["name"], []).append(f"{head['layer']}.{head['head']}")
        assert named["previous token"] and named["first token"], text
        print(f"every figure of 40 heads over {len(survey['ids'])} tokens agrees; names:", named)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Compares lens, patch, heads --effect, heads --repeat, --without and the parts of why with PyTorch in
float64, on six families: stories and small random checkpoints of tests/models/fixtures.

    tests/check_lens.py build/dev/app/attn-explain
"""
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError:
    print("SKIPPED: PyTorch or NumPy is not installed")
    sys.exit(0)

PROGRAM = sys.argv[1]
FIXTURES = pathlib.Path(__file__).parent / "models/fixtures"
worst = 0.0


def same(name, ours, theirs):
    global worst
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    apart = float(np.max(np.abs(ours - theirs) / np.maximum(1, np.abs(theirs)))) if ours.size else 0
    worst = max(worst, apart)
    if ours.shape != theirs.shape or not apart < 1e-9:
        sys.exit(f"{name}: differs by {apart}, {ours.ravel()[:4]} and {theirs.ravel()[:4]}")


def tensors_of(folder):
    types = {"F32": np.float32, "F16": np.float16}
    tensors = {}
    for path in folder.glob("*.safetensors"):
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        for name, entry in json.loads(data[8:8 + size]).items():
            if name == "__metadata__":
                continue
            raw = data[8 + size:][slice(*entry["data_offsets"])]
            if entry["dtype"] == "BF16":
                array = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
            else:
                array = np.frombuffer(raw, types[entry["dtype"]])
            for prefix in ("model.", "transformer."):
                name = name.removeprefix(prefix)
            tensors[name] = torch.tensor(array.astype(np.float64)).reshape(entry["shape"])
    return tensors


class Model:
    def __init__(self, folder):
        c = self.c = json.loads((folder / "config.json").read_text())
        self.t, self.kind = tensors_of(folder), c["model_type"]
        self.gpt2, self.gemma = self.kind == "gpt2", self.kind == "gemma2"
        self.C = c.get("hidden_size", c.get("n_embd"))
        self.L = c.get("num_hidden_layers", c.get("n_layer"))
        self.H = c.get("num_attention_heads", c.get("n_head"))
        self.K = c.get("num_key_value_heads", self.H)
        self.D = c.get("head_dim", self.C // self.H)
        self.eps = c.get("rms_norm_eps", c.get("layer_norm_eps", c.get("layer_norm_epsilon", 1e-5)))
        self.late = self.kind == "olmo2"

    def norm(self, name, x):
        if name + ".weight" not in self.t:
            return x
        g, b = self.t[name + ".weight"], self.t.get(name + ".bias")
        if b is not None:
            return F.layer_norm(x, (x.shape[-1],), g, b, self.eps)
        g = g + 1 if self.gemma else g
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps) * g

    def linear(self, name, x):
        w, b = self.t[name + ".weight"], self.t.get(name + ".bias")
        y = x @ (w if self.gpt2 else w.T)
        return y if b is None else y + b

    def rotated(self, x):
        r = int(self.D * self.c.get("partial_rotary_factor", 1))
        theta = self.c.get("rope_theta", 10000.0)
        f = theta ** (-torch.arange(0, r, 2, dtype=torch.float64) / r)
        a = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * f
        cos, sin = torch.cos(a), torch.sin(a)
        one, two, rest = x[..., :r // 2], x[..., r // 2:r], x[..., r:]
        return torch.cat([one * cos - two * sin, two * cos + one * sin, rest], -1)

    def heads(self, n, x):
        """Returns the context of every head, (token, head, feature), and the weights."""
        T = x.shape[0]
        if self.gpt2:
            q, k, v = self.linear(f"h.{n}.attn.c_attn", x).split(self.C, -1)
        else:
            q, k, v = (self.linear(f"layers.{n}.self_attn.{p}_proj", x) for p in "qkv")
        for part, name in (("q", "q_norm"), ("k", "k_norm")):
            g = f"layers.{n}.self_attn.{name}"
            if g + ".weight" not in self.t:
                continue
            rows = q if part == "q" else k
            whole = self.t[g + ".weight"].numel() == rows.shape[-1]
            rows = self.norm(g, rows if whole else rows.reshape(T, -1, self.D)).reshape(T, -1)
            q, k = (rows, k) if part == "q" else (q, rows)
        q = q.reshape(T, self.H, self.D).transpose(0, 1)
        k = k.reshape(T, self.K, self.D).transpose(0, 1)
        v = v.reshape(T, self.K, self.D).transpose(0, 1)
        if not self.gpt2:
            q, k = self.rotated(q), self.rotated(k)
        k, v = (y.repeat_interleave(self.H // self.K, 0) for y in (k, v))
        s = q @ k.transpose(-1, -2) / math.sqrt(self.c.get("query_pre_attn_scalar", self.D))
        if self.gemma:
            cap = self.c["attn_logit_softcapping"]
            s = cap * torch.tanh(s / cap)
        hidden = torch.ones(T, T).triu(1).bool()
        if self.gemma and n % 2 == 0:
            hidden |= torch.ones(T, T).tril(-self.c["sliding_window"]).bool()
        w = torch.softmax(s.masked_fill(hidden, -math.inf), -1)
        return (w @ v).transpose(0, 1), w

    def output(self, n, z):
        name = f"h.{n}.attn.c_proj" if self.gpt2 else f"layers.{n}.self_attn." + (
            "dense" if self.kind == "phi" else "o_proj")
        return self.linear(name, z.reshape(z.shape[0], -1))

    def mlp(self, n, x):
        if self.gpt2:
            return self.linear(f"h.{n}.mlp.c_proj", F.gelu(self.linear(f"h.{n}.mlp.c_fc", x), approximate="tanh"))
        p = f"layers.{n}.mlp."
        if self.kind == "phi":
            return self.linear(p + "fc2", F.gelu(self.linear(p + "fc1", x), approximate="tanh"))
        act = (lambda y: F.gelu(y, approximate="tanh")) if self.gemma else F.silu
        return self.linear(p + "down_proj", act(self.linear(p + "gate_proj", x)) * self.linear(p + "up_proj", x))

    def logits(self, x):
        name = {"gpt2": "ln_f", "phi": "final_layernorm"}.get(self.kind, "norm")
        w = self.t.get("lm_head.weight", self.t.get("embed_tokens.weight", self.t.get("wte.weight")))
        y = self.norm(name, x) @ w.T + self.t.get("lm_head.bias", 0)
        cap = self.c.get("final_logit_softcapping")
        return cap * torch.tanh(y / cap) if cap else y

    def run(self, ids, without=(), head=None, row=None):
        """Returns x at each place, contexts and weights of each layer. `head` is (layer, head, its context),
        `row` (layer, token, x there)."""
        x = self.t["wte.weight" if self.gpt2 else "embed_tokens.weight"][ids]
        if self.gpt2:
            x = x + self.t["wpe.weight"][:len(ids)]
        if self.gemma:
            x = x * math.sqrt(self.C)
        seen = {"x": [], "mid": [], "z": [], "w": [], "a": [], "m": []}

        def left_out(n, part, y, many=False):
            for word in without:
                if word.split("=")[0] == f"{n}.{part}":
                    y = (y.mean(0, keepdim=True) if word.endswith("=mean") else 0 * y[:1]).expand_as(y)
            return y

        for n in range(self.L):
            if row and row[0] == n:
                x = x.clone()
                x[row[1]] = row[2]
            seen["x"].append(x)
            first = f"h.{n}.ln_1" if self.gpt2 else f"layers.{n}.input_layernorm"
            z, w = self.heads(n, self.norm(first, x))
            z = torch.stack([left_out(n, str(h), z[:, h]) for h in range(self.H)], 1)
            if head and head[0] == n:
                z[:, head[1]] = head[2]
            a = left_out(n, "attn", self.output(n, z))
            seen["z"].append(z), seen["w"].append(w), seen["a"].append(a)
            post = f"layers.{n}.post_attention_layernorm"
            mid = x + (self.norm(post, a) if self.gemma or self.late else a)
            seen["mid"].append(mid)
            if self.gpt2:
                inner = self.norm(f"h.{n}.ln_2", mid)
            elif self.kind == "phi":
                inner = self.norm(first, x)
            elif self.gemma:
                inner = self.norm(f"layers.{n}.pre_feedforward_layernorm", mid)
            else:
                inner = mid if self.late else self.norm(post, mid)
            m = left_out(n, "mlp", self.mlp(n, inner))
            seen["m"].append(m)
            x = mid + (self.norm(f"layers.{n}.post_feedforward_layernorm", m) if self.gemma or self.late else m)
        seen["x"].append(x)
        return seen


def ask(folder, *words):
    done = subprocess.run([PROGRAM, *words, "--model-file", str(folder)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stderr}")
    return json.loads(done.stdout)


def check_lens(model, folder, ids, text, without):
    flags = [f for w in without for f in ("--without", w)]
    seen = model.run(ids, without)
    said = ask(folder, "lens", "--ids", text, "--by", "part", "--all", "--json", *flags)
    rows = [x for n in range(model.L) for x in (seen["x"][n], seen["mid"][n])] + [seen["x"][-1]]
    last = torch.softmax(model.logits(seen["x"][-1]), -1)
    assert said["chosen"] == int(last[-1].argmax())
    for place, x in zip(said["places"], rows, strict=True):
        p = torch.softmax(model.logits(x), -1)
        for reading, row in zip(place["readings"], p, strict=True):
            assert reading["id"] == int(row.argmax()), place
            of = row[said["chosen"]]
            same("lens", [reading["probability"], reading["chosen_probability"]], [row.max(), of])
            assert reading["rank"] == int((row > of).sum()) + 1
    one, two = int(last[-1].argsort()[-1]), int(last[-1].argsort()[-2])
    logits = model.logits(seen["x"][-1])[-1]
    for cell, wanted in ((f"next[{one}]", logits[one]), (f"next[{one}]-next[{two}]", logits[one] - logits[two]),
                         (f"lens[0][{one}]", model.logits(seen["x"][1])[-1][one]),
                         (f"lens[1.attn][{two}]", model.logits(seen["mid"][1])[-1][two])):
        why = ask(folder, "why", cell, "--ids", text, "--json", *flags)
        same(cell, why["logit"], wanted)
        same("parts of " + cell, sum(p["logit"] for p in why["parts"]), why.get("sum", why["logit"]))
    check_parts(model, folder, seen, text, one, flags, without)


def check_parts(model, folder, seen, text, one, flags, without):
    """Returns the part of each head, with fixed divisors of the norms."""
    if any("attn" in word for word in without):
        return
    why = ask(folder, "why", f"next[{one}]", "--ids", text, "--json", *flags)
    parts = {p["part"]: p["logit"] for p in why["parts"]}
    x = seen["x"][-1][-1]
    w = model.t.get("lm_head.weight", model.t.get("embed_tokens.weight", model.t.get("wte.weight")))[one]
    name = {"gpt2": "ln_f", "phi": "final_layernorm"}.get(model.kind, "norm")

    def held(norm, of, part):
        g = model.t[norm + ".weight"] + (1 if model.gemma else 0)
        if norm + ".bias" in model.t:
            return (part - part.mean()) / torch.sqrt(of.var(unbiased=False) + model.eps) * g
        return part / torch.sqrt((of * of).mean() + model.eps) * g

    for n in range(model.L):
        for h in range(model.H):
            alone = torch.zeros_like(seen["z"][n][-1:])
            alone[0, h] = seen["z"][n][-1, h]
            part = (model.output(n, alone) - model.output(n, 0 * alone))[0]
            if model.gemma or model.late:
                part = held(f"layers.{n}.post_attention_layernorm", seen["a"][n][-1], part)
            same("a head's part", parts[f"layer {n}, head {h}"], held(name, x, part) @ w)


def check_effects(model, folder, ids, text):
    base = torch.softmax(model.logits(model.run(ids)["x"][-1][-1]), -1)
    said = ask(folder, "heads", "--effect", "--ids", text, "--json")
    assert said["id"] == int(base.argmax())
    same("probability", said["probability"], base.max())
    for head in said["heads"]:
        x = model.run(ids, [f"{head['layer']}.{head['head']}"])["x"][-1][-1]
        same("effect", head["without"], torch.softmax(model.logits(x), -1)[said["id"]])
    for word in ("0.1", "1.attn=mean", "0.mlp", "0.2=mean", "1.mlp=mean", "0.attn"):
        seen = model.run(ids, [word])
        walk = ask(folder, "--ids", text, "--layer", "1", "--without", word, "--format", "json",
                   "--dtype", "float64", "--detail")
        steps = {s["name"]: s["data"] for s in walk["steps"]}
        same("x without " + word, steps["x"], seen["x"][1])
        same("output without " + word, steps["output"], seen["a"][1])
        written = ask(folder, "generate", "--ids", text, "--without", word, "--tokens", "1", "--top", "2",
                      "--json", "--dtype", "float64")
        p = torch.softmax(model.logits(seen["x"][-1][-1]), -1)
        same("generate without " + word, written["tokens"][0]["probability"] if written["tokens"] else [],
             p.max() if written["tokens"] else [])


def check_patch(model, folder, ids, other, pair):
    one, two = pair
    texts = [",".join(map(str, t)) for t in (ids, other)]
    here, there = model.run(ids), model.run(other)

    def difference(x):
        y = model.logits(x[-1][-1])
        return y[one] - y[two]

    a, b = difference(here["x"]), difference(there["x"])
    for what in ("heads", "layers"):
        said = ask(folder, "patch", "--ids", texts[0], "--from", texts[1], "--token", f"{one}-{two}",
                   "--what", what, "--json")
        same("here, there", [said["logit_difference"], said["source_logit_difference"]], [a, b])
        for each in said["patches"]:
            n = each["layer"]
            if what == "heads":
                x = model.run(ids, head=(n, each["head"], there["z"][n][:, each["head"]]))["x"]
            else:
                x = model.run(ids, row=(n, each["token"], there["x"][n][each["token"]]))["x"]
            same(what, [each["difference"], each["restored"]], [difference(x), (difference(x) - a) / (b - a)])


def check_repeat(model, folder, count):
    said = ask(folder, "heads", "--repeat", str(count), "--json")
    ids = said["ids"]
    first = len(ids) - 2 * count
    assert ids[first:first + count] == ids[first + count:]
    w = model.run(ids)["w"]
    for head in said["heads"]:
        of = w[head["layer"]][head["head"]]
        rows = range(first + count, len(ids))
        same("repeat", [head["induction"], head["duplicate"]],
             [sum(of[q, q - count + 1] for q in rows) / count, sum(of[q, q - count] for q in rows) / count])


with tempfile.TemporaryDirectory() as scratch:
    stories = pathlib.Path(scratch) / "stories"
    subprocess.run([PROGRAM, "export", "--model-file", "stories", "--as", "hf", "-o", str(stories)], check=True)
    for folder in [stories] + [FIXTURES / f for f in ("qwen3", "gemma2", "gpt2", "phi", "olmo2")]:
        model = Model(folder)
        small = folder != stories
        ids = [3, 1, 4, 12, 5, 9] if small else [1, 403, 407, 261, 378, 432]
        other = [3, 1, 4, 2, 5, 9] if small else [1, 403, 407, 300, 378, 432]
        text = ",".join(map(str, ids))
        for without in ((), ("0.1",), ("1.0=mean", "0.mlp"), ("1.attn",), ("0.attn=mean", "1.mlp=mean")):
            check_lens(model, folder, ids, text, without)
        check_effects(model, folder, ids, text)
        check_patch(model, folder, ids, other, (1, 2) if small else (403, 407))
        check_repeat(model, folder, 5)
        print(folder.name, "is as PyTorch has it")
print(f"largest difference {worst:.1e}")

#!/usr/bin/env python3
"""Compares the steps of current models with PyTorch in float64: primitive operations after the
papers' formulas, independent of the program's own arithmetic.

    /usr/bin/python3 tests/check_modern.py build/dev/app/attn-explain [--count 200] [--seed 1]

Each random configuration is run once as JSON (every step within 1e-10) and once as PyTorch's text
(identical to PyTorch's text of the recomputed tensors)."""

import json
import math
import random
import subprocess
import sys

from oracles import random_walks, tensor_of, torch

TOLERANCE = 1e-10


def rms(x, eps, gain=None):
    y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)
    return y if gain is None else y * gain


def inverse_frequencies(c):
    r, theta = c["rotary_dim"], c["theta"]
    inverse = torch.tensor([theta ** (-2 * i / r) for i in range(r // 2)], dtype=torch.float64)
    factor = 1.0
    scaling = c.get("scaling")
    if scaling is None:
        return inverse, factor
    kind, args = scaling[0], scaling[1:]
    if kind == "linear":
        return inverse / args[0], factor
    if kind == "dynamic":
        f, most = args
        length = max(c["positions"]) + 1
        if length > most:
            base = theta * (f * length / most - (f - 1)) ** (r / (r - 2))
            inverse = torch.tensor([base ** (-2 * i / r) for i in range(r // 2)], dtype=torch.float64)
        return inverse, factor
    if kind == "llama3":
        f, low, high, old = args
        result = []
        for inv in inverse.tolist():
            wave = 2 * math.pi / inv
            if wave < old / high:
                result.append(inv)
            elif wave > old / low:
                result.append(inv / f)
            else:
                s = (old / wave - low) / (high - low)
                result.append((1 - s) * inv / f + s * inv)
        return torch.tensor(result, dtype=torch.float64), factor
    f, old = args[:2]

    def dim(turns):
        return r * math.log(old / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = max(math.floor(dim(32)), 0), min(math.ceil(dim(1)), r - 1)
    if low == high:
        high += 0.001
    result = []
    for i, inv in enumerate(inverse.tolist()):
        t = min(max((i - low) / (high - low), 0), 1)
        result.append(inv / f * t + inv * (1 - t))
    return torch.tensor(result, dtype=torch.float64), 1.0 if f <= 1 else 0.1 * math.log(f) + 1


def rotated(x, positions, c):
    inverse, factor = inverse_frequencies(c)
    angles = positions.to(torch.float64)[:, None] * inverse[None, :]
    cos, sin = torch.cos(angles) * factor, torch.sin(angles) * factor
    r = c["rotary_dim"]
    y = x.clone()
    if c["rope"] == "half":
        a, b = x[..., : r // 2], x[..., r // 2 : r]
        y[..., : r // 2], y[..., r // 2 : r] = a * cos - b * sin, b * cos + a * sin
    else:
        a, b = x[..., 0:r:2], x[..., 1:r:2]
        y[..., 0:r:2], y[..., 1:r:2] = a * cos - b * sin, b * cos + a * sin
    return y


def slopes(heads):
    def of(n):
        return [2 ** (-8 * (h + 1) / n) for h in range(n)]

    below = 2 ** int(math.log2(heads))
    return of(below) + of(2 * below)[0::2][: heads - below]


def bucket(rel, buckets, most, both_ways):
    offset = 0
    if both_ways:
        buckets //= 2
        offset = buckets if rel > 0 else 0
        n = abs(rel)
    else:
        n = max(-rel, 0)
    exact = buckets // 2
    if n < exact:
        return offset + n
    large = exact + int(math.log(n / exact) / math.log(most / exact) * (buckets - exact))
    return offset + min(large, buckets - 1)


def visible(c, q_pos, k_pos):
    see = torch.ones(len(q_pos), len(k_pos), dtype=torch.bool)
    documents = [d for d, n in enumerate(c.get("documents", [])) for _ in range(n)]
    for i, p in enumerate(q_pos):
        for j, n in enumerate(k_pos):
            ok = True
            if c.get("causal"):
                ok = n <= p
                if c.get("prefix"):
                    ok = ok or (n < c["prefix"] and p < c["prefix"])
            if c.get("window"):
                ok = ok and n > p - c["window"]  # does not restrict later keys
            if c.get("chunk"):
                ok = ok and n // c["chunk"] == p // c["chunk"]
            if documents:
                ok = ok and documents[n] == documents[p]
            see[i, j] = ok
    return see


def reference(c, given):
    """Computes every step of one walk from the drawn tensors."""
    out = {}
    x = given["x"]
    h, k, d = c["heads"], c["kv_heads"], c["head_dim"]
    batch, length = x.shape[0], x.shape[1]

    def split(name, heads):
        y = x @ given["w_" + name].T
        if "b_" + name in given:
            y = y + given["b_" + name]
        return y.reshape(batch, length, heads, d).transpose(1, 2)

    query, key, value = split("query", h), split("key", k), split("value", k)
    out.update(query=query, key=key, value=value)
    past = c.get("past", 0)
    q_pos = torch.tensor(c.get("positions_given") or list(range(past, past + length)))
    k_pos = q_pos

    def normed(query, key):
        if not c.get("qk_norm"):
            return query, key
        eps = c["eps"]
        if c["qk_norm"] == "head":
            query, key = rms(query, eps, given["g_query"]), rms(key, eps, given["g_key"])
        elif c["qk_norm"] == "all":

            def whole(y, gain):
                heads = y.shape[1]
                flat = y.transpose(1, 2).reshape(batch, length, heads * d)
                return rms(flat, eps, gain).reshape(batch, length, heads, d).transpose(1, 2)

            query, key = whole(query, given["g_query"]), whole(key, given["g_key"])
        else:
            query, key = (torch.nn.functional.normalize(y, dim=-1, eps=eps) for y in (query, key))
        out.update(normed_query=query, normed_key=key)
        return query, key

    def turned(query, key):
        if not c.get("rope"):
            return query, key
        query, key = rotated(query, q_pos, c), rotated(key, k_pos, c)
        out.update(rotated_query=query, rotated_key=key)
        return query, key

    if c.get("norm_place") == "after":
        query, key = normed(*turned(query, key))
    else:
        query, key = turned(*normed(query, key))
    if past:
        key = torch.cat([given["past_key"], key], dim=2)
        value = torch.cat([given["past_value"], value], dim=2)
        out.update(present_key=key, present_value=value)
    if k < h:
        key = key.repeat_interleave(h // k, dim=1)
        value = value.repeat_interleave(h // k, dim=1)
        out.update(repeated_key=key, repeated_value=value)
    s = query @ key.transpose(-1, -2)
    out["scores"] = s
    s = s / math.sqrt(d)
    out["scaled_scores"] = s
    if c.get("softcap"):
        s = c["softcap"] * torch.tanh(s / c["softcap"])
        out["capped_scores"] = s
    rows, columns = list(range(past, past + length)), list(range(past + length))
    if c.get("bias") == "alibi":
        m = torch.tensor(slopes(h), dtype=torch.float64)
        distance = torch.tensor([[abs(i - j) for j in columns] for i in rows], dtype=torch.float64)
        bias = -m[:, None, None] * distance
        out["position_bias"] = bias
        s = s + bias
        out["biased_scores"] = s
    elif c.get("bias") == "t5":
        table = given["relative_attention_bias"]
        both_ways = not c.get("causal") or bool(c.get("prefix"))  # some later keys are visible
        index = torch.tensor(
            [[bucket(j - i, 32, 128, both_ways) for j in columns] for i in rows]
        )
        bias = table[index].permute(2, 0, 1)
        out["position_bias"] = bias
        s = s + bias
        out["biased_scores"] = s
    if c["masks"]:
        see = visible(c, rows, columns)
        s = s.masked_fill(~see, -math.inf)
        out["masked_scores"] = s
    top = s.max(-1, keepdim=True).values
    if c.get("sink"):
        sink = given["sink"].to(torch.float64).reshape(-1)[None, :, None, None]
        top = torch.maximum(top, sink)
        e = torch.exp(s - top)
        total = e.sum(-1, keepdim=True) + torch.exp(sink - top)
        out["sink_weight"] = (torch.exp(sink - top) / total).squeeze(-1)
    else:
        e = torch.exp(s - top)
        total = e.sum(-1, keepdim=True)
    out["weights"] = e / total
    out["context"] = out["weights"] @ value
    merged = out["context"].transpose(1, 2).reshape(batch, length, h * d)
    out["merged"] = merged
    if "w_output" in given:
        out["output"] = merged @ given["w_output"].T
    return out


def draw(rng):
    """Returns a random configuration and its flags."""
    heads = rng.choice([2, 3, 4, 6, 8])
    kv = rng.choice([n for n in range(1, heads + 1) if heads % n == 0])
    d = rng.choice([2, 4, 6, 8])
    length = rng.randint(1, 9)
    c = {"heads": heads, "kv_heads": kv, "head_dim": d, "masks": False}
    flags = ["--rng", "torch", "--dtype", "float64", "--random", "randn", "--seed", str(rng.randrange(9999)),
             "--batch", str(rng.randint(1, 3)), "--seq-len", str(length),
             "--embed-dim", str(rng.choice([5, 8, heads * d])), "--heads", str(heads),
             "--head-dim", str(d), "--kv-heads", str(kv)]
    if rng.random() < 0.3:
        flags.append("--bias")
    if rng.random() < 0.3:
        flags.append("--output-projection")
    past = rng.randint(1, 5) if rng.random() < 0.3 else 0
    c["past"] = past
    if past:
        flags += ["--past", str(past)]
    total = past + length
    if rng.random() < 0.6:
        c.update(rope=rng.choice(["half", "interleaved"]), theta=rng.choice([100.0, 10000.0, 500000.0]))
        c["rotary_dim"] = rng.choice([r for r in (2, 4, 6, 8) if r <= d])
        flags += ["--rope", c["rope"], "--rope-theta", f"{c['theta']:g}", "--rotary-dim", str(c["rotary_dim"])]
        c["positions"] = list(range(past, total))
        if not past and rng.random() < 0.4:
            c["positions"] = c["positions_given"] = [rng.randrange(50) for _ in range(length)]
            flags += ["--positions", ",".join(map(str, c["positions"]))]
        kind = rng.choice([None, None, "linear", "dynamic", "llama3", "yarn"])
        if kind == "dynamic" and c["rotary_dim"] == 2:
            kind = None  # its exponent r / (r - 2) has no meaning there
        if kind:
            args = {"linear": [4.0], "dynamic": [2.0, 4.0], "llama3": [8.0, 1.0, 4.0, 64.0],
                    "yarn": [4.0, 32.0]}[kind]
            c["scaling"] = [kind, *args]
            flags += ["--rope-scaling", ":".join([kind] + [f"{a:g}" for a in args])]
    if rng.random() < 0.4:
        c.update(qk_norm=rng.choice(["head", "all", "l2"]), eps=rng.choice([1e-6, 1e-5]),
                 norm_place=rng.choice(["before", "after"]))
        flags += ["--qk-norm", c["qk_norm"], "--norm-eps", f"{c['eps']:g}", "--qk-norm-place", c["norm_place"]]
    if rng.random() < 0.3:
        c["softcap"] = rng.choice([0.5, 2.0, 50.0])
        flags += ["--softcap", f"{c['softcap']:g}"]
    if rng.random() < 0.4:
        c["bias"] = rng.choice(["alibi", "t5"])
        flags += ["--position-bias", c["bias"]]
    if rng.random() < 0.3:
        c["sink"] = rng.choice(["zero", "randn"])
        flags += ["--sink", c["sink"]]
    kinds = []
    if rng.random() < 0.6:
        c["causal"] = True
        kinds.append("causal")
    if rng.random() < 0.3:
        c["window"] = rng.randint(1, 6)
        kinds.append(f"window:{c['window']}")
    if rng.random() < 0.2:
        c["chunk"] = rng.randint(1, 5)
        kinds.append(f"chunk:{c['chunk']}")
    if c.get("causal") and rng.random() < 0.2 and total > 1:
        c["prefix"] = rng.randint(1, total)
        kinds.append(f"prefix:{c['prefix']}")
    if rng.random() < 0.2 and total > 2 and not past:
        first = rng.randint(1, total - 1)
        c["documents"] = [first, total - first]
        kinds.append(f"documents:{first}+{total - first}")
    if kinds:
        c["masks"] = True
        flags += ["--mask", ",".join(kinds)]
    return c, flags


def main():
    arguments = random_walks(__doc__)
    rng = random.Random(arguments.seed)
    failed = compared = texts = 0
    for number in range(arguments.count):
        c, flags = draw(rng)
        variant = rng.choice(["loop", "vectorized"])
        command = [arguments.program, *flags, "--variant", variant]
        run = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
        if run.returncode != 0:
            print(f"{number}: {' '.join(command[1:])}\n   {run.stderr.strip()}")
            failed += 1
            continue
        steps = {s["name"]: tensor_of(s) for s in json.loads(run.stdout)["steps"]}
        expected = reference(c, steps)
        for name, want in expected.items():
            if name not in steps:
                print(f"{number}: {' '.join(command[1:])}\n   no step {name}")
                failed += 1
                break
            got = steps[name]
            if got.dim() != want.dim() and got.numel() == want.numel():
                want = want.reshape(got.shape)
            same = got.shape == want.shape and torch.allclose(
                got, want, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
            compared += 1
            if not same:
                size = (got - want).abs().nan_to_num(0).max().item() if got.shape == want.shape else "shape"
                print(f"{number}: {' '.join(command[1:])}\n   {name} differs: {size} "
                      f"{list(got.shape)} {list(want.shape)}")
                failed += 1
                break
        else:
            for name in ("scores", "weights", "context"):
                text = subprocess.run([*command, "--only", name, "-q"], capture_output=True, text=True).stdout
                printed = str(expected[name].to(torch.float64))
                texts += 1
                if text.split("=", 1)[-1].strip() != printed.strip() and printed not in text:
                    print(f"{number}: {' '.join(command[1:])}\n   {name} prints otherwise:\n{text}\n{printed}")
                    failed += 1
                    break
    print(f"{arguments.count} configurations, {compared} steps and {texts} texts compared, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

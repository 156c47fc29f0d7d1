#!/usr/bin/env python3
"""Compares latent and differential attention, and longrope, with PyTorch in float64: primitive
operations after the formulas of DeepSeek-V3, the Differential Transformer and Phi-3, independent of
the program's own arithmetic.

    /usr/bin/python3 tests/check_latent.py build/dev/app/attn-explain [--count 200] [--seed 1]

Each random configuration is run once as JSON (every step within 1e-10) and once as text (identical
to PyTorch's text of the recomputed tensors). Every latent walk also runs in its absorbed form, whose
output must agree to 1e-12."""

import json
import math
import random
import subprocess
import sys

from oracles import random_walks, tensor_of, torch

TOLERANCE = 1e-10


def rms(x, eps, gain):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * gain


def magnitude(factor, weight):
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0


def frequencies(c):
    """Returns inverse frequencies, the factor of cosines and sines, and the factor of the scores."""
    r, theta = c["rotary_dim"], c["theta"]
    inverse = torch.tensor([theta ** (-2 * i / r) for i in range(r // 2)], dtype=torch.float64)
    scaling = c.get("scaling")
    if not scaling:
        return inverse, 1.0, 1.0
    factor, length = scaling["factor"], scaling["length"]
    if scaling["kind"] == "longrope":
        chosen = scaling["long" if max(c["positions"]) + 1 > length else "short"]
        external = torch.tensor(chosen, dtype=torch.float64)
        base = torch.tensor([theta ** (2 * i / r) for i in range(r // 2)], dtype=torch.float64)
        cosine = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(length))
        return 1 / (external * base), scaling.get("attention_factor", cosine), 1.0

    def pair(turns):
        return r * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), r - 1)
    high = high + 0.001 if low == high else high
    share = ((torch.arange(r // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
    inverse = inverse / factor * share + inverse * (1 - share)
    if "mscale_all_dim" not in scaling:
        return inverse, magnitude(factor, 1), 1.0
    all_dim = magnitude(factor, scaling["mscale_all_dim"])
    cosine = magnitude(factor, scaling["mscale"]) / all_dim if "mscale" in scaling else magnitude(factor, 1)
    return inverse, cosine, all_dim * all_dim if c["kind"] == "latent" else 1.0


def rotated(x, c, first):
    """Rotates the features from `first` on, as complex numbers or by rotate_half."""
    inverse, factor, _ = frequencies(c)
    angles = torch.tensor(c["positions"], dtype=torch.float64)[:, None] * inverse
    cos, sin = torch.cos(angles) * factor, torch.sin(angles) * factor
    r = c["rotary_dim"]
    front, part, rest = x[..., :first], x[..., first : first + r], x[..., first + r :]
    if c["rope"] == "interleaved":
        pairs = torch.view_as_complex(part.contiguous().clone().reshape(*part.shape[:-1], r // 2, 2))
        part = torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)
    else:
        half = torch.cat((-part[..., r // 2 :], part[..., : r // 2]), -1)
        part = part * torch.cat((cos, cos), -1) + half * torch.cat((sin, sin), -1)
    return torch.cat((front, part, rest), -1)


def attend(c, query, key, value, scale, out):
    scores = query @ key.transpose(-1, -2)
    out["scores"] = scores
    scores = scores * scale
    out["scaled_scores"] = scores
    if c["causal"]:
        hidden = torch.triu(torch.ones(scores.shape[-2:], dtype=torch.bool), 1)
        scores = scores.masked_fill(hidden, -math.inf)
        out["masked_scores"] = scores
    out["weights"] = torch.softmax(scores, -1)
    return out["weights"]


def merged(c, given, context, out):
    batch, heads, length, width = context.shape
    flat = context.transpose(1, 2).reshape(batch, length, heads * width)
    out["merged"] = flat
    if "w_output" in given:
        weight = given["w_output"]
        out["output"] = flat @ (weight.T if c["out_in"] else weight)


def product(c, x, weight):
    return x @ (weight.T if c["out_in"] else weight)


def latent_reference(c, given):
    """DeepSeek's own code: naive, or with absorbed matrices."""
    out = {}
    x = given["x"]
    batch, length = x.shape[:2]
    heads, nope, rope, rank, wide = c["heads"], c["head_dim"], c["rotary_dim"], c["rank"], c["value_dim"]
    source = x
    if c["query_rank"]:
        out["query_latent"] = product(c, x, given["w_query_latent"])
        source = out["normed_query_latent"] = rms(out["query_latent"], 1e-6, given["g_query_latent"])
    out["projected_query"] = product(c, source, given["w_query"])
    query = out["projected_query"].view(batch, length, heads, nope + rope).transpose(1, 2)
    out["query"] = query
    compressed = out["projected_latent"] = product(c, x, given["w_latent"])
    out["latent"], out["rotary_key"] = compressed.split([rank, rope], dim=-1)
    latent = out["normed_latent"] = rms(out["latent"], 1e-6, given["g_latent"])
    shared = out["rotary_key"][:, None]
    weight = given["w_key_value"] if c["out_in"] else given["w_key_value"].T
    scale = (nope + rope) ** -0.5 * frequencies(c)[2]
    out["rotated_query"] = rotated(query, c, nope)
    if not c["absorbed"]:
        up = out["projected_key_value"] = latent @ weight.T
        up = up.view(batch, length, heads, nope + wide).transpose(1, 2)
        key = torch.cat((up[..., :nope], shared.expand(-1, heads, -1, -1)), -1)
        out["key"], out["value"] = key, up[..., nope:]
        out["rotated_key"] = rotated(key, c, nope)
        weights = attend(c, out["rotated_query"], out["rotated_key"], out["value"], scale, out)
        context = out["context"] = weights @ out["value"]
    else:
        by_head = weight.view(heads, nope + wide, rank)
        out["key"], out["value"] = torch.cat((latent[:, None], shared), -1), latent[:, None]
        out["rotated_key"] = rotated(out["key"], c, rank)
        pressed = torch.einsum("bhtd,hdc->bhtc", out["rotated_query"][..., :nope], by_head[:, :nope])
        out["absorbed_query"] = torch.cat((pressed, out["rotated_query"][..., nope:]), -1)
        weights = attend(c, out["absorbed_query"], out["rotated_key"], None, scale, out)
        out["context"] = weights @ out["value"]
        context = torch.einsum("bhtc,hdc->bhtd", out["context"], by_head[:, nope:])
        out["expanded_context"] = context
    merged(c, given, context, out)
    return out


def differential_reference(c, given):
    """Follows multihead_diffattn.py of the paper's authors."""
    out = {}
    x = given["x"]
    batch, length = x.shape[:2]
    heads, kv, d, wide = c["heads"], c["kv_heads"], c["head_dim"], c["value_dim"]
    if "w_qkv" in given:
        parts = product(c, x, given["w_qkv"]).split([2 * heads * d, 2 * kv * d, kv * wide], dim=-1)
    else:
        parts = [product(c, x, given["w_" + name]) for name in ("query", "key", "value")]
    sizes = [(2 * heads, d), (2 * kv, d), (kv, wide)]
    query, key, value = (
        part.view(batch, length, *size).transpose(1, 2) for part, size in zip(parts, sizes)
    )
    out.update(query=query, key=key, value=value)
    if c.get("rope"):
        query, key = rotated(query, c, 0), rotated(key, c, 0)
        out.update(rotated_query=query, rotated_key=key)
    if kv < heads:
        key, value = (y.repeat_interleave(heads // kv, dim=1) for y in (key, value))
        out.update(repeated_key=key, repeated_value=value)
    weights = attend(c, query, key, value, d**-0.5, out)
    init = 0.8 - 0.6 * math.exp(-0.3 * c["depth"])
    first = torch.exp(torch.sum(given["lambda_q1"] * given["lambda_k1"]))
    second = torch.exp(torch.sum(given["lambda_q2"] * given["lambda_k2"]))
    amount = first - second + init
    out["lambda_full"] = amount.reshape(1)
    pairs = weights.view(batch, heads, 2, length, length)
    out["differential_weights"] = pairs[:, :, 0] - amount * pairs[:, :, 1]
    sums = out["differential_weights"].sum(-1)
    assert torch.allclose(sums, (1 - amount).expand_as(sums), atol=1e-12), "rows sum to 1 - lambda"
    out["context"] = out["differential_weights"] @ value
    out["normed_context"] = rms(out["context"], 1e-5, given["g_context"])
    out["scaled_context"] = out["normed_context"] * (1 - init)
    merged(c, given, out["scaled_context"], out)
    return out


def draw_scaling(rng, c, flags, kinds):
    kind = rng.choice(kinds)
    if kind == "longrope":
        pairs = c["rotary_dim"] // 2
        short, long = ([round(rng.uniform(1, 9), 3) for _ in range(pairs)] for _ in range(2))
        c["scaling"] = {"kind": kind, "factor": rng.choice([1.0, 4.0, 32.0]),
                        "length": rng.choice([4.0, 4096.0]), "short": short, "long": long}
        text = ":".join([f"longrope:{c['scaling']['factor']:g}:{c['scaling']['length']:g}",
                         ",".join(map(str, short)), ",".join(map(str, long))])
        if rng.random() < 0.3:
            c["scaling"]["attention_factor"] = 1.25
            text += ":attention_factor=1.25"
        flags += ["--rope-scaling", text]
    elif kind == "yarn":
        c["scaling"] = {"kind": kind, "factor": rng.choice([1.0, 4.0, 40.0]), "length": 32.0}
        text = f"yarn:{c['scaling']['factor']:g}:32"
        if rng.random() < 0.7:
            c["scaling"].update(mscale=1.0, mscale_all_dim=rng.choice([1.0, 0.707]))
            text += f":mscale=1:mscale_all_dim={c['scaling']['mscale_all_dim']}"
        flags += ["--rope-scaling", text]


def draw(rng):
    """Returns a random configuration and its flags."""
    kind = rng.choice(["latent", "differential"])
    length = rng.choice([1, 2, 3, 5, 7, 9])
    c = {"kind": kind, "heads": rng.choice([1, 2, 3, 4, 5]), "head_dim": rng.choice([1, 2, 3, 4, 7, 8]),
         "theta": rng.choice([100.0, 10000.0]), "causal": rng.random() < 0.6, "absorbed": False,
         "out_in": rng.random() < 0.7, "positions": list(range(length))}
    flags = ["--rng", "torch", "--dtype", "float64", "--random", "randn", "--seed", str(rng.randrange(9999)),
             "--batch", str(rng.randint(1, 3)), "--seq-len", str(length),
             "--embed-dim", str(rng.choice([5, 8, 11])), "--heads", str(c["heads"]),
             "--head-dim", str(c["head_dim"])]
    if not c["out_in"]:
        flags += ["--weight-layout", "in-out"]
    if c["causal"]:
        flags += ["--mask", "causal"]
    if rng.random() < 0.5:
        flags.append("--output-projection")
    c["value_dim"] = (2 if kind == "differential" else 1) * c["head_dim"]
    if rng.random() < 0.4:
        c["value_dim"] = rng.choice([1, 3, 6])
        flags += ["--value-dim", str(c["value_dim"])]
    turns = kind == "latent" or (c["head_dim"] >= 2 and rng.random() < 0.5)
    if turns:
        widths = (2, 4, 6) if kind == "latent" else [r for r in (2, 4, 6) if r <= c["head_dim"]]
        c["rotary_dim"] = rng.choice(widths)
        c["rope"] = rng.choice(["half", "interleaved"])
        flags += ["--rotary-dim", str(c["rotary_dim"]), "--rope-theta", f"{c['theta']:g}"]
        if kind == "differential" or c["rope"] == "half" or rng.random() < 0.3:
            flags += ["--rope", c["rope"]]
        if rng.random() < 0.3:
            c["positions"] = [rng.randrange(50) for _ in range(length)]
            flags += ["--positions", ",".join(map(str, c["positions"]))]
        draw_scaling(rng, c, flags, [None, None, "longrope", "yarn"])
    if kind == "latent":
        c["rank"] = rng.choice([1, 2, 3, 5, 8])
        c["query_rank"] = rng.choice([None, None, 1, 3, 6])
        flags += ["--mla", str(c["rank"])]
        if c["query_rank"]:
            flags += ["--mla-query-rank", str(c["query_rank"])]
    else:
        c["depth"] = rng.choice([0, 1, 2, 5, 31])
        c["kv_heads"] = rng.choice([k for k in range(1, c["heads"] + 1) if c["heads"] % k == 0])
        flags += ["--differential", str(c["depth"])] if c["depth"] or rng.random() < 0.5 else ["--differential"]
        if c["kv_heads"] < c["heads"]:
            flags += ["--kv-heads", str(c["kv_heads"])]
        if rng.random() < 0.3:
            flags += ["--projection", "fused"]
    return c, flags


class Failure(Exception):
    pass


def walked(command):
    run = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
    if run.returncode != 0:
        raise Failure(run.stderr.strip())
    return {step["name"]: tensor_of(step) for step in json.loads(run.stdout)["steps"]}


def compared(command, c, counts):
    steps = walked(command)
    make = latent_reference if c["kind"] == "latent" else differential_reference
    expected = make(c, steps)
    for name, want in expected.items():
        if name not in steps:
            if c["heads"] == 1 and name == "merged":
                continue
            raise Failure(f"no step {name}")
        got = steps[name]
        if got.shape != want.shape:
            raise Failure(f"{name} has shape {list(got.shape)}, not {list(want.shape)}")
        difference = (got - want).abs().nan_to_num(0).max().item() if got.numel() else 0
        if not torch.allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            raise Failure(f"{name} differs by {difference}")
        counts["steps"] += 1
        counts["largest"] = max(counts["largest"], difference)
    for name in ("scores", list(expected)[-1]):
        if name not in steps:
            continue
        text = subprocess.run([*command, "--only", name, "-q"], capture_output=True, text=True).stdout
        counts["texts"] += 1
        if str(expected[name]) not in text:
            raise Failure(f"{name} prints otherwise:\n{text}\n{expected[name]}")
    return steps


def main():
    arguments = random_walks(__doc__)
    rng = random.Random(arguments.seed)
    counts = {"steps": 0, "texts": 0, "forms": 0, "failed": 0, "largest": 0.0, "apart": 0.0}
    for number in range(arguments.count):
        c, flags = draw(rng)
        command = [arguments.program, *flags, "--variant", rng.choice(["loop", "vectorized"])]
        try:
            steps = compared(command, c, counts)
            if c["kind"] == "latent":
                other = compared([*command, "--mla-absorbed"], {**c, "absorbed": True}, counts)
                for name in ("weights", "merged", "output"):
                    if name in steps:
                        apart = (steps[name] - other[name]).abs().max().item()
                        counts["apart"] = max(counts["apart"], apart)
                        if apart > 1e-12:
                            raise Failure(f"absorbed {name} is {apart} apart")
                counts["forms"] += 1
        except (Failure, AssertionError) as failure:
            print(f"{number}: {' '.join(command[1:])}\n   {failure}")
            counts["failed"] += 1
    print(f"{arguments.count} configurations: {counts['steps']} steps (largest difference "
          f"{counts['largest']:.1e}), {counts['texts']} texts and {counts['forms']} absorbed forms "
          f"(at most {counts['apart']:.1e} apart) compared, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares every step of random walks with PyTorch in float64: primitive operations after the
papers' formulas and the code of Hugging Face's models, independent of the rules of the program.

    /usr/bin/python3 tests/check_walks.py build/dev/app/attn-explain [--count 400] [--seed 1]

Each configuration is run as JSON (every step within 1e-10), and scores, weights and context as
text (identical to PyTorch's print of the recomputed tensors)."""

import json
import math
import random
import subprocess
import sys

from oracles import random_walks, tensor_of, torch

TOLERANCE = 1e-10


def magnitude(factor, weight=1.0):
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0


def frequencies(theta, width, scaling, longest):
    """Returns the frequencies of rotary positions, and the factor of cos and sin."""
    kind, *words = scaling.split(":")
    numbers = [float(word) for word in words if "=" not in word]
    named = dict(word.split("=") for word in words if "=" in word)
    if kind == "dynamic":
        factor, length = numbers
        longest = max(longest, length)
        theta *= (factor * longest / length - (factor - 1)) ** (width / (width - 2))
    inverse = 1.0 / theta ** (torch.arange(0, width, 2) / width)
    if kind == "linear":
        return inverse / numbers[0], 1.0
    if kind == "llama3":
        factor, low, high, length = numbers
        wavelength = 2 * math.pi / inverse
        share = ((length / wavelength - low) / (high - low)).clamp(0, 1)
        return (1 - share) * inverse / factor + share * inverse, 1.0
    if kind != "yarn":
        return inverse, 1.0
    factor, length, fast, slow = numbers + [32.0, 1.0][len(numbers) - 2 :]
    first, last = (
        width * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(theta))
        for turns in (fast, slow)
    )
    if named.get("truncate") != "false":
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, width - 1)
    ramp = (torch.arange(width // 2) - first) / (last - first if last != first else 0.001)
    ramp = ramp.clamp(0, 1)
    times = magnitude(factor)
    if "mscale" in named:
        times = magnitude(factor, float(named["mscale"]))
        times /= magnitude(factor, float(named["mscale_all_dim"]))
    times = float(named.get("attention_factor", times))
    return inverse / factor * ramp + inverse * (1 - ramp), times


def rotated(x, cos, sin, style):
    width = 2 * cos.shape[-1]
    turning, rest = x[..., :width], x[..., width:]
    if style == "half":
        first, second = turning.chunk(2, dim=-1)
        half = torch.cat((-second, first), dim=-1)
        turning = turning * torch.cat((cos, cos), -1) + half * torch.cat((sin, sin), -1)
    else:
        numbers = torch.view_as_complex(turning.reshape(*turning.shape[:-1], -1, 2).contiguous())
        turning = torch.view_as_real(numbers * torch.complex(cos, sin)).flatten(-2)
    return torch.cat((turning, rest), dim=-1)


def normed(x, gain, over, eps):
    if over == "l2":
        return torch.nn.functional.normalize(x, dim=-1, eps=eps)
    if over == "head":
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gain
    gain = gain.reshape(x.shape[-3], 1, x.shape[-1])
    return x * torch.rsqrt(x.pow(2).mean((-3, -1), keepdim=True) + eps) * gain


def slopes_of(heads):
    """ALiBi's slopes, by the code of the paper."""

    def power_of_two(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(heads).is_integer():
        return power_of_two(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return power_of_two(closest) + slopes_of(2 * closest)[0::2][: heads - closest]


def buckets_of(relative, bidirectional, buckets, most):
    """T5's buckets, by its own code."""
    result = torch.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        result = result + (relative > 0).long() * buckets
        relative = relative.abs()
    else:
        relative = -torch.min(relative, torch.zeros_like(relative))
    exact = buckets // 2
    large = (
        exact
        + (torch.log(relative.float() / exact) / math.log(most / exact) * (buckets - exact))
        .clamp(min=0)
        .long()
    )
    large = torch.min(large, torch.full_like(large, buckets - 1))
    return result + torch.where(relative < exact, relative, large)


def hidden_by(kinds, q, k):
    """Returns what a mask hides from the queries at positions q."""
    q, k = q[:, None], k[None, :]
    hidden = torch.zeros(q.shape[0], k.shape[1], dtype=torch.bool)
    if "prefix" in kinds:
        hidden |= (k > q) & (k >= kinds["prefix"])
    elif "causal" in kinds:
        hidden |= k > q
    if "window" in kinds:
        hidden |= q - k >= kinds["window"]
    if "chunk" in kinds:
        hidden |= torch.div(q, kinds["chunk"], rounding_mode="floor") != k // kinds["chunk"]
    if "documents" in kinds:
        numbers = torch.cat([torch.full((n,), i) for i, n in enumerate(kinds["documents"])])
        hidden |= numbers[q] != numbers[k]
    return hidden


def reference(c, given):
    """Computes every step of one walk from its inputs and parameters."""
    out = {}
    heads, kv_heads = c["heads"], c["kv-heads"]
    tokens, past = c["seq-len"], c.get("past", 0)
    positions = torch.tensor(c.get("positions", range(past, past + tokens)))
    x = given["x"]
    if "position-embedding" in c:
        width = x.shape[-1]
        if c["position-embedding"] == "learned":
            added = given["position_table"][positions]
        else:
            angles = positions[:, None] / 10000.0 ** (torch.arange(0, width, 2) / width)
            added = torch.zeros(tokens, width)
            added[:, 0::2], added[:, 1::2] = angles.sin(), angles.cos()[:, : width // 2]
        x = out["x"] = given["token_embedding"] + added
        out["position_embedding"] = added
    memory = given.get("memory", x)
    sources = {"query": (x, heads), "key": (memory, kv_heads), "value": (memory, kv_heads)}

    if c["projection"] == "fused":
        out["qkv"] = x @ given["w_qkv"].T + given.get("b_qkv", 0)
        sides = [heads * c["head-dim"], kv_heads * c["head-dim"], kv_heads * c["value-dim"]]
        projected = dict(zip(sources, out["qkv"].split(sides, dim=-1)))
    for name, (source, count) in sources.items():
        if c["projection"] == "stacked":
            y = source[..., None, :, :] @ given["w_" + name].transpose(-1, -2)
            out[name] = y + given["b_" + name][..., None, :] if "b_" + name in given else y
            continue
        if c["projection"] == "split":
            projected_here = source @ given["w_" + name].T + given.get("b_" + name, 0)
        else:
            projected_here = projected[name]
        shape = (*projected_here.shape[:-1], count, projected_here.shape[-1] // count)
        out[name] = projected_here.reshape(shape).transpose(-3, -2)
    latest = {"query": out["query"], "key": out["key"]}

    def norm():
        for name in latest:
            gain = given.get("g_" + name)
            latest[name] = normed(latest[name], gain, c["qk-norm"], c["norm-eps"])
            out["normed_" + name] = latest[name]

    if c.get("qk-norm-place") == "before":
        norm()
    if "rope" in c:
        inverse, times = frequencies(
            c["rope-theta"], c["rotary-dim"], c.get("rope-scaling", ""), max(positions) + 1
        )
        angles = positions[:, None] * inverse
        out.update(inverse_frequencies=inverse, angles=angles)
        out.update(cos=angles.cos() * times, sin=angles.sin() * times)
        for name in latest:
            latest[name] = rotated(latest[name], out["cos"], out["sin"], c["rope"])
            out["rotated_" + name] = latest[name]
    if c.get("qk-norm-place") == "after":
        norm()
    query, key, value = latest["query"], latest["key"], out["value"]
    if past:
        key = out["present_key"] = torch.cat([given["past_key"], key], dim=-2)
        value = out["present_value"] = torch.cat([given["past_value"], value], dim=-2)
    if kv_heads < heads:
        key = out["repeated_key"] = key.repeat_interleave(heads // kv_heads, dim=-3)
        value = out["repeated_value"] = value.repeat_interleave(heads // kv_heads, dim=-3)

    scores = out["scores"] = query @ key.transpose(-1, -2)
    if c["scale"] == "head-dim":
        scores = out["scaled_scores"] = scores / math.sqrt(c["head-dim"])
    if "softcap" in c:
        scores = out["capped_scores"] = c["softcap"] * torch.tanh(scores / c["softcap"])
    keys = scores.shape[-1]
    first = past + (keys - tokens if "causal-align" in c else 0)
    q, k = torch.arange(first, first + tokens), torch.arange(keys)
    bias = c.get("position-bias", "")
    if bias:
        distance = k[None, :] - q[:, None]
        if bias == "alibi":
            out["position_bias"] = -torch.tensor(slopes_of(heads))[:, None, None] * distance.abs()
        else:
            numbers = [int(word) for word in bias.split(":")[1:]] or [32, 128]
            one_way = "causal" in c["mask"] and "prefix" not in c["mask"]
            rows = buckets_of(distance, not one_way, *numbers)
            out["position_bias"] = given["relative_attention_bias"][rows].permute(2, 0, 1)
        scores = out["biased_scores"] = scores + out["position_bias"]
    if c["mask"]:
        out["mask"] = hidden_by(c["mask"], q, k)
        scores = out["masked_scores"] = scores.masked_fill(out["mask"], -math.inf)
    total = scores.logsumexp(-1, keepdim=True)
    if "sink" in c:
        sink = given["sink"].reshape(-1, 1, 1).expand(total.shape)
        total = torch.logaddexp(total, sink)
        out["sink_weight"] = torch.exp(sink - total).squeeze(-1)
    out["weights"] = torch.exp(scores - total)
    out["context"] = out["weights"] @ value
    if c["projection"] != "stacked" or "output-projection" in c:
        out["merged"] = out["context"].transpose(-3, -2).flatten(-2)
    if "output-projection" in c:
        out["output"] = out["merged"] @ given["w_output"].T
    return out


def draw(rng):
    """Returns a random configuration: flags and their values, of awkward sizes."""

    def chance(share):
        return rng.random() < share

    kv_heads = rng.choice([1, 1, 2, 3])
    heads = kv_heads * rng.choice([1, 2, 3, 5]) if kv_heads > 1 else rng.choice([2, 3, 4, 6])
    width = rng.choice([1, 2, 3, 4, 6, 10, 14])
    tokens = rng.choice([1, 2, 3, 5, 7, 9, 12])
    c = {"heads": heads, "kv-heads": kv_heads, "head-dim": width, "seq-len": tokens}
    c.update({"embed-dim": rng.choice([1, 3, 5, 8]), "value-dim": rng.choice([1, 3, width])})
    c["projection"] = rng.choice(["split", "split", "fused", "stacked"])
    c["scale"] = rng.choice(["head-dim", "head-dim", "none"])
    c["variant"] = rng.choice(["loop", "vectorized", "fused"])
    c["mask"] = {}
    keys = tokens
    if chance(0.6):
        c["batch"] = rng.randint(1, 3)
    for name in ("bias", "output-projection"):
        if chance(0.4):
            c[name] = True
    begins = rng.choice(["x", "x", "past", "memory", "positions"])
    if begins == "past":
        c["past"] = rng.randint(1, 5)
        keys += c["past"]
    elif begins == "memory" and c["projection"] == "split":
        keys += rng.randint(0, 6)
        c["memory-len"] = keys
        if chance(0.6):
            c["causal-align"] = "end"
    elif begins == "positions":
        c["position-embedding"] = rng.choice(["learned", "sinusoidal"])
    if width % 2 == 0 and "memory-len" not in c and chance(0.7):
        c["rope"] = rng.choice(["half", "interleaved"])
        c["rope-theta"] = rng.choice([100.0, 1000.0, 10000.0, 500000.0])
        c["rotary-dim"] = rng.choice(range(2, width + 1, 2))
        yarn = ["yarn:4:16", "yarn:32:64:32:1:truncate=false", "yarn:2:20:4:1:attention_factor=1.3"]
        yarn.append("yarn:40:30:mscale=1:mscale_all_dim=0.7")
        others = ["linear:3.5", "llama3:8:1:4:40"]
        if c["rotary-dim"] > 2:  # the exponent r / (r - 2) of dynamic scaling
            others.append("dynamic:4:3")
        if chance(0.6):
            c["rope-scaling"] = rng.choice(yarn + others)
        if not c.get("past") and chance(0.4):
            c["positions"] = [rng.randrange(50) for _ in range(tokens)]
    if chance(0.4):
        c["qk-norm"] = rng.choice(["head", "all", "l2"])
        c.update({"norm-eps": rng.choice([1e-6, 1e-5])})
        c["qk-norm-place"] = rng.choice(["before", "after"])
    if chance(0.4):
        c["softcap"] = rng.choice([0.3, 2.0, 50.0])
    if chance(0.5):
        c["position-bias"] = rng.choice(["alibi", "t5", "t5:8:6"])
    if chance(0.3):
        c["sink"] = rng.choice(["zero", "randn"])
    for kind, share in (("causal", 0.6), ("window", 0.4), ("chunk", 0.3), ("prefix", 0.2)):
        if chance(share):
            c["mask"][kind] = None if kind == "causal" else rng.randint(1, 5)
    if keys > 1 and chance(0.2):
        split = rng.randint(1, keys - 1)
        c["mask"]["documents"] = [split, keys - split]
    return c


def flags_of(c):
    """Returns the flags of a configuration."""

    def word(value):
        if isinstance(value, list):
            return ",".join(map(str, value))
        return f"{value:g}" if isinstance(value, float) else str(value)

    def mask_word(kind, value):
        if value is None:
            return kind
        return f"{kind}:" + ("+".join(map(str, value)) if isinstance(value, list) else str(value))

    flags = []
    for name, value in c.items():
        if name == "mask":
            value = ",".join(mask_word(*kind) for kind in value.items())
        if value:
            flags += ["--" + name] if value is True else ["--" + name, word(value)]
    return flags


def trouble_with(c, command):
    """Returns how many steps and texts agree, and a description of the first that does not."""
    run = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
    if run.returncode != 0:
        return 0, 0, run.stderr.strip()
    steps = {step["name"]: tensor_of(step) for step in json.loads(run.stdout)["steps"]}
    expected = reference(c, steps)
    compared = texts = 0
    for name, right in expected.items():
        if name not in steps:
            if c["variant"] == "fused":
                continue
            return compared, texts, f"no step {name}"
        ours = steps[name]
        if ours.shape != right.shape:
            return compared, texts, f"{name} has shape {list(ours.shape)}, not {list(right.shape)}"
        if not torch.allclose(
            ours.double(), right.double(), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True
        ):
            far = (ours.double() - right.double()).abs().nan_to_num(0).max().item()
            return compared, texts, f"{name} differs by {far}"
        compared += 1
    for name in ("scores", "weights", "context"):
        if name in steps:
            run = subprocess.run([*command, "--only", name, "-q"], capture_output=True, text=True)
            if str(expected[name]) not in run.stdout:
                return compared, texts, f"{name} is printed as\n{run.stdout}\n{expected[name]}"
            texts += 1
    return compared, texts, ""


def main():
    arguments = random_walks(__doc__)
    rng = random.Random(arguments.seed)
    failed = compared = texts = 0
    for _ in range(arguments.count):
        c = draw(rng)
        command = [arguments.program, "--dtype", "float64", "--random", "randn", *flags_of(c)]
        command += ["--seed", str(rng.randrange(9999))]
        steps, printed, trouble = trouble_with(c, command)
        compared, texts = compared + steps, texts + printed
        if trouble:
            failed += 1
            print(" ".join(command), trouble, sep="\n   ")
    print(f"{arguments.count} walks, {compared} steps and {texts} texts agree, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares walks with positions and norms with PyTorch in float64, in primitive operations.

    tests/check_rotary.py build/dev/app/attn-explain [WALKS]

Runs random configurations of awkward sizes with --dtype float64, and recomputes every step from x to
the scores from the drawn parameters, as Hugging Face's models do. All numbers must agree to 1e-10.
Without PyTorch nothing is checked, and a line reports this.
"""

import json
import math
import random
import subprocess
import sys

from oracles import torch

torch.set_default_dtype(torch.float64)


def frequencies(theta, width, scaling, last):
    kind, *rest = scaling.split(":") if scaling else ("none",)
    numbers = [float(part) for part in rest if "=" not in part]
    named = dict(part.split("=") for part in rest if "=" in part)
    exponents = torch.arange(0, width, 2) / width
    if kind == "dynamic":
        factor, length = numbers
        longest = max(last + 1, length)
        theta = theta * (factor * longest / length - (factor - 1)) ** (width / (width - 2))
    inv = 1.0 / theta**exponents
    if kind == "linear":
        return inv / numbers[0], 1.0
    if kind == "llama3":
        factor, low, high, length = numbers
        wavelengths = 2 * math.pi / inv
        smooth = (length / wavelengths - low) / (high - low)
        blended = (1 - smooth) * inv / factor + smooth * inv
        scaled = torch.where(wavelengths > length / low, inv / factor, inv)
        between = (wavelengths <= length / low) & (wavelengths >= length / high)
        return torch.where(between, blended, scaled), 1.0
    if kind == "yarn":
        factor, length, *betas = numbers
        fast, slow = betas if betas else (32.0, 1.0)

        def pair(turns):
            return width * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(theta))

        low, high = pair(fast), pair(slow)
        if named.get("truncate", "true") == "true":
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        if low == high:
            high += 0.001
        ramp = ((torch.arange(width // 2) - low) / (high - low)).clamp(0, 1)
        kept = 1 - ramp

        def magnitude(weight):
            return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

        attention = magnitude(1.0)
        if "mscale" in named and "mscale_all_dim" in named:
            attention = magnitude(float(named["mscale"])) / magnitude(float(named["mscale_all_dim"]))
        if "attention_factor" in named:
            attention = float(named["attention_factor"])
        return inv / factor * (1 - kept) + inv * kept, attention
    return inv, 1.0


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
    axes = (-3, -1) if over == "all" and x.dim() > 2 else (-1,)
    if len(axes) == 2:
        gain = gain.reshape(x.shape[-3], 1, x.shape[-1])
    return x * torch.rsqrt(x.pow(2).mean(axes, keepdim=True) + eps) * gain


def configuration(pick):
    heads = pick.choice([2, 3, 4])
    config = {"heads": heads, "head-dim": pick.choice([2, 4, 6, 10, 14]), "seed": pick.randrange(999),
              "seq-len": pick.choice([1, 2, 3, 7, 12]), "embed-dim": pick.choice([3, 5, 8])}
    if pick.random() < 0.4:
        config["kv-heads"] = pick.choice([k for k in (1, 2) if heads % k == 0])
    if pick.random() < 0.4:
        config["batch"] = pick.choice([1, 2, 3])
    if pick.random() < 0.4:
        config["position-embedding"] = pick.choice(["learned", "sinusoidal"])
    if pick.random() < 0.5:
        config["qk-norm"] = pick.choice(["head", "all", "l2"])
        config["norm-eps"] = pick.choice(["1e-6", "1e-5"])
        config["qk-norm-place"] = pick.choice(["before", "after"])
    if pick.random() < 0.9:
        config["rope"] = pick.choice(["half", "interleaved"])
        config["rope-theta"] = pick.choice([10000, 500000, 1000])
        width = pick.choice(range(2, config["head-dim"] + 1, 2))
        config["rotary-dim"] = width
        scaling = pick.choice(["", "linear:3.5", "dynamic:4:3", "llama3:8:1:4:40", "yarn:4:16",
                               "yarn:32:64:32:1:truncate=false", "yarn:40:30:mscale=1:mscale_all_dim=0.7",
                               "yarn:2:20:4:1:attention_factor=1.3"])
        if scaling and not (scaling.startswith("dynamic") and width == 2):
            config["rope-scaling"] = scaling
        if pick.random() < 0.5:
            config["positions"] = ",".join(str(pick.randrange(50)) for _ in range(config["seq-len"]))
    config["variant"] = pick.choice(["loop", "vectorized"])
    return config


def check(program, config):
    words = [word for key, value in config.items() for word in ("--" + key, str(value))]
    run = subprocess.run([program, "--dtype", "float64", "--format", "json", *words],
                         capture_output=True, text=True)
    if run.returncode != 0:
        return words, run.stderr.strip(), 0
    steps = {step["name"]: torch.tensor(step["data"]) for step in json.loads(run.stdout)["steps"]}
    positions = torch.arange(config["seq-len"])
    if "positions" in config:
        positions = torch.tensor([int(p) for p in config["positions"].split(",")])
    ours = {}
    x = steps["x"]
    if "position-embedding" in config:
        width = config["embed-dim"]
        if config["position-embedding"] == "learned":
            ours["position_embedding"] = steps["position_table"][positions]
        else:
            table = torch.zeros(len(positions), width)
            angles = positions[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
            table[:, 0::2] = torch.sin(angles)
            table[:, 1::2] = torch.cos(angles[:, : width // 2])
            ours["position_embedding"] = table
        ours["x"] = steps["token_embedding"] + ours["position_embedding"]
        x = ours["x"]
    heads = {"query": config["heads"], "key": config.get("kv-heads", config["heads"])}
    latest = {}
    for name, count in heads.items():
        flat = x @ steps["w_" + name].transpose(-2, -1)
        latest[name] = flat.reshape(*flat.shape[:-1], count, -1).transpose(-3, -2)
        ours[name] = latest[name]

    def norm():
        if "qk-norm" not in config:
            return
        for name in heads:
            latest[name] = normed(latest[name], steps.get("g_" + name), config["qk-norm"],
                                  float(config["norm-eps"]))
            ours["normed_" + name] = latest[name]

    if config.get("qk-norm-place") == "before":
        norm()
    if "rope" in config:
        inv, factor = frequencies(float(config["rope-theta"]), config["rotary-dim"],
                                  config.get("rope-scaling", ""), int(positions.max()))
        angles = positions[:, None] * inv
        ours.update(inverse_frequencies=inv, angles=angles, cos=angles.cos() * factor,
                    sin=angles.sin() * factor)
        for name in heads:
            latest[name] = rotated(latest[name], ours["cos"], ours["sin"], config["rope"])
            ours["rotated_" + name] = latest[name]
    if config.get("qk-norm-place") == "after":
        norm()
    key = latest["key"].repeat_interleave(heads["query"] // heads["key"], dim=-3)
    ours["scores"] = latest["query"] @ key.transpose(-2, -1)
    for name, expected in ours.items():
        if name not in steps:
            return words, f"{name} is missing", 0
        worst = (steps[name] - expected).abs().max().item()
        if steps[name].shape != expected.shape or not worst <= 1e-10 * max(1, expected.abs().max().item()):
            return words, f"{name} differs by {worst}", 0
    return words, "", len(ours)


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    pick = random.Random(20261122)
    failures = tensors = 0
    for _ in range(count):
        words, trouble, checked = check(program, configuration(pick))
        tensors += checked
        if trouble:
            failures += 1
            print("FAILED", " ".join(words), ":", trouble)
    print(f"{count} walks, {tensors} tensors, {failures} failed (PyTorch {torch.__version__})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

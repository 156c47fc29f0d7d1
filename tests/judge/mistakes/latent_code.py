#!/usr/bin/python3
"""Latent and differential attention as people write them.

    tests/judge/mistakes/latent_code.py build/dev/app/attn-explain

Works like wrong_code.py: right code in several styles, and code with one mistake, some of it with its
output alone. The files go to data/reference/latent/.
"""

import math
import pathlib

import torch
import torch.nn.functional as F

import wrong_code

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "data" / "reference" / "latent"
wrong_code.works.clear()
HEADS, NOPE, ROPE, RANK = 3, 4, 2, 5
LATENT = (f"--heads {HEADS} --head-dim {NOPE} --embed-dim 8 --seq-len 5 --batch 2 --mask causal "
          f"--output-projection --mla {RANK} --mla-query-rank 4 --rotary-dim {ROPE} ")
YARN = LATENT + "--rope-scaling yarn:40:64:mscale=1:mscale_all_dim=1"
DIFFERENTIAL = ("--heads 3 --head-dim 3 --embed-dim 8 --seq-len 5 --batch 2 --mask causal "
                "--output-projection --differential 1")


def code(flags, expects, alike=()):
    return wrong_code.work(flags, expects, alike, "walk")


def rms_norm(x, weight, eps):
    return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)) * weight


def complex_rope(x, freqs):
    """As DeepSeek's own code, on (B, T, H, ROPE)."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * freqs.view(1, x.size(1), 1, -1)).flatten(3)


def circle(length, scaled=False):
    inverse = 1.0 / 10000 ** (torch.arange(0, ROPE, 2).float() / ROPE)
    if scaled:  # one pair, before the ramp: nothing is scaled
        low = max(math.floor(ROPE * math.log(64 / (32 * 2 * math.pi)) / (2 * math.log(10000))), 0)
        high = min(math.ceil(ROPE * math.log(64 / (2 * math.pi)) / (2 * math.log(10000))), ROPE - 1)
        high = high + 0.001 if low == high else high
        ramp = ((torch.arange(ROPE // 2).float() - low) / (high - low)).clamp(0, 1)
        inverse = inverse / 40 * ramp + inverse * (1 - ramp)
    angles = torch.outer(torch.arange(length).float(), inverse)
    return torch.polar(torch.ones_like(angles), angles)


def deepseek(given, scale=None, value_first=False, viewed=False, scaled=False,
             only_output=False):
    """The naive form, after DeepSeek's inference code."""
    x = given["x"]
    bsz, seqlen, _ = x.shape
    freqs = circle(seqlen, scaled)
    q = F.linear(rms_norm(F.linear(x, given["w_query_latent"]), given["g_query_latent"], 1e-6),
                 given["w_query"]).view(bsz, seqlen, HEADS, NOPE + ROPE)
    q_nope, q_pe = torch.split(q, [NOPE, ROPE], dim=-1)
    q = torch.cat([q_nope, complex_rope(q_pe, freqs)], dim=-1)
    kv, k_pe = torch.split(F.linear(x, given["w_latent"]), [RANK, ROPE], dim=-1)
    k_pe = complex_rope(k_pe.unsqueeze(2), freqs)
    kv = F.linear(rms_norm(kv, given["g_latent"], 1e-6), given["w_key_value"])
    if viewed:
        kv = kv.view(bsz, HEADS, seqlen, NOPE + NOPE).transpose(1, 2)
    kv = kv.reshape(bsz, seqlen, HEADS, NOPE + NOPE)
    first, second = torch.split(kv, [NOPE, NOPE], dim=-1)
    k_nope, v = (second, first) if value_first else (first, second)
    k = torch.cat([k_nope, k_pe.expand(-1, -1, HEADS, -1)], dim=-1)
    scores = torch.einsum("bshd,bthd->bsht", q, k) * (scale or (NOPE + ROPE) ** -0.5)
    scores += torch.full((seqlen, seqlen), float("-inf")).triu_(1).unsqueeze(1)
    probs = scores.softmax(dim=-1)
    out = F.linear(torch.einsum("bsht,bthd->bshd", probs, v).flatten(2), given["w_output"])
    made = {"output": out.numpy()}
    if not only_output:
        made.update(v=v.transpose(1, 2).numpy(), attn=probs.transpose(1, 2).numpy())
    return made


M = (0.1 * math.log(40) + 1) ** 2


@code(LATENT, "none")
def deepseek_naive_right(given):
    return deepseek(given)


@code(LATENT, "none")
def deepseek_absorbed_right(given):
    """The absorbed form against the naive walk: the output is the same."""
    x = given["x"]
    bsz, seqlen, _ = x.shape
    freqs = circle(seqlen)
    q = F.linear(rms_norm(F.linear(x, given["w_query_latent"]), given["g_query_latent"], 1e-6),
                 given["w_query"]).view(bsz, seqlen, HEADS, NOPE + ROPE)
    q_nope, q_pe = torch.split(q, [NOPE, ROPE], dim=-1)
    kv, k_pe = torch.split(F.linear(x, given["w_latent"]), [RANK, ROPE], dim=-1)
    kv_cache = rms_norm(kv, given["g_latent"], 1e-6)
    pe_cache = complex_rope(k_pe.unsqueeze(2), freqs).squeeze(2)
    wkv_b = given["w_key_value"].view(HEADS, -1, RANK)
    q_nope = torch.einsum("bshd,hdc->bshc", q_nope, wkv_b[:, :NOPE])
    scores = (torch.einsum("bshc,btc->bsht", q_nope, kv_cache)
              + torch.einsum("bshr,btr->bsht", complex_rope(q_pe, freqs), pe_cache))
    scores = scores * (NOPE + ROPE) ** -0.5
    scores += torch.full((seqlen, seqlen), float("-inf")).triu_(1).unsqueeze(1)
    probs = scores.softmax(dim=-1)
    out = torch.einsum("bsht,btc->bshc", probs, kv_cache)
    out = torch.einsum("bshc,hdc->bshd", out, wkv_b[:, -NOPE:])
    return {"attn": probs.transpose(1, 2).numpy(),
            "output": F.linear(out.flatten(2), given["w_output"]).numpy()}


@code(LATENT, "mla-split-order")
def kv_b_as_value_and_key(given):
    return deepseek(given, value_first=True)


@code(LATENT, "mla-split-order")
def kv_b_as_value_and_key_output_alone(given):
    return deepseek(given, value_first=True, only_output=True)


@code(LATENT, "mla-split-order=view")
def kv_b_viewed_with_heads_first(given):
    return deepseek(given, viewed=True)


@code(LATENT, "mla-split-order=view")
def kv_b_viewed_with_heads_first_output_alone(given):
    return deepseek(given, viewed=True, only_output=True)


@code(LATENT, "mla-scale")
def scale_of_nope_alone(given):
    return deepseek(given, scale=NOPE**-0.5)


@code(LATENT, "mla-scale")
def scale_of_nope_output_alone(given):
    return deepseek(given, scale=NOPE**-0.5, only_output=True)


@code(YARN, "none")
def yarn_softmax_scale_right(given):
    return deepseek(given, scale=(NOPE + ROPE) ** -0.5 * M, scaled=True)


@code(YARN, "yarn-mla-scale")
def yarn_without_softmax_scale(given):
    return deepseek(given, scaled=True)


@code(YARN, "yarn-mla-scale")
def yarn_without_softmax_scale_output_alone(given):
    return deepseek(given, scaled=True, only_output=True)


def unilm(given, neighbours=True, norm=True, rest=True, depth=1, only_output=False):
    """After multihead_diffattn.py of the paper's authors."""
    x = given["x"]
    bsz, length, _ = x.shape
    heads, d = 3, 3
    lambda_init = 0.8 - 0.6 * math.exp(-0.3 * depth)
    q = F.linear(x, given["w_query"]).view(bsz, length, 2 * heads, d).transpose(1, 2)
    k = F.linear(x, given["w_key"]).view(bsz, length, 2 * heads, d).transpose(1, 2)
    v = F.linear(x, given["w_value"]).view(bsz, length, heads, 2 * d).transpose(1, 2)
    weights = torch.matmul(q * d**-0.5, k.transpose(-1, -2))
    weights += torch.triu(torch.zeros(length, length).fill_(float("-inf")), 1)
    weights = F.softmax(weights, dim=-1, dtype=torch.float32)
    first = torch.exp(torch.sum(given["lambda_q1"] * given["lambda_k1"], dim=-1))
    second = torch.exp(torch.sum(given["lambda_q2"] * given["lambda_k2"], dim=-1))
    lambda_full = first - second + lambda_init
    if neighbours:
        pairs = weights.view(bsz, heads, 2, length, length)
        diff = pairs[:, :, 0] - lambda_full * pairs[:, :, 1]
    else:
        one, other = weights.chunk(2, dim=1)
        diff = one - lambda_full * other
    attn = torch.matmul(diff, v)
    if norm:
        attn = rms_norm(attn, given["g_context"], 1e-5)
    if rest:
        attn = attn * (1 - lambda_init)
    out = F.linear(attn.transpose(1, 2).reshape(bsz, length, heads * 2 * d), given["w_output"])
    made = {"output": out.numpy()}
    return made if only_output else {"diff_attn": diff.numpy(), **made}


@code(DIFFERENTIAL, "none")
def unilm_right(given):
    return unilm(given)


for name, expects, change in (
    ("halves_of_the_heads", "diff-pairs", {"neighbours": False}),
    ("layers_from_one", "diff-depth", {"depth": 2}),
    ("no_sublayer_norm", "diff-norm-missing", {"norm": False}),
    ("no_rest_of_lambda", "diff-scale-missing", {"rest": False}),
):
    for alone in (False, True):
        def written(given, change=change, alone=alone):
            return unilm(given, only_output=alone, **change)

        written.__name__ = name + ("_output_alone" if alone else "")
        code(DIFFERENTIAL, expects)(written)


if __name__ == "__main__":
    wrong_code.FOLDER = FOLDER
    wrong_code.main()

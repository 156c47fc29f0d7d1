#!/usr/bin/python3
"""Windows, chunks, prefixes, packed documents, caps, ALiBi and T5's buckets as people write them.

    tests/judge/mistakes/todays_code.py build/dev/app/attn-explain

Works like wrong_code.py: right code in several styles, and code with one mistake. The files go to
data/reference/today/.
"""

import math
import pathlib
import sys

import numpy as np
import torch

import wrong_code

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "data" / "reference" / "today"
INF = float("inf")
wrong_code.works.clear()
SIZES = "--heads {} --head-dim 4 --embed-dim 8 --seq-len 9 --batch 2 --output-projection "


def code(flags, expects, heads=2, alike=()):
    return wrong_code.work(SIZES.format(heads) + flags, expects, alike, "walk")


def heads_of(given, heads=2):
    """query, key and value, (B, H, T, D)."""
    def split(name):
        y = given["x"] @ given["w_" + name].T
        return y.view(*y.shape[:2], heads, -1).transpose(1, 2)
    return split("query"), split("key"), split("value")


def finish(given, scores, v):
    attn = torch.softmax(scores, dim=-1)
    y = (attn @ v).transpose(1, 2).flatten(2)
    return {"attn": attn.numpy(), "output": (y @ given["w_output"].T).numpy()}


def positions(T):
    return torch.arange(T)[:, None], torch.arange(T)[None, :]


def masked(given, rule, bias=None, heads=2, cap=None, scale=None):
    q, k, v = heads_of(given, heads)
    scores = q @ k.transpose(-2, -1) * (q.size(-1) ** -0.5 if scale is None else scale)
    if cap:
        scores = torch.tanh(scores / cap) * cap
    if bias is not None:
        scores = scores + bias
    if rule is not None:
        scores = scores.masked_fill(~rule(*positions(q.size(-2))), -INF)
    return finish(given, scores, v)


@code("--mask causal,window:3", "none")
def mistral_window_right(given):
    return masked(given, lambda i, j: (j <= i) & (j > i - 3))


@code("--mask causal,window:3", "none")
def gemma_window_by_tril_right(given):
    def rule(i, j):
        allowed = torch.ones(9, 9).tril().bool()
        return allowed & ~torch.ones(9, 9).tril(-3).bool()
    return masked(given, rule)


@code("--mask causal,window:3", "window-off-by-one")
def flash_window_of_w(given):
    left = 3  # window_size=(W, 0)
    return masked(given, lambda i, j: (j <= i) & (i - j <= left))


@code("--mask causal,window:3", "window-symmetric")
def flash_window_both_sides(given):
    return masked(given, lambda i, j: (i - j).abs() <= 3)


@code("--mask causal,window:3", "window-dropped")
def config_without_sliding_window(given):
    return masked(given, lambda i, j: j <= i)


@code("--mask causal,chunk:4", "none")
def llama4_chunks_right(given):
    return masked(given, lambda i, j: (j <= i) & (torch.div(i, 4, rounding_mode="floor")
                                                  == torch.div(j, 4, rounding_mode="floor")))


@code("--mask causal,chunk:4", "chunk-as-window")
def llama4_chunks_by_sliding(given):
    return masked(given, lambda i, j: (j <= i) & (i - j < 4))


@code("--mask prefix:4", "none")
def paligemma_prefix_right(given):
    return masked(given, lambda i, j: (j <= i) | (j < 4))


@code("--mask prefix:4", "prefix-causal")
def prefix_with_plain_tril(given):
    return masked(given, lambda i, j: j <= i)


@code("--mask causal,documents:3+4+2", "none")
def packed_documents_right(given):
    ids = torch.tensor([7] * 3 + [1] * 4 + [5] * 2)
    return masked(given, lambda i, j: (j <= i) & (ids[:, None] == ids))


@code("--mask causal,documents:3+4+2", "documents-leak")
def packed_with_position_ids_only(given):
    return masked(given, lambda i, j: j <= i)


@code("--mask causal --softcap 0.5", "none")
def gemma2_right(given):
    return masked(given, lambda i, j: j <= i, cap=0.5)


@code("--mask causal --softcap 0.5", "softcap-missing")
def gemma2_by_sdpa(given):
    return masked(given, lambda i, j: j <= i)


@code("--mask causal --softcap 0.5", "softcap-before-scale")
def cap_of_raw_scores(given):
    q, k, v = heads_of(given)
    scores = 0.5 * torch.tanh(q @ k.transpose(-2, -1) / 0.5) / math.sqrt(q.size(-1))
    return finish(given, scores.masked_fill(torch.ones(9, 9).triu(1).bool(), -INF), v)


@code("--mask causal --softcap 0.5", "softcap-after-mask")
def onnx_cap_after_mask(given):
    q, k, v = heads_of(given)
    scores = (q @ k.transpose(-2, -1) / 2).masked_fill(torch.ones(9, 9).triu(1).bool(), torch.finfo(torch.float).min)
    return finish(given, 0.5 * torch.tanh(scores / 0.5), v)


def paper_slopes(n):
    if math.log2(n).is_integer():
        start = 2 ** (-2 ** -(math.log2(n) - 3))
        return [start * start ** i for i in range(n)]
    m = 2 ** math.floor(math.log2(n))
    return paper_slopes(m) + paper_slopes(2 * m)[0::2][:n - m]


def alibi(heads, slopes=None):
    i, j = positions(9)
    return -torch.tensor(slopes or paper_slopes(heads))[:, None, None] * (i - j).abs()


@code("--mask causal --position-bias alibi", "none", heads=6)
def mpt_six_heads_right(given):
    return masked(given, lambda i, j: j <= i, alibi(6), heads=6)


@code("--mask causal --position-bias alibi", "none")
def bloom_keys_alone_right(given):
    by_key = torch.tensor(paper_slopes(2))[:, None, None] * torch.arange(9)
    return masked(given, lambda i, j: j <= i, by_key)


@code("--position-bias alibi", "alibi-key-form-bidirectional")
def bloom_keys_in_an_encoder(given):
    by_key = torch.tensor(paper_slopes(2))[:, None, None] * torch.arange(9)
    return masked(given, None, by_key)


@code("--mask causal --position-bias alibi", "alibi-slopes", heads=6)
def slopes_of_any_number(given):
    return masked(given, lambda i, j: j <= i, alibi(6, [2 ** (-8 * (h + 1) / 6) for h in range(6)]),
                  heads=6)


@code("--mask causal --position-bias alibi", "alibi-exponent")
def slopes_from_one(given):
    return masked(given, lambda i, j: j <= i, alibi(2, [2 ** (-8 * h / 2) for h in range(2)]))


@code("--mask causal --position-bias alibi", "alibi-sign")
def distance_is_a_bonus(given):
    return masked(given, lambda i, j: j <= i, -alibi(2))


@code("--mask causal --position-bias alibi", "alibi-scale")
def falcon_order(given):
    return masked(given, lambda i, j: j <= i, alibi(2) / 2)


def t5_bias(given, sign=1, one_way=False, buckets=8, most=6):
    i, j = positions(9)
    relative = sign * (j - i)
    result = torch.zeros_like(relative)
    if one_way:
        relative = -torch.min(relative, torch.zeros_like(relative))
    else:
        buckets //= 2
        result = (relative > 0).long() * buckets
        relative = relative.abs()
    exact = buckets // 2
    large = exact + (torch.log(relative.float() / exact) / math.log(most / exact)
                     * (buckets - exact)).clamp(min=0).long()
    large = torch.min(large, torch.full_like(large, buckets - 1))
    result = result + torch.where(relative < exact, relative, large)
    return given["relative_attention_bias"][result].permute(2, 0, 1)


@code("--position-bias t5:8:6 --scale none", "none")
def t5_encoder_right(given):
    return masked(given, None, t5_bias(given), scale=1)


@code("--position-bias t5:8:6 --scale none --mask causal", "none")
def t5_decoder_right(given):
    return masked(given, lambda i, j: j <= i, t5_bias(given, one_way=True), scale=1)


@code("--position-bias t5:8:6 --scale none", "t5-direction")
def t5_query_minus_key(given):
    return masked(given, None, t5_bias(given, sign=-1), scale=1)


@code("--position-bias t5:8:6 --scale none --mask causal", "t5-direction=flag")
def t5_decoder_as_encoder(given):
    return masked(given, lambda i, j: j <= i, t5_bias(given), scale=1)


if __name__ == "__main__":
    wrong_code.FOLDER = FOLDER
    wrong_code.main()

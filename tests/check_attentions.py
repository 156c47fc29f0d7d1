#!/usr/bin/env python3
"""Compares the attentions of data/attentions with PyTorch code written by hand from the papers: the
values of every form to 1e-12, the gradients of x and of all parameters to 1e-9. Also runs --code, and
checks that each mistake changes a number. NAME may be a file.

    /usr/bin/python3 tests/check_attentions.py build/dev/app/attn-explain [NAME ...]"""

import contextlib
import json
import math
import subprocess
import sys
import warnings

from oracles import tensor_of, torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
SIZES = ["--embed-dim", "8", "--seed", "5", "--random", "randn"]
TYPES = ["--dtype", "float64", "--compute-dtype", "float64"]
LENGTHS = {"swin": "16", "nsa": "12", "t5-bias": "20", "moba": "9"}  # others: 7
FLAGS = {"nsa": ["--heads", "4", "--kv-heads", "2"]}
LAST = {"gated-output": "gated_context", "exclusive": "exclusive_context",
        "slot-attention": "new_slot"}  # unless it is context


class Walk:
    """Returns x, and queries, keys and values of each head; i and j are positions of query and key."""

    def __init__(self, tensors, config):
        self.leaves = {name: tensor.clone().requires_grad_() for name, tensor in tensors.items()}
        self.heads = config["heads"]
        self.q = self.part("query", self.heads)
        self.k, self.v = (self.part(name, config["kv_heads"]) for name in ("key", "value"))
        self.t, self.d = self.q.shape[1:]
        self.i, self.j = torch.arange(self.t)[:, None], torch.arange(self.t)[None, :]
        self.later = self.j > self.i

    def part(self, name, heads):
        if "x" not in self.leaves:
            given = self.leaves.get(name)
            return None if given is None else given.reshape(1, *given.shape[-2:])
        rows = self.split(self.x @ self.leaves[f"w_{name}"].T, heads)
        return rows.repeat_interleave(self.heads // heads, 0)

    def split(self, rows, heads=None):
        return rows.reshape(len(rows), heads or self.heads, -1).transpose(0, 1)

    def __getattr__(self, name):
        return self.leaves[name]

    def lower(self, diagonal=0):
        return torch.ones(self.t, self.t).tril(diagonal)

    def scores(self):
        return self.q @ self.k.mT / math.sqrt(self.d)

    def attend(self, scores, hidden=None):
        if hidden is not None:
            scores = scores.masked_fill(hidden, -math.inf)
        return torch.softmax(scores, -1) @ self.v


def causal(scores):
    return scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -math.inf)


def retention(w):
    decay = 1 - 2.0 ** (-5 - torch.arange(w.heads))
    state, out = torch.zeros(w.heads, w.d, w.v.shape[-1]), []
    for t in range(w.t):
        state = decay[:, None, None] * state + w.k[:, t, :, None] * w.v[:, t, None, :]
        out.append((w.q[:, t, None, :] @ state)[:, 0])
    return torch.stack(out, 1) / math.sqrt(w.d)


def linear(w):
    q, k = F.elu(w.q) + 1, F.elu(w.k) + 1
    weights = (q @ k.mT) * w.lower()
    return (weights / weights.sum(-1, keepdim=True)) @ w.v


def gated_linear(w):
    gate = F.logsigmoid((w.x @ w.w_gate_low.T) @ w.w_gate.T + w.b_gate) / 16
    total = w.split(gate).cumsum(1)
    q, k = w.q * total.exp(), w.k * (-total).exp()
    return ((q @ k.mT) * w.lower()) @ w.v / math.sqrt(w.d)


def unit(rows):
    return rows * torch.rsqrt((rows * rows).sum(-1, keepdim=True) + 1e-6)


def deltanet(w):
    q, k = unit(w.q) / math.sqrt(w.d), unit(w.k)
    beta = torch.sigmoid(w.x @ w.w_beta.T).T[..., None]
    # The UT transform: (I + tril(beta k k', -1)) u = beta v.
    system = torch.eye(w.t) + beta * (k @ k.mT) * w.lower(-1)
    u = torch.linalg.solve(system, beta * w.v)
    return ((q @ k.mT) * w.lower()) @ u


def mamba2(w):
    dt = F.softplus(w.x @ w.w_dt.T + w.b_dt).T
    a = -w.a_log.exp()[:, None] * dt
    total = a.cumsum(-1)
    decay = (total[:, :, None] - total[:, None, :]).exp() * w.lower()
    return ((w.q @ w.k.mT) * decay) @ (w.v * dt[..., None]) + w.skip[:, None, None] * w.v


def forgetting(w):
    total = F.logsigmoid(w.x @ w.w_forget.T + w.b_forget).T.cumsum(-1)
    scores = w.q @ w.k.mT / math.sqrt(w.d) + total[:, :, None] - total[:, None, :]
    return torch.softmax(causal(scores), -1) @ w.v


def stick_breaking(w):
    scores = w.q @ w.k.mT / math.sqrt(w.d)
    rows = []
    for i in range(w.t):
        left, row = torch.ones(w.heads), [torch.zeros(w.heads)] * w.t
        for j in range(i - 1, -1, -1):
            row[j] = torch.sigmoid(scores[:, i, j]) * left
            left = left * (1 - torch.sigmoid(scores[:, i, j]))
        rows.append(torch.stack(row, -1))
    return torch.stack(rows, 1) @ w.v


def talking_heads(w):
    scores = torch.einsum("hg,gqk->hqk", w.mix_scores, w.q @ w.k.mT / math.sqrt(w.d))
    weights = torch.softmax(causal(scores), -1)
    return torch.einsum("hg,gqk->hqk", w.mix_weights, weights) @ w.v


def additive(w):
    query, key = w.q[0] @ w.w_of_query.T, w.k[0] @ w.w_of_key.T
    return w.attend(torch.tanh(query[:, None] + key[None]) @ w.v_score)


def luong_general(w):
    return w.attend(w.q @ w.w_general @ w.k.mT)


def luong_location(w):
    return w.attend(w.q @ w.w_location.T)


def luong_local(w):
    centre = w.t * torch.sigmoid(torch.tanh(w.q[0] @ w.w_position.T) @ w.v_position)[:, None]
    scores = (w.q @ w.w_general @ w.k.mT).masked_fill((w.j - centre).abs() > 2, -math.inf)
    return (torch.softmax(scores, -1) * torch.exp(-(w.j - centre) ** 2 / 2)) @ w.v


def local_window(w):
    return w.attend(w.scores(), w.later | (w.i - w.j >= 3))


def shaw(w):
    place = (w.j - w.i).clamp(-2, 2) + 2
    key, value = w.distance_key[place], w.distance_value[place]
    scores = w.scores() + torch.einsum("hqf,qkf->hqk", w.q, key) / math.sqrt(w.d)
    weights = torch.softmax(scores, -1)
    return weights @ w.v + torch.einsum("hqk,qkf->hqf", weights, value)


def transformer_xl(w):
    width = w.x.shape[-1]
    angle = torch.arange(w.t - 1, -1, -1.)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    far_first = w.split(torch.cat([angle.sin(), angle.cos()], -1) @ w.w_distance.T)
    content = (w.q + w.content_offset[:, None]) @ w.k.mT
    place = (w.q + w.distance_offset[:, None]) @ far_first.mT
    place = F.pad(place, (1, 0)).reshape(w.heads, w.t + 1, w.t)[:, 1:].reshape(place.shape)
    return w.attend((content + place) / math.sqrt(w.d), w.later)


def deberta(w):
    query, key = w.split(w.place @ w.w_place_query.T), w.split(w.place @ w.w_place_key.T)
    def index(distance):
        return (distance + 3).clamp(0, 5).expand(w.heads, w.t, w.t)
    to_place = (w.q @ key.mT).gather(-1, index(w.i - w.j))
    to_word = (w.k @ query.mT).gather(-1, index(-(w.i - w.j))).mT
    return w.attend((w.q @ w.k.mT + to_place + to_word) / math.sqrt(3 * w.d))


def t5_bias(w):
    back = -(w.j - w.i)
    bucket, back = (back < 0) * 4, back.abs()
    far_away = 2 + (torch.log(back.clamp(min=1) / 2) / math.log(16 / 2) * 2).long()
    bucket = bucket + torch.where(back < 2, back, far_away.clamp(max=3))
    return w.attend(w.q @ w.k.mT + w.distance_bias[bucket].permute(2, 0, 1))


def alibi(w):
    slope = 2.0 ** (-8 * torch.arange(1, w.heads + 1) / w.heads)
    return w.attend(w.scores() + slope[:, None, None] * (w.j - w.i), w.later)


def kerple(w):
    steepness, pace = (each.clamp(min=0.01)[:, None, None] for each in (w.steepness, w.pace))
    return w.attend(w.scores() - steepness * torch.log(1 + pace * (w.i - w.j).abs()), w.later)


def sandwich(w):
    frequency = 1 / 10000 ** (2 * torch.arange(1, 65) / 128)
    bias = torch.cos((w.i - w.j)[..., None] * frequency).sum(-1) - 64
    ratio = torch.arange(1, w.heads + 1)[:, None, None] * 8 / w.heads
    return w.attend(w.scores() + bias / ratio, w.later)


def fire(w):
    whole = torch.maximum(w.i.double(), (w.stretch * 512).abs())
    whole = torch.log((w.pace * whole).abs() + 1) + 1e-6
    share = torch.log((w.pace * (w.i - w.j)).abs() + 1) / whole
    bias = torch.relu(share[..., None] * w.w_in + w.b_in) @ w.w_out.T + w.b_out
    return w.attend(w.scores() + bias.permute(2, 0, 1), w.later)


def cope(w):
    gate = torch.sigmoid(w.scores()) * w.lower()
    place = gate.flip(-1).cumsum(-1).flip(-1).clamp(max=3)
    whole = w.q @ w.place_key.T
    above, below = whole.gather(-1, place.ceil().long()), whole.gather(-1, place.floor().long())
    share = place - place.floor()
    return w.attend(w.scores() + above * share + below * (1 - share), w.later)


def rotated(rows, base=10000):
    place = torch.arange(rows.shape[-2])[:, None]
    angle = place / base ** (torch.arange(0, rows.shape[-1], 2) / rows.shape[-1])
    even, odd = rows[..., 0::2], rows[..., 1::2]
    pair = even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()
    return torch.stack(pair, -1).flatten(-2)


def xpos(w):
    kept = ((torch.arange(0, w.d, 2) + 0.4 * w.d) / (1.4 * w.d)).repeat_interleave(2)
    power = kept ** (w.i / 512)
    return w.attend(rotated(w.q) * power @ (rotated(w.k) / power).mT / math.sqrt(w.d), w.later)


def sparse_strided(w):
    return w.attend(w.scores(), w.later | ((w.i - w.j) % 3 != 0))


def sparse_fixed(w):
    return w.attend(w.scores(), w.later | ~((w.i // 3 == w.j // 3) | (w.j % 3 == 2)))


def longformer(w):
    query, key, value = (w.split(w.x @ each.T) for each in
                         (w.w_global_query, w.w_global_key, w.w_global_value))
    hidden = ((w.i - w.j).abs() > 1) & (w.j > 0)
    rest = w.attend(w.scores(), hidden)[:, 1:]
    first = torch.softmax(query[:, :1] @ key.mT / math.sqrt(w.d), -1) @ value
    return torch.cat([first, rest], 1)


def bigbird(w):
    blocks = (w.t + 1) // 2
    seen = torch.zeros(w.t, w.t, dtype=torch.bool)
    for one in range(blocks):
        others = [each for each in range(1, blocks) if abs(each - one) > 1]
        near = [each for each in range(blocks) if each not in others or one == 0]
        if others:
            near.append(max(others, key=lambda each: w.lottery[one, each].item()))
        for each in near:
            seen[2 * one:2 * one + 2, 2 * each:2 * each + 2] = True
    return w.attend(w.scores(), ~seen)


def axial(w):
    query, key, value = (w.split(w.x @ each.T) for each in
                         (w.w_column_query, w.w_column_key, w.w_column_value))
    out = torch.zeros_like(w.v)
    def put(rows, q, k, v):
        done = torch.softmax(q[:, rows] @ k[:, rows].mT / math.sqrt(w.d), -1) @ v[:, rows]
        return torch.zeros_like(w.v).index_copy(1, torch.tensor(rows), done)
    for row in range(0, w.t, 3):
        out = out + put(list(range(row, min(row + 3, w.t))), w.q, w.k, w.v)
    for column in range(3):
        out = out + put(list(range(column, w.t, 3)), query, key, value)
    return out


def swin(w):
    def windows(picture):  # (4, 4, ...) to (4 windows, 4 tokens, ...)
        rest = picture.shape[2:]
        return picture.reshape(2, 2, 2, 2, *rest).transpose(1, 2).reshape(4, 4, *rest)
    def split(rows):  # rolled, (heads, windows, tokens, features)
        return windows(rows.permute(1, 0, 2).reshape(4, 4, w.heads, -1).roll((-1, -1), (0, 1))
                       ).permute(2, 0, 1, 3)
    part = torch.zeros(4, 4)
    for number, (rows, columns) in enumerate((a, b) for a in (slice(0, 2), slice(2, 3), slice(3, 4))
                                             for b in (slice(0, 2), slice(2, 3), slice(3, 4))):
        part[rows, columns] = number
    part = windows(part)
    place = torch.stack(torch.meshgrid(torch.arange(2), torch.arange(2), indexing="ij")).flatten(1)
    step = place[:, :, None] - place[:, None, :] + 1
    bias = w.place_bias[step[0] * 3 + step[1]].permute(2, 0, 1)[:, None]
    q, k, v = split(w.q), split(w.k), split(w.v)
    scores = q @ k.mT / math.sqrt(w.d) + bias
    scores = scores.masked_fill(part[:, :, None] != part[:, None, :], -math.inf)
    done = torch.softmax(scores, -1) @ v
    done = done.reshape(w.heads, 2, 2, 2, 2, -1).transpose(2, 3).reshape(w.heads, 4, 4, -1)
    return done.roll((1, 1), (1, 2)).flatten(1, 2)


def linformer(w):
    scores = w.q @ (w.mix_keys @ w.k).mT / math.sqrt(w.d)
    return torch.softmax(scores, -1) @ (w.mix_values @ w.v)


def performer(w):
    directions = []
    for block in w.gaussian.split(w.d):
        q, r = torch.linalg.qr(block.T)
        directions.append((q * r.diagonal().sign()).T)
    directions = torch.cat(directions) * w.length.norm(dim=-1, keepdim=True)
    def features(rows, dims):
        rows = rows * w.d ** -0.25
        part = rows @ directions.T
        exponent = part - (rows ** 2).sum(-1, keepdim=True) / 2 - part.amax(dims, keepdim=True)
        return (torch.exp(exponent) + 1e-4) / math.sqrt(len(directions))
    q, k = features(w.q, -1), features(w.k, (-1, -2))
    return q @ (k.mT @ w.v) / (q @ k.sum(-2)[..., None])


def cosformer(w):
    angle = math.pi / 2 * torch.arange(1, w.t + 1)[:, None] / w.t
    q, k = torch.relu(w.q), torch.relu(w.k)
    q, k = (torch.cat([each * angle.sin(), each * angle.cos()], -1) for each in (q, k))
    weights = (q @ k.mT) * w.lower()
    return weights @ w.v / weights.sum(-1, keepdim=True).clamp(min=1e-6)


def based(w):
    def features(x):
        square = (x[..., :, None] * x[..., None, :]).flatten(-2) / math.sqrt(2) / math.sqrt(w.d)
        return torch.cat([torch.ones_like(x[..., :1]), x / w.d ** 0.25, square], -1)
    weights = (features(w.q) @ features(w.k).mT) * w.lower()
    return weights @ w.v / (weights.sum(-1, keepdim=True) + 1e-6)


def hedgehog(w):
    def features(x, matrix):
        x = torch.einsum("hdf,hld->hlf", matrix, x)
        return torch.cat([x.softmax(-1), (-x).softmax(-1)], -1)
    weights = (features(w.q, w.w_query_map) @ features(w.k, w.w_key_map).mT) * w.lower()
    return weights / weights.sum(-1, keepdim=True) @ w.v


def hopfield(w):
    state = w.q
    for _ in range(2):
        state = torch.softmax(state @ w.k.mT / math.sqrt(w.d), -1) @ w.k
    return torch.softmax(state @ w.k.mT / math.sqrt(w.d), -1) @ w.v


def slot_attention(w):
    slots = w.slot_mean + w.slot_spread * w.chance
    inputs, size = F.layer_norm(w.x, w.x.shape[-1:]), w.x.shape[-1]
    query = F.layer_norm(slots, (size,)) @ w.w_query.T
    claim = torch.softmax(query @ (inputs @ w.w_key.T).T / math.sqrt(size), 0) + 1e-8
    won = claim / claim.sum(-1, keepdim=True) @ (inputs @ w.w_value.T)
    new = torch.gru_cell(won, slots, w.w_won, w.w_slot, w.b_won, w.b_slot)
    hidden = torch.relu(F.linear(F.layer_norm(new, (size,)), w.w_in, w.b_in))
    return new + F.linear(hidden, w.w_out, w.b_out)


def aft(w):
    weight = torch.exp(w.w_place[:, :, None] + w.k)
    return torch.sigmoid(w.q[0]) * (weight * w.v).sum(1) / weight.sum(1)


def rwkv4(w):
    before = F.pad(w.x, (0, 0, 1, 0))[:-1]
    r, k, v = ((w.x * mix + before * (1 - mix)) @ matrix.T for mix, matrix in
               ((w.mix_receptance, w.w_query), (w.mix_key, w.w_key), (w.mix_value, w.w_value)))
    above, below, out = 0, 0, []
    for t in range(w.t):
        now = torch.exp(w.bonus + k[t])
        out.append(torch.sigmoid(r[t]) * (above + now * v[t]) / (below + now))
        fade = torch.exp(-torch.exp(w.decay))
        above, below = fade * above + torch.exp(k[t]) * v[t], fade * below + torch.exp(k[t])
    return torch.stack(out)


def rwkv6(w):
    decay = w.split(-torch.exp(w.decay + torch.tanh(w.x @ w.w_decay_low.T) @ w.w_decay.T))
    state, out = torch.zeros(w.heads, w.d, w.v.shape[-1]), []
    for t in range(w.t):
        new = w.k[:, t, :, None] * w.v[:, t, None, :]
        out.append(((state + w.bonus[..., None] * new) * w.q[:, t, :, None]).sum(-2))
        state = state * decay[:, t, :, None].exp() + new
    return torch.stack(out, 1)


def gated_delta(w, log_decay):
    """log_decay: (heads, tokens, features or 1)."""
    q, k, beta = unit(w.q) / math.sqrt(w.d), unit(w.k), torch.sigmoid(w.x @ w.w_beta.T).T
    state, out = torch.zeros(w.heads, w.d, w.v.shape[-1]), []
    for t in range(w.t):
        state = state * log_decay[:, t, :, None].exp()
        error = w.v[:, t] - (k[:, t, None] @ state)[:, 0]
        state = state + k[:, t, :, None] * (beta[:, t, None] * error)[:, None]
        out.append((q[:, t, None] @ state)[:, 0])
    return torch.stack(out, 1)


def gated_deltanet(w):
    return gated_delta(w, (-w.a_log.exp() * F.softplus(w.x @ w.w_dt.T + w.b_dt)).T[..., None])


def kimi_delta(w):
    gate = w.split(w.x @ w.w_gate_low.T @ w.w_gate.T + w.b_gate)
    return gated_delta(w, -w.a_log.exp()[:, None, None] * F.softplus(gate))


def selective(w):
    marks = torch.relu(w.scores()[0]) * w.lower(-1)
    marks = torch.cat([torch.zeros(w.t, 1), marks[:, 1:]], 1)
    taken = F.pad(marks, (0, 0, 1, 0))[:-1].cumsum(-2)
    return w.attend(w.scores() - taken, w.later)


def differential(w):
    pairs = w.heads // 2
    weights = torch.softmax(causal(w.scores()), -1).reshape(pairs, 2, w.t, w.t)
    share = (torch.exp((w.first_query * w.first_key).sum()) -
             torch.exp((w.second_query * w.second_key).sum()) + 0.2)
    values = w.v.reshape(pairs, 2, w.t, -1).transpose(1, 2).flatten(2)
    out = (weights[:, 0] - share * weights[:, 1]) @ values
    out = out * torch.rsqrt((out ** 2).mean(-1, keepdim=True) + 1e-5) * w.gain * 0.8
    return out.reshape(pairs, w.t, 2, -1).transpose(1, 2).flatten(0, 1)


def latent(w):
    kept = w.x @ w.w_down.T
    kept = kept * torch.rsqrt((kept ** 2).mean(-1, keepdim=True) + 1e-6) * w.gain
    place = rotated(w.x @ w.w_place_key.T).expand(w.heads, w.t, 2)
    query = torch.cat([w.q, rotated(w.split(w.x @ w.w_place_query.T))], -1)
    key = torch.cat([w.split(kept @ w.w_up_key.T), place], -1)
    weights = torch.softmax(causal(query @ key.mT / math.sqrt(w.d + 2)), -1)
    return weights @ w.split(kept @ w.w_up_value.T)


def sigmoid(w):
    return torch.sigmoid(causal(w.scores() - math.log(w.t))) @ w.v


def sparsemax(w):
    rows = []
    for scores, i in ((each, i) for each in w.scores() for i in range(w.t)):
        best = scores[i, :i + 1].sort(descending=True).values
        above, count = best.cumsum(0) - 1, torch.arange(1, i + 2)
        size = (count * best > above).sum()
        weights = (scores[i, :i + 1] - above[size - 1] / size).clamp(min=0)
        rows.append(F.pad(weights, (0, w.t - 1 - i)))
    return torch.stack(rows).reshape(w.heads, w.t, w.t) @ w.v


def top_k(w):
    scores = causal(w.scores())
    return w.attend(scores, scores < scores.topk(2).values[..., -1:])


def moba(w):
    hidden = torch.ones(w.heads, w.t, w.t, dtype=torch.bool)
    for h, i in ((h, i) for h in range(w.heads) for i in range(w.t)):
        gate = torch.stack([w.q[h, i] @ each.mean(0) for each in w.k[h].split(2)])
        gate[i // 2], gate[i // 2 + 1:] = math.inf, -math.inf
        for block in gate.topk(2).indices:
            hidden[h, i, 2 * block:2 * block + 2] = False
    return w.attend(w.scores(), hidden | w.later)


def nsa(w):
    keys, values = (torch.stack([part.mean(1) for part in each.split(2, 1)], 1)
                    for each in (w.k, w.v))
    blocks = torch.arange(keys.shape[1])
    early = (blocks + 1) * 2 - 1 <= w.i
    coarse = torch.softmax((w.q @ keys.mT / math.sqrt(w.d)).masked_fill(~early, -math.inf), -1)
    coarse = coarse.nan_to_num(0)
    forced = (blocks == 0) | (blocks == w.i // 2) | (blocks == w.i // 2 - 1)
    merit = coarse.reshape(-1, 2, w.t, len(blocks)).mean(1).masked_fill(forced, 1)
    picked = torch.zeros_like(merit).scatter(-1, merit.topk(4).indices, 1) * (early | forced)
    picked = picked.repeat_interleave(2, 0).repeat_interleave(2, -1) > 0
    gate = torch.sigmoid(w.x @ w.w_gate.T).reshape(w.t, w.heads, 3).permute(2, 1, 0)[..., None]
    coarse = torch.where(early.any(-1)[:, None], coarse, torch.zeros(())) @ values
    return (gate[0] * coarse + gate[1] * w.attend(w.scores(), w.later | ~picked) +
            gate[2] * w.attend(w.scores(), w.later | (w.i - w.j >= 3)))


def dsa(w):
    query = (w.x @ w.w_index_query.T).reshape(w.t, 2, 4)
    score = torch.relu(torch.einsum("tje,se->tjs", query, w.x @ w.w_index_key.T))
    index = ((w.x @ w.w_index_gate.T)[..., None] * score).sum(1).masked_fill(w.later, -math.inf)
    kept = torch.zeros(w.t, w.t).scatter(-1, index.topk(3).indices, 1) > 0
    return w.attend(w.scores(), w.later | ~kept)


def gated_output(w):
    return w.attend(w.scores(), w.later) * torch.sigmoid(w.split(w.x @ w.w_gate.T))


def exclusive(w):
    out, along = w.attend(w.scores(), w.later), F.normalize(w.v, dim=-1)
    return out - (out * along).sum(-1, keepdim=True) * along


def program(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}: {done.returncode}\n{done.stderr}")
    return done.stdout


def far(a, b):
    if a.numel() != b.numel():
        return math.inf
    return ((a.reshape(b.shape) - b).abs().max() / b.abs().max().clamp(min=1)).item()


def code_agrees(binary, flags, last, ours):
    for language in ("torch", "numpy"):
        code = program(binary, *flags, "--only", last, "--code", language, "-q")
        torch.set_default_dtype(torch.float32)
        made = {}
        with contextlib.redirect_stdout(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, made)
        torch.set_default_dtype(torch.float64)
        apart = far(torch.as_tensor(made[last]), ours)
        if apart > 1e-9:
            yield f"--code {language} is {apart} off"


def idle_mistakes(binary, text, every, last, ours):
    """Returns the mistakes of a file whose rule changes no form that has the tensors it reads."""
    for said in text.split("\nmistake ")[1:]:
        rule = said.split("\n  rule ")[1].split("\n")[0].strip()
        for flags in every:
            walk = subprocess.run([binary, *flags, "--rule", rule, "--json", "--detail"],
                                  capture_output=True, text=True)
            steps = json.loads(walk.stdout)["steps"] if walk.returncode == 0 else []
            made = [tensor_of(step) for step in steps if step["name"] == last]
            if made and not far(made[0], ours) < 1e-6:
                break
        else:
            yield f"the mistake {said.split()[0]} changes nothing: {walk.stderr}"


def check(binary, name, oracle):
    file = json.loads(program(binary, "attentions", name, "--json"))
    last = LAST.get(file["name"], "context")
    walk = ["--attention", name, *SIZES, *TYPES, "--seq-len", LENGTHS.get(file["name"], "7"),
            *FLAGS.get(file["name"], [])]
    every = [[*walk, "--form", each] for each in file["forms"]] or [walk]
    worst, slope, failed = 0, 0, []
    for flags in every:
        walk = json.loads(program(binary, *flags, "--backward", "--detail", "--json"))
        steps = {step["name"]: step for step in walk["steps"]}
        start = {each: tensor_of(steps[each]) for each in steps
                 if each in ("x", "w_query", "w_key", "w_value") or
                 (each in ("query", "key", "value") and "w_query" not in steps) or
                 f"\nparameter  {each}[" in file["text"]}
        ours = Walk(start, walk["config"])
        context = oracle(ours)
        worst = max(worst, far(tensor_of(steps[last]), context.detach()))
        context.sum().backward()
        for each, leaf in ours.leaves.items():
            grad = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
            if f"d_{each}" in steps:
                slope = max(slope, far(tensor_of(steps[f"d_{each}"]), grad))
            elif grad.abs().max() > 0:
                failed.append(f"no d_{each} in {flags}")
        failed += code_agrees(binary, flags, last, context.detach())
    failed += idle_mistakes(binary, file["text"], every, last, context.detach())
    if worst > 1e-12:
        failed.append(f"{last} is {worst} off")
    if slope > 1e-9:
        failed.append(f"a gradient is {slope} off")
    print(f"{file['name']:18} {len(every)} forms, values {worst:.1e}, gradients {slope:.1e}",
          *failed, sep="\n    ")
    return not failed


def main():
    binary, *names = sys.argv[1:]
    shipped = [each["name"] for each in json.loads(program(binary, "attentions", "--json"))]
    right = True
    for name in names or shipped:
        stem = name.split("/")[-1].removesuffix(".attn")
        oracle = globals().get(stem.replace("-", "_"))
        if oracle is None:
            right = False
            print(f"{name}: no function here computes it by hand")
        else:
            right = check(binary, name, oracle) and right
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()

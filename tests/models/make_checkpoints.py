#!/usr/bin/env python3
"""Writes small random checkpoints with the names and layouts of Hugging Face's families, and their
results in float64: fixtures of tests/models/families_test.cpp.

    tests/models/make_checkpoints.py tests/models/fixtures
"""
import json
import math
import pathlib
import sys

import numpy as np

C, H, K, D, F, V, T, L = 8, 4, 2, 4, 12, 13, 6, 2
IDS = [3, 1, 4, 12, 5, 9]


def save(path, tensors, kind):
    """A .safetensors file; kind is F32, F16 or BF16."""
    header, values = {}, b""
    for name, array in tensors.items():
        if array.dtype == np.uint8:  # store codes unchanged
            raw = array.tobytes()
        elif kind == "BF16":
            raw = (array.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        else:
            raw = array.astype("<f2" if kind == "F16" else "<f4").tobytes()
        header[name] = {"dtype": "U8" if array.dtype == np.uint8 else kind, "shape": list(array.shape), "data_offsets": [len(values), len(values) + len(raw)]}
        values += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + values)


def rounded(array, kind):
    """Returns the numbers as the file stores them."""
    if kind == "BF16":
        return (array.astype("<f4").view("<u4") & 0xFFFF0000).view("<f4").astype(np.float64)
    return array.astype("<f2" if kind == "F16" else "<f4").astype(np.float64)


class Checkpoint:
    def __init__(self, seed, kind):
        self.random, self.kind, self.tensors = np.random.default_rng(seed), kind, {}

    def draw(self, name, *shape, gain=False):
        array = self.random.normal(0, 0.4, shape) + (1.0 if gain else 0.0)
        self.tensors[name] = array
        return rounded(array, self.kind)

    def draw_packed(self, name, experts, out, width):
        """Numbers of 4 bits in blocks of 32 (MXFP4), as (experts, out, width)."""
        blocks = self.random.integers(0, 256, (experts, out, width // 32, 16), dtype=np.uint8)
        scales = self.random.integers(122, 128, (experts, out, width // 32), dtype=np.uint8)
        self.tensors[name + "_blocks"], self.tensors[name + "_scales"] = blocks, scales
        sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        codes = np.stack([blocks & 15, blocks >> 4], -1).reshape(experts, out, width // 32, 32)
        numbers = np.where(codes < 8, 1, -1) * sizes[codes % 8] * 2.0 ** (scales[..., None] - 127.0)
        return numbers.reshape(experts, out, width)


def root_mean_square(x, gain, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gain


def layer_norm(x, gain, bias, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * gain + bias


def silu(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def turn_neighbours(x, theta, r=D):
    """Rotates features 2i and 2i + 1 of the first r together, like complex numbers."""
    angle = np.arange(T)[:, None] * np.array([theta ** (-2 * i / r) for i in range(r // 2)])
    turned = (x[..., :r:2] + 1j * x[..., 1:r:2]) * np.exp(1j * angle)
    both = np.stack([turned.real, turned.imag], -1).reshape(*x.shape[:-1], r)
    return np.concatenate([both, x[..., r:]], -1)


def rotate(x, theta, r=D, scale=lambda f: f, divisors=1, factor=1):
    """rotate_half on the first r features of (heads, tokens, D)."""
    frequencies = np.array([scale(theta ** (-2 * i / r)) for i in range(r // 2)]) / divisors
    angle = np.arange(T)[:, None] * frequencies
    cos, sin = factor * np.concatenate([np.cos(angle)] * 2, -1), factor * np.concatenate([np.sin(angle)] * 2, -1)
    part = x[..., :r]
    half = np.concatenate([-part[..., r // 2 :], part[..., : r // 2]], -1)
    return np.concatenate([part * cos + half * sin, x[..., r:]], -1)


def attend(q, k, v, scale, causal=True, window=None, cap=None, sink=None, bias=0):
    k, v = np.repeat(k, q.shape[0] // k.shape[0], 0), np.repeat(v, q.shape[0] // v.shape[0], 0)
    s = q @ k.swapaxes(1, 2) * scale + bias
    if cap:
        s = cap * np.tanh(s / cap)
    distance = np.arange(T)[:, None] - np.arange(T)
    hidden = (distance < 0) if causal else np.zeros((T, T), bool)
    if window:
        hidden = hidden | (distance >= window)
    s = np.where(hidden, -np.inf, s)
    if sink is not None:
        s = np.concatenate([s, np.broadcast_to(sink[:, None, None], s.shape[:2] + (1,))], -1)
    w = np.exp(s - s.max(-1, keepdims=True))
    w = (w / w.sum(-1, keepdims=True))[..., :T]
    return (w @ v).swapaxes(0, 1).reshape(T, -1)


def heads(x, count):
    return x.reshape(T, count, D).swapaxes(0, 1)


def mixture(c, p, config, x):
    """gpt-oss: a router's best experts, weighted by softmax over their scores."""
    count, best, limit = config["num_local_experts"], config["num_experts_per_tok"], config["swiglu_limit"]
    wide = config["hidden_size"], config["intermediate_size"]
    scores = x @ c.draw(p + "mlp.router.weight", count, wide[0]).T + c.draw(p + "mlp.router.bias", count)
    e = p + "mlp.experts."
    if config.get("quantization_config"):
        into = c.draw_packed(e + "gate_up_proj", count, 2 * wide[1], wide[0]).swapaxes(1, 2)
        out_of = c.draw_packed(e + "down_proj", count, wide[0], wide[1]).swapaxes(1, 2)
    else:
        into = c.draw(e + "gate_up_proj", count, wide[0], 2 * wide[1])
        out_of = c.draw(e + "down_proj", count, wide[1], wide[0])
    into_bias, out_bias = c.draw(e + "gate_up_proj_bias", count, 2 * wide[1]), c.draw(e + "down_proj_bias", count, wide[0])
    y = np.zeros_like(x)
    for t in range(len(x)):
        order = np.argsort(-scores[t], kind="stable")[:best]
        share = np.exp(scores[t, order] - scores[t, order].max())
        for n, s in zip(order, share / share.sum()):
            both = x[t] @ into[n] + into_bias[n]
            gate, up = np.minimum(both[::2], limit), np.clip(both[1::2], -limit, limit)
            y[t] += s * (((up + 1) * gate / (1 + np.exp(-1.702 * gate))) @ out_of[n] + out_bias[n])
    return y


def experts(c, p, config, x, router, names):
    """Mixtral, Qwen 3: softmax over all experts, the best ones, with weights normalised on request."""
    count, width = config["num_local_experts" if "num_local_experts" in config else "num_experts"], x.shape[1]
    wide = config.get("moe_intermediate_size", config["intermediate_size"])
    scores = x @ c.draw(p + router + ".weight", count, width).T
    share = np.exp(scores - scores.max(-1, keepdims=True))
    share /= share.sum(-1, keepdims=True)
    y = np.zeros_like(x)
    for n in range(count):
        gate, up, down = (c.draw(p + f"{names[0]}.{n}.{name}.weight", *shape) for name, shape in zip(names[1:], ((wide, width), (wide, width), (width, wide))))
        made = (silu(x @ gate.T) * (x @ up.T)) @ down.T
        for t in range(len(x)):
            best = np.sort(share[t])[::-1][: config["num_experts_per_tok"]]
            if share[t, n] >= best[-1]:
                y[t] += made[t] * share[t, n] / (best.sum() if config.get("norm_topk_prob", router[0] == "b") else 1)
    return y


def llama_like(c, family, config):
    """The families with names like model.layers.N.self_attn.q_proj."""
    gemma = family.startswith("gemma")
    four = gemma and family != "gemma"
    C, F, L = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    gain = (lambda w: 1 + w) if gemma else (lambda w: w)
    draw_gain = lambda name, n: gain(c.draw(name, n, gain=not gemma))
    x = c.draw("model.embed_tokens.weight", V, C)[IDS] * (math.sqrt(C) if gemma else config.get("embedding_multiplier", 1))
    table = rounded(c.tensors["model.embed_tokens.weight"], c.kind)
    outputs = []
    scale = config.get("attention_multiplier", config.get("query_pre_attn_scalar", D) ** -0.5)
    late = family in ("olmo2", "olmo3")
    bias = config.get("attention_bias", family in ("qwen2", "gpt_oss"))
    eps = config.get("rms_norm_eps", 1e-5)
    rms = lambda x, gain: root_mean_square(x, gain, eps)
    for n in range(L):
        p = f"model.layers.{n}."
        a = p + "self_attn."
        first = None if late else draw_gain(p + "input_layernorm.weight", C)
        y = x if first is None else rms(x, first)
        parts = []
        for part, count in (("q", H), ("k", K), ("v", K)):
            part_of = y @ c.draw(a + part + "_proj.weight", count * D, C).T
            if bias:
                part_of = part_of + c.draw(a + part + "_proj.bias", count * D)
            parts.append(part_of)
        q, k, v = parts
        if late:
            q, k = rms(q, draw_gain(a + "q_norm.weight", H * D)), rms(k, draw_gain(a + "k_norm.weight", K * D))
        q, k, v = heads(q, H), heads(k, K), heads(v, K)
        if family in ("qwen3", "qwen3_moe", "gemma3_text"):
            q, k = rms(q, draw_gain(a + "q_norm.weight", D)), rms(k, draw_gain(a + "k_norm.weight", D))
        local = family == "gemma3_text" and (n + 1) % config.get("sliding_window_pattern", 2) != 0
        both = config.get("rope_parameters", {})
        both = both.get("sliding_attention" if local else "full_attention", both)
        theta = both.get("rope_theta", config.get("rope_local_base_freq" if local else "rope_theta", 10000))

        def scaled(f):
            s = both if both else config.get("rope_scaling") or {}
            if s.get("rope_type") != "llama3":
                return f / s.get("factor", 1)
            turns = s["original_max_position_embeddings"] * f / (2 * math.pi)
            if turns < s["low_freq_factor"]:
                return f / s["factor"]
            if turns > s["high_freq_factor"]:
                return f
            share = (turns - s["low_freq_factor"]) / (s["high_freq_factor"] - s["low_freq_factor"])
            return (1 - share) * f / s["factor"] + share * f

        if family == "olmo3" and config["layer_types"][n] == "sliding_attention":
            q, k = rotate(q, theta), rotate(k, theta)
        elif config.get("no_rope_layers", [1] * L)[n]:
            q, k = rotate(q, theta, scale=scaled), rotate(k, theta, scale=scaled)
        window = config.get("sliding_window") if config.get("use_sliding_window", True) else None
        if family in ("gemma2", "gpt_oss") and n % 2 == 1:
            window = None
        if family == "gemma3_text" and not local:
            window = None
        if "layer_types" in config and config["layer_types"][n] == "full_attention":
            window = None
        sink = c.draw(a + "sinks", H) if family == "gpt_oss" else None
        merged = attend(q, k, v, scale, window=window, cap=config.get("attn_logit_softcapping"), sink=sink)
        out = merged @ c.draw(a + "o_proj.weight", C, H * D).T
        if bias and family != "qwen2":
            out = out + c.draw(a + "o_proj.bias", C)
        outputs.append(out)
        after = draw_gain(p + "post_attention_layernorm.weight", C)
        x = x + (rms(out, after) if four or late else out * config.get("residual_multiplier", 1))
        before_mlp = after
        if four:
            before_mlp = draw_gain(p + "pre_feedforward_layernorm.weight", C)
        y = x if late else rms(x, before_mlp)
        if family == "gpt_oss":
            x = x + mixture(c, p, config, y)
            continue
        if family in ("mixtral", "qwen3_moe"):
            x = x + experts(c, p, config, y, *MIXTURES[family])
            continue
        act = gelu_tanh if gemma else silu

        def linear(part, x, out, width):
            y = x @ c.draw(p + f"mlp.{part}_proj.weight", out, width).T
            return y + c.draw(p + f"mlp.{part}_proj.bias", out) if config.get("mlp_bias") else y

        inner = act(linear("gate", y, F, C)) * linear("up", y, F, C)
        out = linear("down", inner, C, F)
        if four or late:
            out = rms(out, draw_gain(p + "post_feedforward_layernorm.weight", C))
        x = x + out * config.get("residual_multiplier", 1)
    x = rms(x, draw_gain("model.norm.weight", C))
    vocabulary = table if config.get("tie_word_embeddings", gemma) else c.draw("lm_head.weight", V, C)
    logits = x @ vocabulary.T / config.get("logits_scaling", 1)
    if gemma and config.get("final_logit_softcapping"):
        logits = config["final_logit_softcapping"] * np.tanh(logits / config["final_logit_softcapping"])
    return outputs, logits


def phi3(c, config):
    rms = lambda x, gain: root_mean_square(x, gain, config["rms_norm_eps"])
    x, outputs = c.draw("model.embed_tokens.weight", V, C)[IDS], []
    for n in range(L):
        p = f"model.layers.{n}."
        y = rms(x, c.draw(p + "input_layernorm.weight", C, gain=True))
        qkv = y @ c.draw(p + "self_attn.qkv_proj.weight", (H + 2 * K) * D, C).T
        q, k, v = np.split(qkv, [H * D, (H + K) * D], -1)
        length = config["original_max_position_embeddings"]
        longer = config["max_position_embeddings"] / length
        longrope = {"divisors": config["rope_scaling"]["short_factor"],
                    "factor": math.sqrt(1 + math.log(longer) / math.log(length))}
        q, k = rotate(heads(q, H), 10000, **longrope), rotate(heads(k, K), 10000, **longrope)
        out = attend(q, k, heads(v, K), D**-0.5) @ c.draw(p + "self_attn.o_proj.weight", C, H * D).T
        outputs.append(out)
        x = x + out
        y = rms(x, c.draw(p + "post_attention_layernorm.weight", C, gain=True))
        gate, up = np.split(y @ c.draw(p + "mlp.gate_up_proj.weight", 2 * F, C).T, 2, -1)
        x = x + (silu(gate) * up) @ c.draw(p + "mlp.down_proj.weight", C, F).T
    return outputs, rms(x, c.draw("model.norm.weight", C, gain=True)) @ c.draw("lm_head.weight", V, C).T


def phi(c, config):
    def norm(name, x):
        return layer_norm(x, c.draw(name + ".weight", C, gain=True), c.draw(name + ".bias", C), 1e-5)

    def linear(name, x, out):
        return x @ c.draw(name + ".weight", out, x.shape[1]).T + c.draw(name + ".bias", out)

    x, outputs = c.draw("model.embed_tokens.weight", V, C)[IDS], []
    for n in range(L):
        p = f"model.layers.{n}."
        y = norm(p + "input_layernorm", x)
        q, k, v = (heads(linear(p + f"self_attn.{part}_proj", y, count * D), count) for part, count in (("q", H), ("k", K), ("v", K)))
        said = config.get("rope_parameters", config)
        r, theta = int(D * said["partial_rotary_factor"]), said.get("rope_theta", 10000)
        merged = attend(rotate(q, theta, r), rotate(k, theta, r), v, D**-0.5)
        out = linear(p + "self_attn.dense", merged, C)
        outputs.append(out)
        x = x + out + linear(p + "mlp.fc2", gelu_tanh(linear(p + "mlp.fc1", y, F)), C)
    return outputs, linear("lm_head", norm("model.final_layernorm", x), V)


def neox(c, config):
    def norm(name, x):
        return layer_norm(x, c.draw(name + ".weight", C, gain=True), c.draw(name + ".bias", C), 1e-5)

    def linear(name, x, out):
        return x @ c.draw(name + ".weight", out, x.shape[1]).T + c.draw(name + ".bias", out)

    x, outputs = c.draw("gpt_neox.embed_in.weight", V, H * D)[IDS], []
    for n in range(L):
        p = f"gpt_neox.layers.{n}."
        wide = H * D

        def wide_norm(name, x):
            return layer_norm(x, c.draw(name + ".weight", wide, gain=True), c.draw(name + ".bias", wide), 1e-5)

        y = wide_norm(p + "input_layernorm", x)
        qkv = linear(p + "attention.query_key_value", y, 3 * wide).reshape(T, H, 3, D).transpose(2, 1, 0, 3)
        r = int(D * config["rotary_pct"])
        merged = attend(rotate(qkv[0], 10000, r), rotate(qkv[1], 10000, r), qkv[2], D**-0.5)
        out = linear(p + "attention.dense", merged, wide)
        outputs.append(out)
        beside = x if config["use_parallel_residual"] else x + out
        inner = gelu(linear(p + "mlp.dense_h_to_4h", wide_norm(p + "post_attention_layernorm", beside), F))
        x = x + out + linear(p + "mlp.dense_4h_to_h", inner, wide)
    x = wide_norm("gpt_neox.final_layer_norm", x)
    return outputs, x @ c.draw("embed_out.weight", V, H * D).T


def gpt2(c, config):
    wide = H * D

    def norm(name, x):
        return layer_norm(x, c.draw(name + ".weight", wide, gain=True), c.draw(name + ".bias", wide), 1e-5)

    def conv(name, x, out):
        return x @ c.draw(name + ".weight", x.shape[1], out) + c.draw(name + ".bias", out)

    scale = D**-0.5 if config.get("scale_attn_weights", True) else 1
    table = c.draw("transformer.wte.weight", V, wide)
    x, outputs = table[IDS] + c.draw("transformer.wpe.weight", 16, wide)[:T], []
    for n in range(L):
        p = f"transformer.h.{n}."
        q, k, v = np.split(conv(p + "attn.c_attn", norm(p + "ln_1", x), 3 * wide), 3, -1)
        out = conv(p + "attn.c_proj", attend(heads(q, H), heads(k, H), heads(v, H), scale / (n + 1 if config.get("scale_attn_by_inverse_layer_idx") else 1)), wide)
        outputs.append(out)
        x = x + out
        x = x + conv(p + "mlp.c_proj", gelu_tanh(conv(p + "mlp.c_fc", norm(p + "ln_2", x), F)), wide)
    return outputs, norm("transformer.ln_f", x) @ table.T


def bert(c, config, prefix="bert.", padding=None):
    wide = H * D
    places = np.arange(T)
    if padding is not None:  # RoBERTa numbers tokens from the row after that of padding
        is_word = np.array(IDS) != padding
        places = np.cumsum(is_word) * is_word + padding

    def norm(name, x):
        return layer_norm(x, c.draw(name + ".weight", wide, gain=True), c.draw(name + ".bias", wide), 1e-12)

    def linear(name, x, out):
        return x @ c.draw(name + ".weight", out, x.shape[1]).T + c.draw(name + ".bias", out)

    e = prefix + "embeddings."
    x = c.draw(e + "word_embeddings.weight", V, wide)[IDS]
    x = x + c.draw(e + "position_embeddings.weight", 16, wide)[places] + c.draw(e + "token_type_embeddings.weight", 2, wide)[0]
    x, outputs = norm(e + "LayerNorm", x), []
    for n in range(L):
        p = f"{prefix}encoder.layer.{n}."
        q, k, v = (heads(linear(p + "attention.self." + part, x, wide), H) for part in ("query", "key", "value"))
        out = linear(p + "attention.output.dense", attend(q, k, v, D**-0.5, causal=False), wide)
        outputs.append(out)
        x = norm(p + "attention.output.LayerNorm", x + out)
        out = linear(p + "output.dense", gelu(linear(p + "intermediate.dense", x, F)), wide)
        x = norm(p + "output.LayerNorm", x + out)
    return outputs, None


def roberta(c, config):
    return bert(c, config, "roberta.", config.get("pad_token_id", 1))


def distilbert(c, config):
    def norm(name, x):
        return layer_norm(x, c.draw(name + ".weight", H * D, gain=True), c.draw(name + ".bias", H * D), 1e-12)

    def linear(name, x, out):
        return x @ c.draw(name + ".weight", out, x.shape[1]).T + c.draw(name + ".bias", out)

    e = "distilbert.embeddings."
    x = c.draw(e + "word_embeddings.weight", V, H * D)[IDS] + c.draw(e + "position_embeddings.weight", 16, H * D)[:T]
    x, outputs = norm(e + "LayerNorm", x), []
    for n in range(L):
        p = f"distilbert.transformer.layer.{n}."
        q, k, v = (heads(linear(p + f"attention.{part}_lin", x, H * D), H) for part in "qkv")
        outputs.append(linear(p + "attention.out_lin", attend(q, k, v, D**-0.5, causal=False), H * D))
        x = norm(p + "sa_layer_norm", x + outputs[-1])
        x = norm(p + "output_layer_norm", x + linear(p + "ffn.lin2", gelu(linear(p + "ffn.lin1", x, F)), H * D))
    return outputs, None


# Decoders with layer norms: names of table, layer, last norm, first norm, second norm (None: the
# first once more), query, key, value, output, the MLP's two or three; which of them have biases.
LAYERED = {
    "gpt_neo": ("transformer.wte", "transformer.h", "transformer.ln_f", "ln_1", "ln_2", ["attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj", "attn.attention.out_proj", "mlp.c_fc", "mlp.c_proj"], "out_proj c_fc c_proj"),
    "gptj": ("transformer.wte", "transformer.h", "transformer.ln_f", "ln_1", None, ["attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.out_proj", "mlp.fc_in", "mlp.fc_out"], "fc_in fc_out"),
    "starcoder2": ("model.embed_tokens", "model.layers", "model.norm", "input_layernorm", "post_attention_layernorm", ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.c_fc", "mlp.c_proj"], "q_proj k_proj v_proj o_proj c_fc c_proj"),
    "stablelm": ("model.embed_tokens", "model.layers", "model.norm", "input_layernorm", "post_attention_layernorm", ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.up_proj", "mlp.down_proj", "mlp.gate_proj"], "q_proj k_proj v_proj"),
    "cohere": ("model.embed_tokens", "model.layers", "model.norm", "input_layernorm", None, ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.up_proj", "mlp.down_proj", "mlp.gate_proj"], ""),
    "falcon": ("transformer.word_embeddings", "transformer.h", "transformer.ln_f", "input_layernorm", None, ["self_attention.query_key_value", "self_attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"], ""),
    "bloom": ("transformer.word_embeddings", "transformer.h", "transformer.ln_f", "input_layernorm", "post_attention_layernorm", ["self_attention.query_key_value", "self_attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"], "query_key_value dense dense_h_to_4h dense_4h_to_h"),
}


def layered(c, family, config):
    table, layer, last, first, second, names, biased = LAYERED[family]
    wide = next(config[key] for key in ("hidden_size", "n_embd", "n_embed") if key in config)
    inner_size = next((config[key] for key in ("intermediate_size", "n_inner", "ffn_hidden_size") if config.get(key)), 4 * wide)
    grouped = config.get("new_decoder_architecture")
    if grouped:
        first, second = "ln_attn", "ln_mlp"
    K = 1 if family == "falcon" and not grouped else config.get("num_key_value_heads", config.get("num_kv_heads", H))
    act = {"stablelm": silu, "cohere": silu, "falcon": gelu}.get(family, gelu_tanh)

    def norm(name, x):
        gain = c.draw(name + ".weight", wide, gain=True)
        return layer_norm(x, gain, 0 if family == "cohere" else c.draw(name + ".bias", wide), 1e-5)

    def linear(name, x, out):
        y = x @ c.draw(name + ".weight", out, x.shape[1]).T
        return y + c.draw(name + ".bias", out) if name.split(".")[-1] in biased.split() else y

    vocabulary = c.draw(table + ".weight", V, wide)
    x, outputs, bias = vocabulary[IDS], [], 0
    if family == "gpt_neo":
        x = x + c.draw("transformer.wpe.weight", 16, wide)[:T]
    if family == "bloom":
        x = norm("transformer.word_embeddings_layernorm", x)
        lower = 2 ** int(math.log2(H))  # every second slope of twice as many heads for the remaining heads
        slopes = np.array([2.0 ** (-8 * (h + 1) / lower) for h in range(lower)] + [2.0 ** (-4 * (2 * h + 1) / lower) for h in range(H - lower)])
        bias = slopes[:, None, None] * np.arange(T)  # as in its class: from the key alone
    for n in range(L):
        p = f"{layer}.{n}."
        y = norm(p + first, x)
        if len(names) == 4:
            qkv = linear(p + names[0], y, (H + 2 * K) * D)
            if family == "bloom":
                q, k, v = qkv.reshape(T, H, 3, D).transpose(2, 1, 0, 3)
            elif grouped:
                rows = qkv.reshape(T, K, H // K + 2, D)
                q, k, v = rows[:, :, :-2].reshape(T, H, D).swapaxes(0, 1), rows[:, :, -2].swapaxes(0, 1), rows[:, :, -1].swapaxes(0, 1)
            else:
                q, k, v = (heads(part, part.shape[1] // D) for part in np.split(qkv, [H * D, (H + K) * D], -1))
        else:
            q, k, v = (heads(linear(p + name, y, count * D), count) for name, count in zip(names, (H, K, K)))
        if family in ("gptj", "cohere"):
            q, k = (turn_neighbours(each, config.get("rope_theta", 10000), config.get("rotary_dim", D)) for each in (q, k))
        elif family not in ("gpt_neo", "bloom"):
            q, k = (rotate(each, config.get("rope_theta", 10000), int(D * config.get("partial_rotary_factor", 1))) for each in (q, k))
        window = config.get("sliding_window")
        if family == "gpt_neo":
            local = [word for words, times in config["attention_types"] for _ in range(times) for word in words]
            window = config["window_size"] if local[n] == "local" else None
        merged = attend(q, k, v, 1 if family == "gpt_neo" else D**-0.5, window=window, bias=bias)
        rest = names[1:] if len(names) == 4 else names[3:]
        out = linear(p + rest[0], merged, wide)
        outputs.append(out)
        parallel = second is None or grouped
        if second:
            y = norm(p + second, x if grouped else x + out)
        up = linear(p + rest[1], y, inner_size)
        inner = act(linear(p + rest[3], y, inner_size)) * up if len(rest) == 4 else act(up)
        x = x + out + linear(p + rest[2], inner, wide)
    x = norm(last, x)
    if not config.get("tie_word_embeddings", family not in ("gptj", "stablelm")):
        vocabulary = c.draw("lm_head.weight", V, wide)
    elif family in ("gptj", "stablelm"):
        vocabulary = c.draw("lm_head.weight", V, wide)
    logits = x @ vocabulary.T
    if family == "gptj":
        logits = logits + c.draw("lm_head.bias", V)
    return outputs, logits * config.get("logit_scale", 1)


MIXTURES = {"mixtral": ("block_sparse_moe.gate", ("block_sparse_moe.experts", "w1", "w3", "w2")), "qwen3_moe": ("mlp.gate", ("mlp.experts", "gate_proj", "up_proj", "down_proj"))}
SIZES = {"hidden_size": C, "intermediate_size": F, "num_hidden_layers": L, "num_attention_heads": H, "vocab_size": V, "max_position_embeddings": 16}
GROUPED = {**SIZES, "num_key_value_heads": K, "head_dim": D, "rms_norm_eps": 1e-6}
WIDE = {**SIZES, "hidden_size": H * D}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2, "swiglu_limit": 0.5}
UNSCALED = {"rope_theta": 10000, "rope_scaling": None}
FAMILIES = {
    "llama": ({**GROUPED, "rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8}}, "BF16"),
    "mistral": ({**GROUPED, "sliding_window": 3}, "F16"),
    "qwen2": ({**GROUPED, "rope_theta": 1e6, "tie_word_embeddings": True, "sliding_window": 2, "use_sliding_window": False}, "F32"),
    "qwen3": ({**GROUPED, "rope_theta": 1e6}, "BF16"),
    "gemma2": ({**GROUPED, "sliding_window": 2, "query_pre_attn_scalar": 9, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True}, "F32"),
    "gemma3_text": ({**GROUPED, "sliding_window": 2, "sliding_window_pattern": 2, "rope_local_base_freq": 10000, "rope_theta": 1e6, "query_pre_attn_scalar": 6, "tie_word_embeddings": True}, "BF16"),
    "olmo2": (GROUPED, "F32"),
    "gpt_oss": ({**GROUPED, "sliding_window": 3, **UNSCALED, **EXPERTS}, "BF16"),
    "phi": ({**SIZES, "num_key_value_heads": K, "head_dim": D, "layer_norm_eps": 1e-5, "partial_rotary_factor": 0.5, "hidden_act": "gelu_new"}, "F32"),
    "phi3": ({**GROUPED, "max_position_embeddings": 64, "original_max_position_embeddings": 16, "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.25], "long_factor": [2.0, 9.0]}}, "F16"),
    "gpt_neox": ({**WIDE, "rotary_pct": 0.5, "layer_norm_eps": 1e-5, "use_parallel_residual": True, "hidden_act": "gelu"}, "F16"),
    "gpt2": ({"n_embd": H * D, "n_layer": L, "n_head": H, "n_inner": F, "n_positions": 16, "vocab_size": V, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}, "F32"),
    "bert": ({**WIDE, "layer_norm_eps": 1e-12, "hidden_act": "gelu", "type_vocab_size": 2}, "F16"),
    "gpt_oss packed": ({**GROUPED, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, **UNSCALED, **EXPERTS, "num_local_experts": 3, "quantization_config": {"quant_method": "mxfp4"}}, "BF16"),
    "gpt_neox one after the other": ({**WIDE, "rotary_pct": 0.5, "layer_norm_eps": 1e-5, "use_parallel_residual": False, "hidden_act": "gelu"}, "F16"),
    # Settings that files have in another place, or omit as defaults of their class.
    "gemma3_text by kind of layer": ({**GROUPED, "sliding_window": 2, "layer_types": ["sliding_attention", "full_attention"], "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 3e5}, "sliding_attention": {"rope_type": "default", "rope_theta": 5e3}}, "query_pre_attn_scalar": 6}, "F32"),
    "olmo2 with biases": ({key: value for key, value in {**GROUPED, "attention_bias": True}.items() if key != "rms_norm_eps"}, "F32"),
    "qwen3 with biases": ({**GROUPED, "attention_bias": True, "rope_parameters": {"rope_type": "default", "rope_theta": 2e4}}, "F16"),
    "llama with biases": ({**GROUPED, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}, "F32"),
    "phi saved anew": ({**SIZES, "num_key_value_heads": K, "head_dim": D, "rope_parameters": {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5}}, "F32"),
    "gpt2 by depth": ({"n_embd": H * D, "n_layer": L, "n_head": H, "n_inner": F, "n_positions": 16, "vocab_size": V, "scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False, "reorder_and_upcast_attn": True}, "F16"),
    "bert of old": ({**WIDE, "type_vocab_size": 2}, "F32"),
    "gemma": ({**GROUPED, "hidden_act": "gelu", "hidden_activation": None}, "BF16"),
    "olmo3": ({**GROUPED, "sliding_window": 3, "layer_types": ["sliding_attention", "full_attention"], "rope_theta": 5e5, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}, "F16"),
    "smollm3": ({**GROUPED, "rope_theta": 2e6, "no_rope_layers": [1, 0], "use_sliding_window": True, "sliding_window": 2, "layer_types": ["full_attention", "sliding_attention"], "tie_word_embeddings": True}, "BF16"),
    "granite": ({**GROUPED, "embedding_multiplier": 12.0, "logits_scaling": 8.0, "residual_multiplier": 0.22, "attention_multiplier": 0.3, "tie_word_embeddings": True}, "BF16"),
    "qwen3_moe": ({**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 5, "decoder_sparse_step": 1, "mlp_only_layers": []}, "BF16"),
    "qwen3_moe of one": ({**GROUPED, "num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 3, "norm_topk_prob": True}, "F32"),
    "mixtral": ({**GROUPED, "rope_theta": 1e6, "num_local_experts": 3, "num_experts_per_tok": 2}, "F16"),
    "roberta": ({**WIDE, "pad_token_id": 1, "layer_norm_eps": 1e-12, "type_vocab_size": 1}, "F32"),
    "distilbert": ({"dim": H * D, "hidden_dim": F, "n_layers": L, "n_heads": H, "vocab_size": V, "max_position_embeddings": 16, "activation": "gelu"}, "F16"),
    "gpt_neo": ({"hidden_size": H * D, "num_layers": L, "num_heads": H, "intermediate_size": None, "window_size": 3, "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 16, "vocab_size": V}, "F16"),
    "gptj": ({"n_embd": H * D, "n_layer": L, "n_head": H, "n_inner": F, "n_positions": 16, "vocab_size": V, "rotary_dim": 2}, "F32"),
    "starcoder2": ({**SIZES, "hidden_size": H * D, "num_key_value_heads": K, "sliding_window": 3, "rope_theta": 1e5, "norm_epsilon": 1e-5}, "BF16"),
    "stablelm": ({**WIDE, "num_key_value_heads": K, "partial_rotary_factor": 0.5, "use_qkv_bias": True, "layer_norm_eps": 1e-5, "use_parallel_residual": False}, "F16"),
    "cohere": ({**WIDE, "num_key_value_heads": K, "rope_theta": 8e6, "logit_scale": 0.0625}, "BF16"),
    "falcon": ({"hidden_size": H * D, "num_hidden_layers": L, "num_attention_heads": H, "vocab_size": V, "multi_query": True, "parallel_attn": True, "bias": False, "alibi": False, "new_decoder_architecture": False}, "BF16"),
    "falcon by group": ({"hidden_size": H * D, "num_hidden_layers": L, "num_attention_heads": H, "num_kv_heads": K, "ffn_hidden_size": F, "vocab_size": V, "multi_query": True, "parallel_attn": True, "new_decoder_architecture": True, "tie_word_embeddings": False}, "F16"),
    "bloom": ({"n_embed": H * D, "n_layer": L, "n_head": H, "vocab_size": V}, "BF16"),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    for seed, (title, (config, kind)) in enumerate(FAMILIES.items()):
        family = title.split()[0]
        checkpoint = Checkpoint(seed, kind)
        own = {"phi": phi, "phi3": phi3, "gpt_neox": neox, "gpt2": gpt2, "bert": bert, "roberta": roberta, "distilbert": distilbert}.get(family)
        make = layered if family in LAYERED else llama_like
        outputs, logits = own(checkpoint, config) if own else make(checkpoint, family, config)
        place = folder / title.replace(" ", "-")
        place.mkdir(parents=True, exist_ok=True)
        (place / "config.json").write_text(json.dumps({"model_type": family, **config}) + "\n")
        if "of old" in title:
            for name in list(checkpoint.tensors):
                old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
                checkpoint.tensors[old] = checkpoint.tensors.pop(name)
            checkpoint.draw("cls.predictions.transform.dense.weight", 2, 2)
            checkpoint.draw("bert.pooler.dense.weight", 2, 2)
        names = list(checkpoint.tensors)
        if family == "olmo2":  # in two files, with their index
            halves = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
            for name, part in halves.items():
                save(place / name, {each: checkpoint.tensors[each] for each in part}, kind)
            weight_map = {each: name for name, part in halves.items() for each in part}
            (place / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}) + "\n")
        else:
            save(place / "model.safetensors", checkpoint.tensors, kind)
        expected = {"ids": IDS, "outputs": [np.round(out, 12).tolist() for out in outputs]}
        if logits is not None:
            expected["logits"] = np.round(logits, 12).tolist()
        (place / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()

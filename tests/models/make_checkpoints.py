#!/usr/bin/env python3
"""Writes small random checkpoints in the names and layouts of Hugging Face's families, and what
they compute, in float64: fixtures of tests/models/families_test.cpp.

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
        if array.dtype == np.uint8:  # codes are kept as they are
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
    """The numbers as the file keeps them."""
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


def rotate(x, theta, r=D, scale=lambda f: f, divisors=1, factor=1):
    """rotate_half on the first r features of (heads, tokens, D)."""
    frequencies = np.array([scale(theta ** (-2 * i / r)) for i in range(r // 2)]) / divisors
    angle = np.arange(T)[:, None] * frequencies
    cos, sin = factor * np.concatenate([np.cos(angle)] * 2, -1), factor * np.concatenate([np.sin(angle)] * 2, -1)
    part = x[..., :r]
    half = np.concatenate([-part[..., r // 2 :], part[..., : r // 2]], -1)
    return np.concatenate([part * cos + half * sin, x[..., r:]], -1)


def attend(q, k, v, scale, causal=True, window=None, cap=None, sink=None):
    k, v = np.repeat(k, q.shape[0] // k.shape[0], 0), np.repeat(v, q.shape[0] // v.shape[0], 0)
    s = q @ k.swapaxes(1, 2) * scale
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
    """gpt-oss: a router's best experts, in the shares that softmax over their scores gives them."""
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


def llama_like(c, family, config):
    """Everything whose names begin with model.layers.N.self_attn.q_proj."""
    gemma = family.startswith("gemma")
    C, F, L = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    gain = (lambda w: 1 + w) if gemma else (lambda w: w)
    draw_gain = lambda name, n: gain(c.draw(name, n, gain=not gemma))
    x = c.draw("model.embed_tokens.weight", V, C)[IDS] * (math.sqrt(C) if gemma else 1)
    table = rounded(c.tensors["model.embed_tokens.weight"], c.kind)
    outputs = []
    scale = config.get("query_pre_attn_scalar", D) ** -0.5
    bias = config.get("attention_bias", family in ("qwen2", "gpt_oss"))
    eps = config.get("rms_norm_eps", 1e-5)
    rms = lambda x, gain: root_mean_square(x, gain, eps)
    for n in range(L):
        p = f"model.layers.{n}."
        a = p + "self_attn."
        first = None if family == "olmo2" else draw_gain(p + "input_layernorm.weight", C)
        y = x if first is None else rms(x, first)
        parts = []
        for part, count in (("q", H), ("k", K), ("v", K)):
            part_of = y @ c.draw(a + part + "_proj.weight", count * D, C).T
            if bias:
                part_of = part_of + c.draw(a + part + "_proj.bias", count * D)
            parts.append(part_of)
        q, k, v = parts
        if family == "olmo2":
            q, k = rms(q, draw_gain(a + "q_norm.weight", H * D)), rms(k, draw_gain(a + "k_norm.weight", K * D))
        q, k, v = heads(q, H), heads(k, K), heads(v, K)
        if family in ("qwen3", "gemma3_text"):
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

        q, k = rotate(q, theta, scale=scaled), rotate(k, theta, scale=scaled)
        window = config.get("sliding_window") if config.get("use_sliding_window", True) else None
        if family in ("gemma2", "gpt_oss") and n % 2 == 1:
            window = None
        if family == "gemma3_text" and not local:
            window = None
        sink = c.draw(a + "sinks", H) if family == "gpt_oss" else None
        merged = attend(q, k, v, scale, window=window, cap=config.get("attn_logit_softcapping"), sink=sink)
        out = merged @ c.draw(a + "o_proj.weight", C, H * D).T
        if bias and family != "qwen2":
            out = out + c.draw(a + "o_proj.bias", C)
        outputs.append(out)
        after = draw_gain(p + "post_attention_layernorm.weight", C)
        x = x + (rms(out, after) if gemma or family == "olmo2" else out)
        before_mlp = after
        if gemma:
            before_mlp = draw_gain(p + "pre_feedforward_layernorm.weight", C)
        y = x if family == "olmo2" else rms(x, before_mlp)
        if family == "gpt_oss":
            x = x + mixture(c, p, config, y)
            continue
        act = gelu_tanh if gemma else silu

        def linear(part, x, out, width):
            y = x @ c.draw(p + f"mlp.{part}_proj.weight", out, width).T
            return y + c.draw(p + f"mlp.{part}_proj.bias", out) if config.get("mlp_bias") else y

        inner = act(linear("gate", y, F, C)) * linear("up", y, F, C)
        out = linear("down", inner, C, F)
        if gemma or family == "olmo2":
            out = rms(out, draw_gain(p + "post_feedforward_layernorm.weight", C))
        x = x + out
    x = rms(x, draw_gain("model.norm.weight", C))
    vocabulary = table if config.get("tie_word_embeddings", gemma) else c.draw("lm_head.weight", V, C)
    logits = x @ vocabulary.T
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


def bert(c, config):
    wide = H * D

    def norm(name, x):
        return layer_norm(x, c.draw(name + ".weight", wide, gain=True), c.draw(name + ".bias", wide), 1e-12)

    def linear(name, x, out):
        return x @ c.draw(name + ".weight", out, x.shape[1]).T + c.draw(name + ".bias", out)

    e = "bert.embeddings."
    x = c.draw(e + "word_embeddings.weight", V, wide)[IDS]
    x = x + c.draw(e + "position_embeddings.weight", 16, wide)[:T] + c.draw(e + "token_type_embeddings.weight", 2, wide)[0]
    x, outputs = norm(e + "LayerNorm", x), []
    for n in range(L):
        p = f"bert.encoder.layer.{n}."
        q, k, v = (heads(linear(p + "attention.self." + part, x, wide), H) for part in ("query", "key", "value"))
        out = linear(p + "attention.output.dense", attend(q, k, v, D**-0.5, causal=False), wide)
        outputs.append(out)
        x = norm(p + "attention.output.LayerNorm", x + out)
        out = linear(p + "output.dense", gelu(linear(p + "intermediate.dense", x, F)), wide)
        x = norm(p + "output.LayerNorm", x + out)
    return outputs, None


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
    # Settings that files hold in another place, or leave to the defaults of their class.
    "gemma3_text by kind of layer": ({**GROUPED, "sliding_window": 2, "layer_types": ["sliding_attention", "full_attention"], "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 3e5}, "sliding_attention": {"rope_type": "default", "rope_theta": 5e3}}, "query_pre_attn_scalar": 6}, "F32"),
    "olmo2 with biases": ({key: value for key, value in {**GROUPED, "attention_bias": True}.items() if key != "rms_norm_eps"}, "F32"),
    "qwen3 with biases": ({**GROUPED, "attention_bias": True, "rope_parameters": {"rope_type": "default", "rope_theta": 2e4}}, "F16"),
    "llama with biases": ({**GROUPED, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}, "F32"),
    "phi saved anew": ({**SIZES, "num_key_value_heads": K, "head_dim": D, "rope_parameters": {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5}}, "F32"),
    "gpt2 by depth": ({"n_embd": H * D, "n_layer": L, "n_head": H, "n_inner": F, "n_positions": 16, "vocab_size": V, "scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False, "reorder_and_upcast_attn": True}, "F16"),
    "bert of old": ({**WIDE, "type_vocab_size": 2}, "F32"),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    for seed, (title, (config, kind)) in enumerate(FAMILIES.items()):
        family = title.split()[0]
        checkpoint = Checkpoint(seed, kind)
        own = {"phi": phi, "phi3": phi3, "gpt_neox": neox, "gpt2": gpt2, "bert": bert}.get(family)
        outputs, logits = own(checkpoint, config) if own else llama_like(checkpoint, family, config)
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

#!/usr/bin/env python3
"""Writes the checkpoints of make_checkpoints.py as GGUF files in the layout of llama.cpp's converter,
blocks of each quantised type with the numbers that their formulas give, and stories in four bits.

    tests/models/make_gguf.py tests/models/fixtures tests/files/io/fixtures data/models
"""
import json
import math
import pathlib
import struct
import sys

import numpy as np

KINDS = {bool: (7, "<?"), int: (4, "<I"), float: (6, "<f")}
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "BF16": (30, 1, 2), "Q4_0": (2, 32, 18), "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q5_K": (13, 256, 176), "Q2_K": (10, 256, 84)}


def text(word):
    raw = word.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(item, kind=True):
    if isinstance(item, str):
        return (struct.pack("<I", 8) if kind else b"") + text(item)
    if isinstance(item, list):
        first = 8 if isinstance(item[0], str) else KINDS[type(item[0])][0]
        return struct.pack("<IIQ", 9, first, len(item)) + b"".join(value(each, False) for each in item)
    number, form = KINDS[type(item)]
    return (struct.pack("<I", number) if kind else b"") + struct.pack(form, item)


def save(path, metadata, tensors, version=3, alignment=32):
    """tensors: name -> (type, shape as NumPy has it, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, item in metadata.items():
        head += text(key) + value(item)
    values = b""
    for name, (kind, shape, raw) in tensors.items():
        values += b"\0" * (-len(values) % alignment)
        head += text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in shape[::-1])
        head += struct.pack("<IQ", TYPES[kind][0], len(values))
        values += raw
    path.write_bytes(head + b"\0" * (-len(head) % alignment) + values)


def read_safetensors(folder):
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        raw = path.read_bytes()
        size = int.from_bytes(raw[:8], "little")
        for name, entry in json.loads(raw[8 : 8 + size]).items():
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            part = raw[begin:end]
            if entry["dtype"] == "BF16":
                array = (np.frombuffer(part, "<u2").astype("<u4") << 16).view("<f4")
            else:
                array = np.frombuffer(part, {"F32": "<f4", "F16": "<f2"}[entry["dtype"]])
            tensors[name] = array.reshape(entry["shape"]).astype("<f4")
    return tensors


def as_neighbours(array, heads):
    """Interleaves the first and the second half of the rows of each head."""
    half = array.shape[0] // heads // 2
    return array.reshape(heads, 2, half, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def by_part(array, heads):
    """Reorders rows from [q | k | v] per head to all q, all k, all v."""
    return array.reshape(heads, 3, -1, *array.shape[1:]).swapaxes(0, 1).reshape(array.shape)


PARTS = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.dense": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "self_attn.qkv_proj": "attn_qkv", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_1": "attn_norm", "ln_2": "ffn_norm", "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output", "self_attention.query_key_value": "attn_qkv", "self_attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down", "mlp.gate": "ffn_gate_inp", "block_sparse_moe.gate": "ffn_gate_inp", "mlp.experts.gate_proj": "ffn_gate_exps", "mlp.experts.up_proj": "ffn_up_exps", "mlp.experts.down_proj": "ffn_down_exps", "block_sparse_moe.experts.w1": "ffn_gate_exps", "block_sparse_moe.experts.w3": "ffn_up_exps", "block_sparse_moe.experts.w2": "ffn_down_exps"}
LATE = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
OUTSIDE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "model.final_layernorm": "output_norm", "lm_head": "output", "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm", "gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm", "embed_out": "output", "transformer.word_embeddings": "token_embd", "transformer.word_embeddings_layernorm": "token_embd_norm"}
# family: architecture, and its settings besides the sizes
ROWS = {"llama": "llama", "mixtral": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "qwen3_moe-of-one": "qwen3moe", "gemma": "gemma", "gemma2": "gemma2", "olmo2": "olmo2", "phi": "phi2", "phi3": "phi3", "gpt2": "gpt2", "gpt_neox": "gptneox", "granite": "granite", "starcoder2": "starcoder2", "stablelm": "stablelm", "cohere": "command-r", "falcon": "falcon", "bloom": "bloom"}


def convert(folder, arch):
    config = json.loads((folder / "config.json").read_text())
    family, theirs = config["model_type"], read_safetensors(folder)
    get = lambda *keys: next((config[key] for key in keys if config.get(key) is not None), None)
    width, heads, layers = get("hidden_size", "n_embd", "n_embed"), get("num_attention_heads", "n_head"), get("num_hidden_layers", "n_layer")
    kv_heads = 1 if family == "falcon" else get("num_key_value_heads") or heads
    head_dim = get("head_dim") or width // heads
    says = {"context_length": get("max_position_embeddings", "n_positions") or 2048, "embedding_length": width, "block_count": layers, "feed_forward_length": get("intermediate_size", "n_inner") or 4 * width, "attention.head_count": heads, "attention.head_count_kv": kv_heads}
    if "head_dim" in config:
        says["attention.key_length"] = says["attention.value_length"] = head_dim
    eps = get("rms_norm_eps")
    says["attention.layer_norm_rms_epsilon" if eps else "attention.layer_norm_epsilon"] = float(eps or 1e-5)
    part = get("partial_rotary_factor", "rotary_pct") or 1
    if family not in ("gpt2", "bloom"):
        says["rope.dimension_count"] = int(head_dim * part)
        if "rope_theta" in config:
            says["rope.freq_base"] = float(config["rope_theta"])
    for key, name in (("sliding_window", "attention.sliding_window"), ("attn_logit_softcapping",) * 2, ("final_logit_softcapping",) * 2, ("use_parallel_residual",) * 2, ("num_experts_per_tok", "expert_used_count"), ("moe_intermediate_size", "expert_feed_forward_length"), ("attention_multiplier", "attention.scale"), ("embedding_multiplier", "embedding_scale"), ("residual_multiplier", "residual_scale"), ("logits_scaling", "logit_scale"), ("logit_scale", "logit_scale")):
        if key in config and not (family == "qwen2" and key == "sliding_window"):
            says[name] = config[key]
    experts = get("num_local_experts", "num_experts")
    if experts:
        says["expert_count"] = experts
    tensors = {}

    def keep(name, array):
        tensors[name] = ("F32", array.shape, np.ascontiguousarray(array, "<f4").tobytes())

    stacks = {}
    for name, array in theirs.items():
        base, end = name.rsplit(".", 1)
        if base in OUTSIDE:
            keep(f"{OUTSIDE[base]}.{end}", array + 1 if family.startswith("gemma") and "norm" in base else array)
            continue
        words = base.split(".")
        place = next(i for i, word in enumerate(words) if word.isdigit())
        n, inner = words[place], words[place + 1 :]
        if any(word.isdigit() for word in inner):
            stacks.setdefault((n, ".".join(word for word in inner if not word.isdigit())), []).append(array)
            continue
        inner = ".".join(inner)
        ours = (LATE if family in ("gemma2", "olmo2") else {}).get(inner) or PARTS[inner]
        if arch in ("llama", "granite") and ours in ("attn_q", "attn_k"):
            array = as_neighbours(array, heads if ours == "attn_q" else kv_heads)
        if family in ("gpt_neox", "bloom") and ours == "attn_qkv":
            array = by_part(array, heads)
        if family == "gpt2" and array.ndim == 2:
            array = array.T
        if family.startswith("gemma") and ours.endswith("_norm"):
            array = array + 1
        keep(f"blk.{n}.{ours}.{end}", array)
    for (n, inner), all_of_them in stacks.items():
        keep(f"blk.{n}.{PARTS[inner]}.weight", np.stack(all_of_them))
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") == "llama3":  # the factors that divide frequencies
        frequencies = config["rope_theta"] ** -(np.arange(head_dim // 2) * 2 / head_dim)
        factors = []
        for f in frequencies:
            turns = scaling["original_max_position_embeddings"] * f / (2 * math.pi)
            low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
            share = min(max((turns - low) / (high - low), 0), 1)
            factors.append(1 / ((1 - share) / scaling["factor"] + share))
        keep("rope_freqs.weight", np.array(factors))
    if "short_factor" in scaling:
        keep("rope_factors_short.weight", np.array(scaling["short_factor"]))
        keep("rope_factors_long.weight", np.array(scaling["long_factor"]))
        says["rope.scaling.original_context_length"] = config["original_max_position_embeddings"]
        longer = config["max_position_embeddings"] / config["original_max_position_embeddings"]
        says["rope.scaling.attn_factor"] = math.sqrt(1 + math.log(longer) / math.log(config["original_max_position_embeddings"]))
    metadata = {"general.architecture": arch, "general.name": folder.name, **{f"{arch}.{key}": item for key, item in says.items()}, "tokenizer.ggml.eos_token_id": 2}
    save(folder / "model.gguf", metadata, tensors, version=2 if family == "qwen2" else 3)


def half(raw):
    return raw.view("<f2").astype(np.float64)[..., 0]


def numbers_of(kind, blocks):
    """The formulas of the types, block by block; blocks are (count, bytes) of uint8."""
    b = blocks.astype(np.int64)
    if kind == "Q8_0":
        return half(blocks[:, :2].copy())[:, None] * blocks[:, 2:].view(np.int8)
    if kind == "Q4_0":
        return half(blocks[:, :2].copy())[:, None] * (np.concatenate([b[:, 2:] & 15, b[:, 2:] >> 4], 1) - 8)
    if kind in ("Q5_0", "Q5_1"):
        first = 2 if kind == "Q5_0" else 4
        fifth = b[:, first : first + 4, None] >> np.arange(8) & 1
        codes = np.concatenate([b[:, first + 4 :] & 15, b[:, first + 4 :] >> 4], 1) | fifth.reshape(-1, 32) << 4
        d = half(blocks[:, :2].copy())[:, None]
        return d * (codes - 16) if kind == "Q5_0" else d * codes + half(blocks[:, 2:4].copy())[:, None]
    if kind in ("Q4_K", "Q5_K"):
        d, least = half(blocks[:, :2].copy())[:, None], half(blocks[:, 2:4].copy())[:, None]
        s = b[:, 4:16]
        scale = np.concatenate([s[:, :4] & 63, (s[:, 8:] & 15) | (s[:, :4] >> 6 << 4)], 1)
        floor = np.concatenate([s[:, 4:8] & 63, (s[:, 8:] >> 4) | (s[:, 4:8] >> 6 << 4)], 1)
        runs = b[:, -128:].reshape(-1, 4, 32)
        codes = np.stack([runs & 15, runs >> 4], 2).reshape(-1, 8, 32)
        if kind == "Q5_K":
            codes |= (b[:, None, 16:48] >> np.arange(8)[:, None] & 1) << 4
        return ((d * scale)[..., None] * codes - (least * floor)[..., None]).reshape(-1, 256)
    low, high = b[:, :128].reshape(-1, 2, 2, 32), b[:, 128:192].reshape(-1, 2, 1, 32)
    low = np.concatenate([low & 15, low >> 4], 2)
    codes = (low | ((high >> np.array([0, 2, 4, 6]).reshape(1, 1, 4, 1)) & 3) << 4) - 32
    scale = half(blocks[:, 208:].copy())[:, None] * blocks[:, 192:208].view(np.int8)
    return (codes.reshape(-1, 16, 16) * scale[..., None]).reshape(-1, 256)


def write_blocks(folder):
    random, tensors = np.random.default_rng(7), {}
    for kind, shape in (("Q8_0", (3, 64)), ("Q4_0", (5, 32)), ("Q4_K", (2, 512)), ("Q6_K", (3, 256)), ("Q5_0", (3, 64)), ("Q5_1", (2, 96)), ("Q5_K", (2, 512))):
        _, numbers, size = TYPES[kind]
        blocks = random.integers(0, 256, (shape[0] * shape[1] // numbers, size), dtype=np.uint8)
        for place in {"Q4_K": (0, 2), "Q5_1": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}.get(kind, (0,)):  # a scale that a model could have
            blocks[:, place : place + 2] = random.normal(0, 0.02, (len(blocks), 1)).astype("<f2").view(np.uint8)
        tensors[kind] = (kind, shape, blocks.tobytes())
        np.save(folder / f"{kind}.npy", numbers_of(kind, blocks).astype("<f4").reshape(shape))
    tensors["Q2_K"] = ("Q2_K", (1, 256), bytes(84))
    save(folder / "blocks.gguf", {"general.architecture": "llama", "general.alignment": 64}, tensors, alignment=64)


def in_blocks(array, kind):
    """Q4_0 or Q8_0: blocks of 32 share the scale of their largest number."""
    x = array.reshape(-1, 32).astype(np.float64)
    largest = np.take_along_axis(x, np.abs(x).argmax(1)[:, None], 1)
    d = (largest / -8 if kind == "Q4_0" else np.abs(largest) / 127).astype("<f2")
    with np.errstate(divide="ignore", invalid="ignore"):
        codes = np.nan_to_num(x / d.astype(np.float64))
    if kind == "Q8_0":
        codes = np.rint(codes).astype(np.int8).view(np.uint8)
    else:
        codes = np.clip(np.floor(codes + 8.5), 0, 15).astype(np.uint8)
        codes = codes[:, :16] | codes[:, 16:] << 4
    return kind, array.shape, np.concatenate([d.view(np.uint8), codes], 1).tobytes()


def write_stories(folder):
    """Writes stories in four bits if rows are whole blocks: the embedding in eight, w_down in float16."""
    raw = (folder / "stories260K.bin").read_bytes()
    width, inner, layers, heads, kv_heads, vocab, tokens = struct.unpack("<7i", raw[:28])
    sizes = {"attn_norm": (width,), "attn_q": (width, width), "attn_k": (width * kv_heads // heads, width), "attn_v": (width * kv_heads // heads, width), "attn_output": (width, width), "ffn_norm": (width,), "ffn_gate": (inner, width), "ffn_down": (width, inner), "ffn_up": (inner, width)}
    place, tensors = 28, {}

    def keep(name, shape):
        nonlocal place
        array = np.frombuffer(raw, "<f4", math.prod(shape), place).reshape(shape)
        place += array.nbytes
        if len(shape) == 1:
            tensors[name] = ("F32", shape, array.tobytes())
        elif shape[1] % 32:
            tensors[name] = ("F16", shape, array.astype("<f2").tobytes())
        else:
            tensors[name] = in_blocks(array, "Q8_0" if "embd" in name else "Q4_0")

    keep("token_embd.weight", (vocab, width))
    for part, shape in sizes.items():
        for n in range(layers):
            keep(f"blk.{n}.{part}.weight", shape)
    keep("output_norm.weight", (width,))
    raw, place, pieces, scores = (folder / "tok512.bin").read_bytes(), 4, [], []
    for _ in range(vocab):
        score, size = struct.unpack("<fi", raw[place : place + 8])
        scores.append(score)
        pieces.append(raw[place + 8 : place + 8 + size].decode().replace(" ", "\u2581"))
        place += 8 + size
    pieces[:3] = ["<unk>", "<s>", "</s>"]
    says = {"context_length": tokens, "embedding_length": width, "block_count": layers, "feed_forward_length": inner, "attention.head_count": heads, "attention.head_count_kv": kv_heads, "attention.layer_norm_rms_epsilon": 1e-5, "rope.dimension_count": width // heads, "rope.freq_base": 10000.0}
    kinds = [2, 3, 3] + [6] * 256 + [1] * (vocab - 259)
    save(folder / "stories-q4_0.gguf", {"general.architecture": "llama", "general.name": "stories", **{f"llama.{key}": item for key, item in says.items()}, "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": pieces, "tokenizer.ggml.scores": scores, "tokenizer.ggml.token_type": kinds, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0}, tensors)


def main():
    for name, arch in ROWS.items():
        convert(pathlib.Path(sys.argv[1]) / name, arch)
    write_blocks(pathlib.Path(sys.argv[2]))
    write_stories(pathlib.Path(sys.argv[3]))


if __name__ == "__main__":
    main()

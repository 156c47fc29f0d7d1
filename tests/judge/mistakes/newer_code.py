#!/usr/bin/python3
"""Rotations, shared heads, norms, sinks and caches as people write them.

    tests/judge/mistakes/newer_code.py build/dev/app/attn-explain

Works like wrong_code.py: first code that looks wrong and is right, each in the style of a model's
source, then code with one mistake. The files go to data/reference/newer/.
"""

import math
import pathlib

import torch
import torch.nn.functional as F

import wrong_code

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "data" / "reference" / "newer"
INF = float("inf")
T = 9
wrong_code.works.clear()
wrong_code.STEP_OF.clear()  # common names of tensors are recognised
SIZES = ("--heads {} --kv-heads {} --head-dim {} --embed-dim 12 --seq-len 9 --batch 2 "
         "--output-projection ")


def code(flags, expects, heads=4, kv=2, dim=6, alike=()):
    return wrong_code.work(SIZES.format(heads, kv, dim) + flags, expects, alike, "walk")


def project(given, name, dim=6):
    y = given["x"] @ given["w_" + name].T
    return y.view(*y.shape[:2], -1, dim).transpose(1, 2)


def qkv(given, dim=6):
    return [project(given, name, dim) for name in ("query", "key", "value")]


def repeat_kv(x, n_rep):
    """Hugging Face's."""
    b, k, t, d = x.shape
    return x[:, :, None].expand(b, k, n_rep, t, d).reshape(b, k * n_rep, t, d)


def angles(positions, dim=6, base=10000.0):
    inv_freq = 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)
    return torch.as_tensor(positions).float()[:, None] * inv_freq


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def llama(x, freqs):
    emb = torch.cat((freqs, freqs), dim=-1)
    return x * emb.cos() + rotate_half(x) * emb.sin()


def meta(x, freqs):
    """With complex numbers: neighbours are a pair."""
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(z * torch.polar(torch.ones_like(freqs), freqs)).flatten(-2)


def causal(t=T, s=T):
    return torch.ones(t, s).triu(1 + s - t).bool()


def mixed(given, attn, v):
    out = (attn @ v).transpose(1, 2).flatten(2) @ given["w_output"].T
    return {"attn": attn.numpy(), "output": out.numpy()}


def attend(given, q, k, v, hidden=None, scale=None, keep=None, fill=-INF):
    k, v = (repeat_kv(y, q.shape[1] // y.shape[1]) for y in (k, v))
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    attn = scores.masked_fill(causal(*scores.shape[-2:]) if hidden is None else hidden, fill)
    attn = attn.softmax(-1)
    return {**{n: y.numpy() for n, y in (keep or {}).items()}, **mixed(given, attn, v)}


def rotated(given, positions=range(T), turn=llama, base=10000.0, keep=False, norm=None, **more):
    q, k, v = qkv(given)
    if norm:
        q, k = norm(q, "g_query"), norm(k, "g_key")
    freqs = angles(positions, base=base)
    q, k = turn(q, freqs), turn(k, freqs)
    return attend(given, q, k, v, keep={"query_states": q, "key_states": k} if keep else None, **more)


# --- looks wrong and is right --------------------------------------------------------------------

ROPE = "--mask causal --rope half "


@code(ROPE, "none")
def llama_right(given):
    return rotated(given, keep=True)


@code(ROPE, "none")
def counts_from_one_hundred(given):
    return rotated(given, range(100, 100 + T))


@code(ROPE, "none")
def counts_from_one_and_shows_it(given):
    return rotated(given, range(1, 1 + T), keep=True)


def as_meta_writes_it(given, hidden):
    """Tokens before heads, and `scores` as the name of the weights."""
    xq, xk, xv = (y.transpose(1, 2) for y in qkv(given))
    cis = torch.polar(torch.ones(T, 3), angles(range(T)))[None, :, None, :]
    xq, xk = (torch.view_as_real(torch.view_as_complex(y.reshape(*y.shape[:-1], -1, 2).contiguous())
                                 * cis).flatten(3) for y in (xq, xk))
    keys, values = (y.repeat_interleave(2, dim=2).transpose(1, 2) for y in (xk, xv))
    scores = torch.matmul(xq.transpose(1, 2), keys.transpose(2, 3)) / math.sqrt(6)
    scores = F.softmax(scores.masked_fill(hidden, -INF), dim=-1)
    output = torch.matmul(scores, values).transpose(1, 2).contiguous().view(2, T, -1)
    return {"xq": xq.numpy(), "xk": xk.numpy(), "xv": xv.numpy(), "scores": scores.numpy(),
            "output": (output @ given["w_output"].T).numpy()}


def distance():
    return torch.arange(T)[:, None] - torch.arange(T)[None]


@code("--mask causal,window:4 --rope interleaved", "none")
def meta_with_a_window(given):
    return as_meta_writes_it(given, (distance() < 0) | (distance() >= 4))


@code("--mask causal,window:4 --rope interleaved", "window-symmetric=within")
def meta_with_a_band(given):
    return as_meta_writes_it(given, distance().abs() >= 4)


@code(ROPE, "rope-value=kept")
def all_three_turned_and_saved(given):
    q, k, v = (llama(y, angles(range(T))) for y in qkv(given))
    return attend(given, q, k, v, keep={"query_states": q, "key_states": k, "value_states": v})


def with_biases(given, keep):
    """As Qwen2's q_proj, k_proj and v_proj have them."""
    q, k, v = (F.linear(given["x"], given["w_" + n], given["b_" + n]).unflatten(-1, (-1, 6))
               .transpose(1, 2) for n in ("query", "key", "value"))
    freqs = angles(range(T))
    q, k = llama(q, freqs), llama(k, freqs)
    return attend(given, q, k, v, keep={"query_states": q, "key_states": k} if keep else None)


@code(ROPE + "--bias", "none")
def qwen2_right(given):
    return with_biases(given, keep=True)


@code(ROPE + "--bias", "bias-qkv-missing")
def qwen2_as_if_it_were_llama(given):
    return rotated(given, keep=True)


@code(ROPE + "--bias", "bias-qkv-missing")
def biases_not_loaded(given):
    return rotated(given)


@code("--mask causal --rope interleaved", "none")
def complex_numbers_right(given):
    return rotated(given, turn=meta, keep=True)


def halves_first(w, dim=6):
    """The rows of Meta's weight in the order of Hugging Face's."""
    return w.view(-1, dim // 2, 2, w.shape[-1]).transpose(1, 2).reshape(w.shape)


@code("--mask causal --rope interleaved", "none")
def converted_weights_and_halves(given):
    changed = dict(given, w_query=halves_first(given["w_query"]),
                   w_key=halves_first(given["w_key"]))
    return rotated(changed, keep=True)


@code("--mask causal --rope interleaved", "none")
def neighbours_put_down_as_halves(given):
    def turn(x, freqs):
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.cat((even * freqs.cos() - odd * freqs.sin(),
                          even * freqs.sin() + odd * freqs.cos()), -1)
    return rotated(given, turn=turn, keep=True)


@code(ROPE, "none")
def turned_back_with_weights_of_its_own(given):
    sign = torch.tensor([1.0] * 3 + [-1.0] * 3).repeat(4)[:, None]
    changed = dict(given, w_query=given["w_query"] * sign, w_key=given["w_key"] * sign[:12])
    return rotated(changed, turn=lambda x, freqs: llama(x, -freqs), keep=True)


@code("--mask causal --rope half --past 4", "none")
def ring_buffer_of_keys(given):
    """The cache in another order: keys are already rotated by their positions."""
    q, k, v = qkv(given)
    q, k = (llama(y, angles(range(4, 4 + T))) for y in (q, k))
    k = torch.cat((given["past_key"], k), 2)
    v = torch.cat((given["past_value"], v), 2)
    order = torch.randperm(4 + T, generator=torch.Generator().manual_seed(1))
    hidden = order[None, :] > torch.arange(4, 4 + T)[:, None]
    kept = attend(given, q, k[:, :, order], v[:, :, order], hidden)
    return {"output": kept["output"]}


def rms(x, _, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


@code(ROPE + "--qk-norm head", "none")
def norm_without_gain_behind_the_rotation(given):
    return rotated(given, turn=lambda x, freqs: rms(llama(x, freqs), ""), keep=True)


@code("--mask causal --sink randn", "none")
def sink_as_a_token_without_value(given):
    q, k, v = qkv(given)
    k, v = repeat_kv(k, 2), repeat_kv(v, 2)
    scores = (q @ k.transpose(-2, -1) / math.sqrt(6)).masked_fill(causal(), -INF)
    extra = given["sink"].view(1, 4, 1, 1).expand(2, 4, T, 1)
    attn = torch.softmax(torch.cat((extra, scores), -1), -1)
    v = torch.cat((torch.zeros(2, 4, 1, 6), v), 2)
    y = (attn @ v).transpose(1, 2).reshape(2, T, 24)
    return {"attn": attn[..., 1:].numpy(), "output": F.linear(y, given["w_output"]).numpy()}


@code("--mask causal --sink zero", "none")
def softmax_off_by_one(given):
    q, k, v = qkv(given)
    s = (q @ repeat_kv(k, 2).transpose(-2, -1) / math.sqrt(6)).masked_fill(causal(), -INF)
    attn = s.exp() / (1 + s.exp().sum(-1, keepdim=True))
    return mixed(given, attn, repeat_kv(v, 2))


def scaled_before(given, of_query, of_key):
    q, k, v = qkv(given)
    return attend(given, llama(q, angles(range(T))) * of_query,
                  llama(k * of_key, angles(range(T))), v, scale=1)


@code(ROPE, "none")
def query_scaled_behind_the_rotation(given):
    return scaled_before(given, 6 ** -0.5, 1)


@code(ROPE, "none")
def both_scaled_by_the_fourth_root(given):
    return scaled_before(given, 6 ** -0.25, 6 ** -0.25)


SHORT = "--rope half --mask causal,padding --lengths 6,9 "


@code(SHORT, "none")
def padded_rows_are_whatever(given):
    """Padded queries see everything: their rows are not read."""
    hidden = causal()[None] | (torch.arange(T) >= torch.tensor([[6], [9]]))[:, None]
    hidden[0, 6:] = False
    return rotated(given, hidden=hidden[:, None])


# --- one mistake ---------------------------------------------------------------------------------


@code(ROPE, "rope-style")
def neighbours_turned(given):
    return rotated(given, turn=meta)


@code(ROPE, "rope-sign")
def wrong_half_negated(given):
    return rotated(given, turn=lambda x, freqs: llama(x, -freqs))


@code(ROPE + "--rope-theta 500000", "rope-theta")
def base_of_llama_2(given):
    return rotated(given)


@code("--mask causal,window:4 --rope half", "rope-layer-base")
def global_base_in_a_sliding_layer(given):
    near = torch.ones(T, T).tril(-4).bool()
    return rotated(given, base=1e6, hidden=causal() | near)


@code(ROPE, "rope-wrong-axis")
def turned_along_heads(given):
    q, k, v = qkv(given)
    q = llama(q.transpose(1, 2), angles(range(4))).transpose(1, 2)
    k = llama(k.transpose(1, 2), angles(range(2))).transpose(1, 2)
    return attend(given, q, k, v)


@code(ROPE, "streaming-positions=sinks")
def positions_of_the_text(given):
    return rotated(given, [0, 1, 2, 3] + list(range(5, T + 1)))


def behind_a_cache(given, query_at, key_at):
    q, k, v = qkv(given)
    q = llama(q, angles(range(query_at, query_at + T)))
    k = llama(k, angles(range(key_at, key_at + T)))
    return attend(given, q, torch.cat((given["past_key"], k), 2),
                  torch.cat((given["past_value"], v), 2))


@code("--mask causal --rope half --past 4", "rope-offset-both")
def every_call_counts_from_zero(given):
    return behind_a_cache(given, 0, 0)


@code("--mask causal --rope half --past 4", "rope-offset-drift=twice")
def prompt_counted_twice(given):
    return behind_a_cache(given, 8, 8)


@code("--mask causal --rope half --past 4", "rope-offset-q")
def new_query_at_position_zero(given):
    return behind_a_cache(given, 0, 4)


@code(ROPE, "rope-permute-heads", heads=4, kv=2, dim=8)
def key_permuted_for_all_heads(given):
    stored = given["w_key"].view(2, 2, 4, 12).transpose(1, 2).reshape(16, 12)  # as Meta has it
    wrong = stored.view(4, 2, 2, 12).transpose(1, 2).reshape(16, 12)
    q, k, v = qkv(dict(given, w_key=wrong), 8)
    freqs = angles(range(T), 8)
    return attend(given, llama(q, freqs), llama(k, freqs), v)


@code("--mask causal", "gqa-tile")
def tiled_heads(given):
    q, k, v = qkv(given)
    return attend(given, q, k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1))


@code("--mask causal", "gqa-repeat-axis")
def tokens_repeated_before_a_kernel(given):
    q, k, v = qkv(given)
    k, v = (y.transpose(1, 2).repeat_interleave(2, dim=1).transpose(1, 2) for y in (k, v))
    return attend(given, q, k, v)  # the kernel aligns at the end, as flash_attn_func does


@code(ROPE + "--qk-norm head --norm-eps 0.05", "norm-eps=outside")
def eps_beside_the_root(given):
    return rotated(given, norm=lambda x, _: x / (x.pow(2).mean(-1, keepdim=True).sqrt() + 0.05))


@code(ROPE + "--qk-norm head --norm-eps 0.05", "norm-eps=default")
def eps_of_nn_rmsnorm(given):
    return rotated(given, norm=lambda x, g: rms(x, g, torch.finfo(torch.float32).eps))


@code("--mask causal --scale " + repr(1 / 6), "scale-multiplier")
def granite_by_sdpa(given):
    return attend(given, *qkv(given))


@code("--mask causal", "scale-default-zero")
def scale_zero_is_taken_for_a_number(given):
    return attend(given, *qkv(given), scale=0.0)


@code("--mask causal --prefill 4", "chunk-kv-length")
def chunks_with_the_length_of_the_prompt(given):
    row, k = torch.arange(T)[:, None], torch.arange(T)
    end = (torch.div(row, 4, rounding_mode="floor") * 4 + 4).clamp(max=T)
    return attend(given, *qkv(given), hidden=k > row + T - end)


@code("--mask causal --past 4 --position-bias t5:8:6 --scale none", "t5-cross-bias=decode")
def bias_of_the_first_rows(given):
    q, k, v = qkv(given)
    k = repeat_kv(torch.cat((given["past_key"], k), 2), 2)
    v = repeat_kv(torch.cat((given["past_value"], v), 2), 2)
    distance = (torch.arange(T)[:, None] - torch.arange(4 + T)).clamp(min=0)
    large = 4 + (torch.log(distance.clamp(min=4).float() / 4) / math.log(6 / 4) * 4).long()
    bucket = torch.where(distance < 4, distance, large.clamp(max=7))
    scores = q @ k.transpose(-2, -1) + given["relative_attention_bias"][bucket].permute(2, 0, 1)
    return mixed(given, scores.masked_fill(causal(T, 4 + T), -INF).softmax(-1), v)


WORDS = "--ids '0,0,5,7,2,5,1,3,4;0,0,8,1,1,6,2,9,7' --pad-id 0 --vocab-size 20 "
LEARNED = "--mask padding --position-embedding learned --positions "


def of_words(given, added, later=False, fill=-INF):
    x = given["embedding"][given["ids"]] + added
    hidden = (given["ids"] == 0)[:, None, None, :] | (causal() & later)
    return attend(given, *qkv(dict(given, x=x)), hidden=hidden, fill=fill)


def words(flags, expects):
    flags = SIZES.replace("--seq-len 9 --batch 2 ", "").format(4, 2, 6) + WORDS + flags
    return wrong_code.work(flags, expects, (), "walk")


@words(LEARNED + "8,8,0,1,2,3,4,5,6", "none")
def positions_of_words(given):
    mask = given["ids"] != 0
    rows = (mask.long().cumsum(-1) - 1).masked_fill(~mask, 8)
    return of_words(given, given["position_table"][rows])


@words("--mask padding,causal", "none")
def padding_in_front_sees_everything(given):
    return of_words(given, 0, True, torch.finfo(torch.float32).min)


@words(LEARNED + "8,8,0,1,2,3,4,5,6", "positions-count-padding")
def positions_of_places(given):
    return of_words(given, given["position_table"][torch.arange(T)])


@words(LEARNED + "2,3,4,5,6,7,8,9,10", "position-row-offset")
def bart_without_its_offset(given):
    return of_words(given, given["position_table"][:T])


def waves(step):
    pos = torch.arange(T).float()[:, None]
    return pos * torch.exp(torch.arange(0, 12, 2).float() * -(math.log(10000.0) / step))


@words("--mask padding --position-embedding sinusoidal", "position-embedding-missing")
def words_without_places(given):
    return of_words(given, torch.zeros(T, 12))


@words("--mask padding --position-embedding sinusoidal", "none")
def annotated_waves(given):
    pe = torch.zeros(T, 12)
    pe[:, 0::2], pe[:, 1::2] = waves(12).sin(), waves(12).cos()
    return of_words(given, pe)


@words("--mask padding --position-embedding sinusoidal", "sinusoid-order=halves")
def fairseq_order(given):
    return of_words(given, torch.cat((waves(12).sin(), waves(12).cos()), -1))


@words("--mask padding --position-embedding sinusoidal", "sinusoid-order=divisor")
def divided_by_one_less(given):
    pe = torch.stack((waves(10).sin(), waves(10).cos()), -1).flatten(1)
    return of_words(given, pe)


# ALiBi as in BLOOM, saved with the bias of hidden keys.

def bloom(given, slopes, scaled=False, adds=True):
    q, k, v = qkv(given)
    alibi = -torch.tensor(slopes)[:, None, None] * distance()
    scores = q @ k.transpose(-2, -1)
    if not adds:
        scores = scores / math.sqrt(6)
    else:
        scores = (scores + alibi) / math.sqrt(6) if scaled else scores / math.sqrt(6) + alibi
    attn = scores.masked_fill(causal(), torch.finfo(torch.float32).min).softmax(-1)
    return {"query_layer": q.numpy(), "key_layer": k.numpy(), "alibi": alibi.numpy(),
            **mixed(given, attn, v)}


def slopes_of_paper(n):
    def power(n):
        start = 2.0 ** (-8.0 / n)
        return [start ** (i + 1) for i in range(n)]
    below = 2 ** math.floor(math.log2(n))
    return power(below) + power(2 * below)[0::2][:n - below]


ALIBI = "--mask causal --position-bias alibi"
SIX = dict(heads=6, kv=6)


@code(ALIBI, "none", **SIX)
def bloom_right(given):
    return bloom(given, slopes_of_paper(6))


@code(ALIBI, "alibi-scale", **SIX)
def falcon_code_for_bloom(given):
    return bloom(given, slopes_of_paper(6), scaled=True)


@code(ALIBI, "alibi-missing", **SIX)
def alibi_built_and_not_used(given):
    return bloom(given, slopes_of_paper(6), adds=False)


@code(ALIBI, "alibi-exponent=plain", **SIX)
def slopes_from_one_down(given):
    return bloom(given, [2.0 ** (-8 * h / 6) for h in range(6)])


if __name__ == "__main__":
    wrong_code.FOLDER = FOLDER
    wrong_code.main()

"""Other people's models are watched without a change, and thirty mistakes in them are named."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from pathlib import Path
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch")
import attn_explain as ae  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

H, OLD = 4, not hasattr(F, "scaled_dot_product_attention")


def attend(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
    if OLD:
        return F._scaled_dot_product_attention(q, k, v, mask, 0.0, False, causal)[0]  # type: ignore
    return F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal)


class Attention(nn.Module):
    def __init__(self, kv_heads: int = H, causal: bool = True) -> None:
        super().__init__()
        self.q_proj, self.o_proj, self.causal = nn.Linear(16, 16), nn.Linear(16, 16), causal
        self.k_proj, self.v_proj = nn.Linear(16, 4 * kv_heads), nn.Linear(16, 4 * kv_heads)
        self.past: Any = None

    def forward(self, x: Any, mask: Any = None, cached: bool = False) -> Any:
        split = (each(x) for each in (self.q_proj, self.k_proj, self.v_proj))
        q, k, v = (each.unflatten(-1, (-1, 4)).transpose(1, 2) for each in split)
        if cached and self.past:
            k, v = (torch.cat(both, 2) for both in zip(self.past, (k, v)))
        self.past = k, v
        k, v = (each.repeat_interleave(H // each.shape[1], 1) for each in (k, v))
        y = attend(q, k, v, mask, self.causal and mask is None and not cached)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class Model(nn.Module):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Attention(*args, **kwargs) for _ in range(3))

    def forward(self, x: Any, *args: Any) -> Any:
        for layer in self.layers:
            x = x + layer(x, *args)
        return x


class Hooked(Model):
    def __init__(self) -> None:
        super().__init__()
        self.layers[1].register_forward_hook(lambda _, inputs, output: output * 2)
        self.layers[2].q_proj.register_forward_pre_hook(lambda _, inputs: (inputs[0] + 1,))


class Survives(Model):
    """A model that catches an exception of a layer."""

    def forward(self, x: Any, *args: Any) -> Any:
        try:
            self.layers[0](x[..., :3])
        except RuntimeError:
            pass
        return super().forward(x)


def encoder(batch_first: bool) -> Any:
    layer = nn.TransformerEncoderLayer(16, H, 32, 0.0, batch_first=batch_first)
    return nn.TransformerEncoder(layer, 3)


def decoder() -> Any:
    return nn.TransformerDecoder(nn.TransformerDecoderLayer(16, H, 32, 0.0, batch_first=True), 2)


KINDS = ("self_attn", "multihead_attn")
LOWER = torch.ones(5, 5).tril().bool()
NAMES = ["layers.0", "layers.1", "layers.2"]
SELF = [name + ".self_attn" for name in NAMES]
MODELS: list[tuple[Callable[[], Any], list[Any], dict[str, Any], list[str]]] = [
    (lambda: encoder(True), [], {}, SELF),
    (lambda: encoder(False), [], {"mask": ~LOWER}, SELF),
    (lambda: encoder(True), [], {"src_key_padding_mask": ~LOWER}, SELF),
    (decoder, [torch.ones(5, 3, 16)], {}, [f"layers.{i}.{kind}" for i in (0, 1) for kind in KINDS]),
    (Model, [], {}, NAMES),
    (lambda: Model(kv_heads=2), [], {}, NAMES),
    (Model, [LOWER], {}, NAMES),
    (Model, [LOWER.float().log()[None, None]], {}, NAMES),
    (lambda: Model(causal=False).bfloat16(), [], {}, NAMES),
    (Hooked, [], {}, NAMES),
    (Survives, [], {}, NAMES),
]


@pytest.mark.parametrize("case", range(len(MODELS)))
def test_watching_a_model_changes_nothing(case: int) -> None:
    torch.manual_seed(case)
    make, args, kwargs, names = MODELS[case]
    model = make()
    x = torch.randn(5, 5, 16, dtype=next(model.parameters()).dtype)
    if OLD and args and args[0].ndim == 4:
        pytest.skip("PyTorch 1.13 adds no mask")

    def made() -> list[Any]:
        model.zero_grad()
        output = model(x, *args, **kwargs)
        output.square().sum().backward()
        return [output, *(each.grad for each in model.parameters())]

    before = made()
    with ae.watch(model) as seen:
        within = made()
    for results in (within, made()):
        assert all(torch.equal(a, b) for a, b in zip(before, results))
    assert [layer.name for layer in seen] == names
    verdicts = seen.diagnose()
    assert verdicts.ok, verdicts
    assert seen.compare(seen).ok and "weights[" in repr(seen[1].why("weights[0,1,2,1]"))


def test_a_cache_is_watched_token_by_token() -> None:
    model, x = Model(), torch.randn(1, 4, 16)
    with ae.watch(model) as seen:
        for t in range(4):
            model(x[:, t : t + 1], None, True)
    assert [layer.name for layer in seen][3:5] == ["layers.0 (call 2)", "layers.1 (call 2)"]
    assert seen[9].k.shape == (1, H, 4, 4) and seen.diagnose().ok


def test_projections_are_kept_by_their_names() -> None:
    model = Model()
    named = {key: f"layers.*.{key}_proj" for key in "qkv"}
    with ae.watch(model, out="layers.*.o_proj", **named) as seen:
        model(torch.randn(2, 5, 16))
    layer = seen.layer("layers.1")
    assert set("qkvx") < set(layer.tensors) and "w_output" in layer.tensors
    assert layer.diagnose(mask="causal", heads=H).ok
    assert "causal-unasked" in layer.diagnose(mask="none", heads=H).text


def test_dropout_is_not_called_a_mistake() -> None:
    model = nn.TransformerEncoderLayer(16, H, 32, 0.1)
    with ae.watch(model) as seen:
        model(torch.randn(5, 2, 16))
    with pytest.raises(ae.AttnError, match="self_attn: a dropout of 0.1 was on"):
        seen[0].diagnose()
    lines = seen.diagnose()
    assert not lines.ok and "cannot be judged: a dropout of 0.1 was on" in repr(lines)


def test_layers_hidden_by_a_fused_layer_are_reported() -> None:
    with torch.no_grad(), ae.watch(encoder(True).eval()) as seen:
        seen._model(torch.randn(2, 5, 16))
    assert len(seen) or "layers.0.self_attn: not seen" in repr(seen)


def test_masks_of_two_types_are_combined() -> None:
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    model, x = encoder(True), torch.randn(5, 5, 16)
    with ae.watch(model) as seen:
        model(x, mask=causal, src_key_padding_mask=~LOWER)
    assert seen.diagnose().ok, seen.diagnose()
    with ae.watch(model) as seen:
        model(x, mask=causal, src_key_padding_mask=(~LOWER).float())
    assert len(seen) == 3 and (not OLD or "key_padding_mask" in repr(seen))


@pytest.mark.parametrize("more", ({"add_bias_kv": True}, {"add_zero_attn": True}, {}, {"kdim": 8}))
def test_other_keys_and_values_are_judged(more: dict[str, Any]) -> None:
    model, x = nn.MultiheadAttention(16, H, batch_first=True, **more), torch.randn(2, 5, 16)
    key = x[..., : model.kdim]
    for mask in (None, ~LOWER):
        with ae.watch(model) as seen:
            model(x, key, x + 1, attn_mask=mask)
        assert seen.diagnose().ok, seen.diagnose()


def test_a_watch_that_saw_nothing_is_not_right() -> None:
    for model in (nn.Linear(16, 16), encoder(True).eval()):
        with torch.no_grad(), ae.watch(model, q="*.nowhere") as seen:
            model(torch.randn(2, 5, 16))
        lines = seen.diagnose()
        assert not lines.ok and "q='*.nowhere'" in repr(lines)
    with ae.watch(nn.Linear(2, 2)) as seen:
        pass
    assert not seen.diagnose().ok and "nothing was seen" in repr(seen.diagnose())


def test_one_attention_has_one_layer() -> None:
    for kv_heads in (H, 2):
        for model in (Model(kv_heads), Attention(kv_heads)):
            at = "layers.*." if isinstance(model, Model) else ""
            named = {key: f"{at}{key}_proj" for key in "qkv"}
            with ae.watch(model, out=at + "o_proj", **named) as seen:
                for _ in range(2):
                    model(torch.randn(2, 5, 16))
            assert len(seen) == (6 if isinstance(model, Model) else 2), seen
            assert seen.diagnose(kv_heads=kv_heads).ok, seen.diagnose(kv_heads=kv_heads)


def test_a_mask_can_apply_to_some_layers() -> None:
    model = decoder()
    with ae.watch(model) as seen:
        model(torch.randn(5, 5, 16), torch.randn(5, 3, 16), tgt_mask=~LOWER)
    assert seen.diagnose(mask={"*.self_attn": "causal"}).ok
    assert not seen.diagnose(mask={"*.nowhere": "causal"}).ok
    with pytest.raises(ae.AttnError, match="there is no layer nowhere: layers"):
        seen.layer("nowhere")


def test_a_mask_of_numbers_is_meant_for_some_layers() -> None:
    model = decoder()
    with ae.watch(model) as seen:
        model(torch.randn(5, 5, 16), torch.randn(5, 3, 16), tgt_mask=~LOWER)
    assert seen.diagnose(mask={"*.self_attn": ~LOWER}, mask_true="drop").ok
    for lines in (seen, copy.deepcopy(seen), pickle.loads(pickle.dumps(seen))):
        wrong = lines.diagnose(mask={"*.self_attn": LOWER & False}, mask_true="drop")
        assert [name for name in wrong if "self_attn" in name and not wrong[name].ok], wrong
        assert [layer.name for layer in lines] == [layer.name for layer in seen]


def test_threads_keep_their_layers_apart() -> None:
    model = Model()
    with ae.watch(model) as seen:
        threads = [
            threading.Thread(target=lambda at: [model.layers[at](x) for _ in range(50)], args=[at])
            for at, x in enumerate(torch.randn(3, 1, 3, 16))
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    counts = [sum(layer.name.split(" ")[0] == name for layer in seen) for name in NAMES]
    assert counts == [50, 50, 50]


RIGHT, MISTAKES = (Path(__file__).parent / "mistakes.txt").read_text().split("\n\n")


def attention(before: str = "", after: str = "") -> Any:
    scope: dict[str, Any] = {"torch": torch, "math": math, "F": F}
    assert before in RIGHT
    exec(RIGHT.replace(before, after) if before else RIGHT, scope)
    return ae.watch(scope["attention"])


@pytest.mark.parametrize("line", MISTAKES.splitlines())
def test_a_mistake_in_the_users_function_is_named(line: str) -> None:
    before, after, name = (part.strip() for part in line.split("|"))
    torch.manual_seed(1)
    given = [torch.randn(2, 5, 16), *(torch.randn(16, 16) / 4 for _ in range(4))]
    right, wrong = attention(), attention(before, after)
    right(*given)
    wrong(*given)
    assert right.seen.diagnose(mask="causal", heads=H).ok
    answer = wrong.seen[0].diagnose(mask="causal", heads=H)
    ids = [each["id"] or "" for each in answer.findings]
    assert not answer.ok and any(each.startswith(name) for each in ids), (ids, answer)


def test_one_mask_for_a_decoder_is_not_for_cross_attention() -> None:
    torch.manual_seed(9)
    model, causal = decoder(), torch.full((5, 5), -math.inf).triu(1)
    with ae.watch(model) as seen:
        model(torch.randn(2, 5, 16), torch.randn(2, 3, 16), tgt_mask=causal)
    assert seen.diagnose(mask="causal").ok, seen.diagnose(mask="causal")
    with ae.watch(model) as seen:
        model(torch.randn(2, 5, 16), torch.randn(2, 3, 16))  # without tgt_mask
    lines = seen.diagnose(mask="causal")
    accused = [name for name, each in lines.items() if "mask-not-applied" in repr(each)]
    assert accused == ["layers.0.self_attn", "layers.1.self_attn"], lines

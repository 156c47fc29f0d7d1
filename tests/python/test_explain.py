"""Explains other people's programs: files, functions, cells, and code that a tracer must not change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import attn_explain as ae  # noqa: E402

TRACER = Path(__file__).parents[2] / "app" / "python" / "attn_trace.py"

NANO = """
    import math, torch
    import torch.nn as nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, C=12, H=3):
            super().__init__()
            self.qkv, self.out, self.H = nn.Linear(C, 3 * C), nn.Linear(C, C), H

        def forward(self, x):
            B, T, C = x.shape
            q, k, v = (t.view(B, T, self.H, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            att = q @ k.transpose(-2, -1) / math.sqrt(SCALE)
            att = att.masked_fill(torch.ones(T, T).triu(DIAGONAL).bool(), float("-inf"))
            y = F.softmax(att, dim=AXIS) @ v
            return self.out(y.transpose(1, 2).reshape(B, T, C))

    torch.manual_seed(0)
    print("loss", Block()(torch.randn(2, 5, 12)).sum().item())
"""

LOOPS = """
    import numpy as np
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4, 3))
    a, b, c = rng.normal(size=(3, 3, 3))
    Q, K, V = x @ a, x @ b, x @ c
    S = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            S[i, j] = sum(Q[i, f] * K[j, f] for f in range(3)) / 3 ** POWER
    P = []
    for row in S:
        e = np.exp(row - row.max())
        P.append(e / e.sum())
    out = np.stack([sum(P[i][j] * V[j] for j in range(4)) for i in range(4)])
"""

EINSUM = """
    import torch
    def attend(query, key, value):
        sim = torch.einsum("bihd,bjhd->bhij", query, key) * query.shape[-1] ** -0.5
        return torch.einsum("bhij,bjhd->bihd", sim.softmax(DIM), value)
    torch.manual_seed(1)
    print(attend(torch.randn(2, 5, 3, 4), torch.randn(2, 6, 3, 4), torch.randn(2, 6, 3, 4)).shape)
"""


def explained(folder: Path, program: str, ending: str = ".py", **words: Any) -> Any:
    path = folder / ("mine" + ending)
    text = textwrap.dedent(program)
    for word, value in words.items():
        text = text.replace(word, str(value))
    if ending == ".ipynb":
        cells = [{"cell_type": "code", "source": ["%matplotlib inline\n", "!ls\n"]}]
        cells += [{"cell_type": "code", "source": part} for part in text.split("\n\n")]
        text = json.dumps({"cells": cells})
    path.write_text(text)
    return ae.explain(path)


def mistakes(answer: Any) -> list[tuple[int, str]]:
    lines = [line for each in answer.json["attentions"] for line in each["lines"]]
    return [(line["line"], line.get("mistake", "")) for line in lines if "mistake" in line]


def questions(answer: Any) -> list[tuple[int, str]]:
    """The line and the beginning of each question of a program without a mistake."""
    assert answer.code == 3 and not mistakes(answer), answer
    asked = [each for found in answer.json["attentions"] for each in found["questions"]]
    return [(each["line"], each["text"].split(",")[0]) for each in asked]


@pytest.mark.parametrize("ending", (".py", ".ipynb"))
def test_a_right_program_is_right(tmp_path: Path, ending: str) -> None:
    words = {"SCALE": "C // self.H", "DIAGONAL": 1, "AXIS": -1}
    answer = explained(tmp_path, NANO, ending, **words)
    assert answer.code == 0, answer
    steps = {step for each in answer.json["attentions"][0]["lines"] for step in each["steps"]}
    assert {"x", "query", "scores", "scaled_scores", "weights", "context", "output"} <= steps


@pytest.mark.parametrize(
    "words, line, mistake",
    (
        ({"SCALE": "C", "DIAGONAL": 1, "AXIS": -1}, 14, "scale-dmodel"),
        ({"SCALE": "C // self.H", "DIAGONAL": 0, "AXIS": -1}, 15, "causal"),
        ({"SCALE": "C // self.H", "DIAGONAL": 1, "AXIS": -2}, 16, "softmax-axis=query"),
    ),
)
def test_a_mistake_is_reported_at_its_line(
    tmp_path: Path, words: dict[str, Any], line: int, mistake: str
) -> None:
    answer = explained(tmp_path, NANO, **words)
    assert answer.code == 1
    assert any(at == line and name.startswith(mistake) for at, name in mistakes(answer)), answer


def test_loops_that_fill_cells_and_lists_are_traced(tmp_path: Path) -> None:
    assert explained(tmp_path, LOOPS, POWER=0.5).code == 0
    wrong = explained(tmp_path, LOOPS, POWER=0)
    assert wrong.code == 1
    assert mistakes(wrong)[0] == (10, "scale-missing"), wrong


def test_einsum_is_recognised_in_another_layout(tmp_path: Path) -> None:
    assert explained(tmp_path, EINSUM, DIM=-1).code == 0
    assert mistakes(explained(tmp_path, EINSUM, DIM=-2)) == [(5, "softmax-axis=query")]


def test_a_line_that_raised_is_reported_with_its_shapes(tmp_path: Path) -> None:
    program = "import numpy as np\nq = np.ones((4, 3))\nk = np.ones((5, 3))\ns = q @ k\n"
    answer = explained(tmp_path, program)
    assert answer.code == 1
    assert answer.json["raised"]["line"] == 4
    assert "q is (4, 3)" in answer.text and "k is (5, 3)" in answer.text


@pytest.mark.parametrize(
    "line, fits",
    (
        ("q @ k", "k.T would fit and give (4, 5)"),
        ("np.matmul(b, b)", "b.swapaxes(-2, -1) would fit and give (2, 3, 4, 4)"),
        ("b + b[:, 0, 0, :3]", "b[:, 0, 0, :3]"),
        ("b * h", "h[:, None] would fit and give (2, 3, 4, 5)"),
        ("q.reshape(2, 4, 3)", "reshape(2, 4, 2) would fit"),
        ("q.reshape(len(q), 5)", ""),
    ),
)
def test_a_shape_that_would_fit_is_suggested(tmp_path: Path, line: str, fits: str) -> None:
    program = (
        "import numpy as np\nq, k = np.ones((4, 4)), np.ones((5, 4))\n"
        "b, h = np.ones((2, 3, 4, 5)), np.ones((2, 4, 5))\n" + line + "\n"
    )
    raised = explained(tmp_path, program).json["raised"]
    assert raised["line"] == 4
    if fits.endswith("]"):  # nothing simple fits
        fits = ""
    assert raised["suggestion"] == fits
    way, _, size = fits.partition(" would fit and give ")
    if size:  # NumPy confirms it
        names: dict[str, Any] = {"np": np}
        exec(program.rsplit("\n", 2)[0], names)
        base = way.split(".s")[0].split(".T")[0].split("[")[0]
        changed = line[::-1].replace(base[::-1], way[::-1], 1)[::-1]
        assert str(eval(changed, names).shape) == size


def test_one_function_of_a_program_can_be_explained(tmp_path: Path) -> None:
    program = """
    import numpy as np

    def soft(s):
        e = np.exp(s - s.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def right(q, k, v):
        return soft(q @ k.T / 2) @ v

    class Wrong:
        def __call__(self, q, k, v):
            return soft(q @ k.T) @ v

    q, k, v = np.random.default_rng(7).normal(size=(3, 5, 4))
    a = right(q, k, v)
    b = Wrong()(v, q, k)
    loss = (b - 1) ** 2
    """
    path = tmp_path / "mine.py"
    both = explained(tmp_path, program)
    assert both.code == 1 and len(both.json["attentions"]) == 2
    assert "lines 18" not in both.text and 18 in both.json["skipped_lines"]
    assert ae.explain(path, function="right").code == 0
    assert mistakes(ae.explain(path, function="Wrong.__call__")) == [(13, "scale-missing")]
    with pytest.raises(ae.AttnError, match="did you mean Wrong"):
        ae.explain(path, function="wrong")
    page = tmp_path / "mine.html"
    ae.explain(path, output=page)
    assert "your program" in page.read_text() and "scale-missing" in page.read_text()


UNTOUCHED = """
    import sys, threading
    import numpy as np
    def outer(n):
        seen = []
        def inner(x):
            nonlocal n
            n += 1
            seen.append(x[n % 2])
            return n
        return inner, seen
    class Meta(type):
        def __new__(cls, *args):
            return super().__new__(cls, *args)
    class Odd(metaclass=Meta):
        "docs"
        __slots__ = ("a",)
        @property
        def twice(self): return self.a * 2
        def __getitem__(self, i): return self.a[i]
    inner, seen = outer(0)
    x = np.arange(6.0).reshape(2, 3)
    print(inner(x), inner(x), [row.tolist() for row in seen])
    odd = Odd(); odd.a = x; odd.a[0, 1:] += 1; odd.a[x > 4] = 0
    print(odd.twice.sum(), odd[1], Odd.__doc__)
    gen = (v for v in x if v.sum() > 1)
    for v in gen:
        print(v); break
    print([*gen])
    try:
        x[7]
    except IndexError as error:
        print("caught", error)
    thread = threading.Thread(target=lambda: print("thread", (x * 2).sum())); thread.start(); thread.join()
    match x.shape:
        case (2, columns) if columns > 2: print("columns", columns)
    print(f"{x.mean():.3f}", *map(str, x.shape), sep="|")
    i = 0
    while True:
        i += 1
        if i == 3: continue
        if i > 4: break
    else:
        print("never")
    print(i, (lambda *a, k=2, **b: (a, k, b))(1, z=3))
    a, *b = x[0]; print(a, b); del a
    sys.exit("bye" if x is None else 0)
"""


def test_a_traced_program_behaves_the_same(tmp_path: Path) -> None:
    if sys.version_info < (3, 10):
        pytest.skip("match needs Python 3.10")
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(UNTOUCHED))
    alone = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    traced = subprocess.run(
        [sys.executable, str(TRACER), str(tmp_path), str(path)], capture_output=True, text=True
    )
    assert alone.stdout and traced.stdout == alone.stdout
    assert traced.stderr == alone.stderr == ""


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.transpose(-2, -1)
    return torch.softmax(scores / q.shape[-1], -1) @ v


class Layer(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return attention(x, x, x)


def test_a_function_and_a_module_are_explained_unchanged() -> None:
    torch.manual_seed(3)
    x, y = torch.randn(2, 3, 5, 4), torch.randn(5, 4)
    code = attention.__code__
    answer = ae.explain(attention, x, x + 1, x - 1)
    assert attention.__code__ is code
    assert mistakes(answer)[0][1] == "scale-twice", answer
    assert "scores / q.shape[-1]" in answer.text
    with pytest.raises(AssertionError, match="scale-twice"):
        ae.assert_right(Layer(), y)


def test_a_notebook_cell_is_explained() -> None:
    class Shell:
        user_ns: dict[str, Any] = {"np": np, "x": np.random.default_rng(2).normal(size=(5, 3))}
        magic: Any = None

        def register_magic_function(self, magic: Any, *_: Any) -> None:
            self.magic = magic

    shell = Shell()
    ae.load_ipython_extension(shell)
    cell = (
        "s = x @ x.T / np.sqrt(3)\nw = np.exp(s) / np.exp(s).sum(0, keepdims=True)\nout = w @ x\n"
    )
    answer = shell.magic("explain", cell)
    assert mistakes(answer) == [(3, "softmax-axis=query")], answer  # %%attn is line 1
    assert "out" in shell.user_ns


def test_a_trace_from_another_language_is_explained(tmp_path: Path) -> None:
    """npz keeps the order in which its arrays were written."""
    rng = np.random.default_rng(4)
    q, k, v = rng.normal(size=(3, 2, 5, 4))
    s = np.einsum("hqf,hkf->hqk", q, k)
    w = np.exp(s * 0.5) / np.exp(s * 0.5).sum(-1, keepdims=True)
    names = {"4:q": q, "5:k": k, "6:v": v, "9:s": s, "10:s": s * 0.5, "11:w": w, "12:o": w @ v}
    np.savez(tmp_path / "trace.npz", **names)
    (tmp_path / "mine.jl").write_text("\n".join(f"# line {i}" for i in range(1, 13)))
    answer = ae.run(f"explain {tmp_path / 'mine.jl'} --trace {tmp_path / 'trace.npz'}")
    assert answer.code == 0, answer
    assert "# line 11" in answer.text
    told = ae.diagnose(tmp_path / "trace.npz").json["attentions"]
    lines = [{**line, "source": ""} for line in answer.json["attentions"][0]["lines"]]
    assert told[0]["lines"] == lines


def test_answers_are_checked_and_graded(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    assert "16 exercises" in ae.run(f"practice {folder} --python {sys.executable}").text
    first = folder / "01_scores.py"
    assert ae.run(f"practice {folder} --python {sys.executable}").code == 3
    first.write_text(first.read_text().replace("scores = ...", "scores = key @ query.T #"))
    wrong = ae.run(f"practice {folder} --python {sys.executable}")
    assert wrong.code == 1 and "01_scores: wrong" in wrong.text
    first.write_text(first.read_text().replace("key @ query.T", "query @ key.T"))
    assert "1 of 16 are right" in ae.run(f"practice {folder} --python {sys.executable}").text
    student = tmp_path / "class" / "ada"
    student.mkdir(parents=True)
    (student / "01_scores.py").write_text(first.read_text())
    (student / "02_scale.py").write_text("while True: pass\n")
    (student / "03_softmax.py").write_text("import os; os._exit(0)\n")
    (student / "04_causal_mask.py").write_text("x = bytearray(50 << 30)\n")
    rows = json.loads(
        ae.run(f"grade {tmp_path / 'class'} --json --seconds 2 --python {sys.executable}").text
    )
    assert [row["result"] for row in rows] == ["right", "ended", "ended", "wrong"]
    assert os.listdir(tmp_path / "class") == ["ada"]


def test_answers_in_a_notebook_are_checked(tmp_path: Path) -> None:
    class Shell:
        user_ns: dict[str, Any] = {}
        magic: Any = None

        def register_magic_function(self, magic: Any, *_: Any) -> None:
            self.magic = magic

    shell = Shell()
    ae.load_ipython_extension(shell)
    path = tmp_path / "tasks.ipynb"
    ae.run(f"practice --notebook {path}")
    cells = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
    tasks = [cell for cell in cells if cell.startswith("%%attn practice ")]
    assert len(tasks) == 16
    line, task = tasks[0].removeprefix("%%attn ").split("\n", 1)
    assert "still empty" in shell.magic(line, task).text
    answered = task.replace("scores = ...", "scores = key @ query.T")
    number = tasks[0].split("\n").index("scores = ...  # your code here") + 1
    assert f"wrong, line {number}" in shell.magic(line, answered).text
    assert shell.magic(line, task.replace("scores = ...", "scores = query @ key.T")).code == 0


VIEW = """
    import torch
    torch.manual_seed(5)
    x, w = torch.randn(2, 4, 6), torch.randn(6, 18)
    q, k, v = map(lambda t: t.CUT, (x @ w).chunk(3, -1))
    p = torch.softmax(q @ k.transpose(-1, -2) / 3 ** 0.5, -1)
    y = (p @ v).MERGE.reshape(2, 4, 6)
"""

ALIBI = """
    import numpy as np
    rng = np.random.default_rng(8)
    q, k, v = rng.normal(size=(3, 4, 5, 6))
    slopes = 0.25 ** np.arange(1, 5)
    far = np.arange(5)[:, None] - np.arange(5)
    s = q @ k.swapaxes(1, 2) / 6 ** 0.5 SIGN slopes[:, None, None] * far
    s[:, far < 0] = -np.inf
    e = np.exp(s - s.max(-1, keepdims=True))
    o = (e / e.sum(-1, keepdims=True)) @ v
"""

SINK = """
    import torch
    torch.manual_seed(9)
    q, k, v = torch.randn(3, 2, 5, 4)
    sink = torch.tensor([0.5, -1.0])[:, None, None].expand(2, 5, 1)
    s = (q @ k.mT / 2).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
    p = torch.cat([s, sink FACTOR], -1).softmax(-1)[..., :-1]
    y = p @ v
"""

MODULE = """
    import torch
    torch.manual_seed(6)
    attend = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(2, 5, 8)
    later = torch.ones(5, 5).triu(DIAGONAL).bool()
    padding = torch.arange(5) >= torch.tensor([[5], [3]])
    y, _ = attend(x, x, x, attn_mask=later, key_padding_mask=padding)
"""

FUSED = """
    import torch
    torch.manual_seed(7)
    x, w_qkv, w_o = torch.randn(4, 6), torch.randn(6, 18), torch.randn(6, 6)
    NAMES = (x @ w_qkv).chunk(3, -1)
    y = torch.softmax(q @ k.T / 6 ** 0.5, -1) @ v
    y = y OUT
"""


@pytest.mark.parametrize(
    "program, right, wrong, mistake",
    (
        (
            VIEW,
            {"CUT": "reshape(2, 4, 2, 3).transpose(1, 2)", "MERGE": "transpose(1, 2)"},
            {"CUT": "reshape(2, 2, 4, 3)", "MERGE": "transpose(1, 2)"},
            (5, "split-view"),
        ),
        (ALIBI, {"SIGN": "-"}, {"SIGN": "+"}, (7, "alibi-sign")),
        (MODULE, {"DIAGONAL": 1}, {"DIAGONAL": 2}, (8, "causal-diag-plus1")),
    ),
)
def test_mistakes_are_named_from_numbers_alone(
    tmp_path: Path, program: str, right: Any, wrong: Any, mistake: tuple[int, str]
) -> None:
    assert explained(tmp_path, program, **right).code == 0
    answer = explained(tmp_path, program, **wrong)
    assert answer.code == 1
    found = mistakes(answer)
    assert found[0][0] == mistake[0] and found[0][1].startswith(mistake[1]), answer


def test_possible_intentions_raise_a_question(tmp_path: Path) -> None:
    right = explained(tmp_path, FUSED, NAMES="q, k, v", OUT="@ w_o")
    assert right.code == 0, right
    order = explained(tmp_path, FUSED, NAMES="k, q, v", OUT="@ w_o")
    assert order.code == 3 and "used as key, query, value, in this order" in order.text
    unused = explained(tmp_path, FUSED, NAMES="q, k, v", OUT="* 1.0")
    assert unused.code == 3 and "not multiplied by w_o" in unused.text


def test_a_module_of_pytorch_computes_all_steps_in_its_line(tmp_path: Path) -> None:
    lines = explained(tmp_path, MODULE, DIAGONAL=1).json["attentions"][0]["lines"]
    steps = [step for line in lines if line["line"] == 8 for step in line["steps"]]
    assert {"projected_query", "scores", "masked_scores", "weights", "output"} <= set(steps)


PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("name", [each.stem for each in sorted(PROGRAMS.glob("*.py"))])
def test_each_line_of_a_lesson_program_is_listed_with_its_step(name: str) -> None:
    """Every line of attention is listed with its step. ATTN_COLLECT_GOLDENS=1 writes the lists."""
    answer = ae.explain(PROGRAMS / f"{name}.py")
    listing = PROGRAMS / f"{name}.txt"
    if os.environ.get("ATTN_COLLECT_GOLDENS"):
        listing.write_text(answer.text)
    assert answer.code == 0
    assert answer.text == listing.read_text()


@pytest.mark.parametrize(
    "notebook, names",
    (
        ("000", []),
        ("001", ["scale-missing", "scale-missing"]),
        ("002", ["scale-dmodel", "scale-dmodel", "k-dot-k", "scale-dmodel"]),
        ("003", ["softmax-axis=query", "softmax-axis=head"]),
    ),
)
def test_mistakes_of_the_source_notebooks_are_named(
    tmp_path: Path, notebook: str, names: list[str]
) -> None:
    path = tmp_path / "page.ipynb"
    ae.run(f"notebook {notebook} -o {path}")
    answer = ae.explain(path)
    lines = [line for each in answer.json["attentions"] for line in each["lines"]]
    wrong = [line["mistake"] for line in lines if line["verdict"] == "WRONG"]
    assert wrong == names, answer
    assert answer.code == (1 if names else 0)


def test_a_sink_is_found(tmp_path: Path) -> None:
    right = explained(tmp_path, SINK, FACTOR="")
    assert right.code == 0 and "--sink" in right.text, right
    lines = right.json["attentions"][0]["lines"]
    assert {"weights", "context"} <= {step for line in lines for step in line["steps"]}
    query_axis = explained(tmp_path, SINK.replace("softmax(-1)", "softmax(-2)"), FACTOR="")
    assert query_axis.code == 1 and mistakes(query_axis)[0] == (7, "softmax-axis=query")


DROPOUT = """
    import torch
    from torch import nn
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.drop = nn.Linear(12, 36), nn.Dropout(0.3)
        def forward(self, x):
            q, k, v = (t.view(2, 7, 3, 4).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            return DROPPED @ v
    torch.manual_seed(8)
    out = Attention()(torch.randn(2, 7, 12))
"""


def test_dropout_in_training_is_a_step(tmp_path: Path) -> None:
    weights = "(q @ k.mT / 2).softmax(-1)"
    right = explained(tmp_path, DROPOUT, DROPPED=f"self.drop({weights})")
    assert right.code == 0 and "--dropout 0.3" in right.text, right
    lines = right.json["attentions"][0]["lines"]
    assert ["dropped_weights"] in [line["steps"] for line in lines]
    always = explained(tmp_path, DROPOUT, DROPPED=f"nn.functional.dropout({weights}, 0.3)")
    assert always.code == 3 and "line 10: dropout stays on after model.eval() here" in always.text
    scale = explained(tmp_path, DROPOUT, DROPPED="self.drop((q @ k.mT).softmax(-1))")
    assert scale.code == 1 and mistakes(scale)[0] == (10, "scale-missing"), scale


def test_a_cap_follows_a_scaled_query(tmp_path: Path) -> None:
    capped = """
        import torch
        torch.manual_seed(43)
        q, k, v = torch.randn(3, 2, 2, 6, 8)
        scores = (q * 24**-0.5) @ k.mT
        scores = torch.tanh(scores / 20.0) * 20.0
        out = scores.softmax(-1) @ v
    """
    asked = [(5, "the scores are multiplied by 0.2041")]  # Gemma's own number, not the width
    assert questions(explained(tmp_path, capped)) == asked
    in_lines = capped.replace(" / 20.0) * 20.0", ")").replace(
        "        scores = torch.tanh", "        scores = scores / 20.0\n        scores = torch.tanh"
    )
    in_lines = in_lines.replace("tanh(scores)", "tanh(scores)\n        scores = scores * 20.0")
    assert "/ 20.0\n" in in_lines
    assert [text for _, text in questions(explained(tmp_path, in_lines))] == [asked[0][1]]


def test_two_mistakes_in_numpy(tmp_path: Path) -> None:
    both = """
        import numpy as np
        rng = np.random.default_rng(0)
        q, k, v = rng.normal(size=(3, 5, 8))
        s = q @ k.T
        w = np.exp(s) / np.exp(s).sum(0)
        out = w @ v
    """
    answer = explained(tmp_path, both)
    assert answer.code == 1 and mistakes(answer) == [(6, "softmax-axis=query")], answer
    assert "line 5: the scores are not divided by the square root of the width" in answer.text
    assert "fix  w = np.exp(s) / np.exp(s).sum(-1, keepdims=True)" in answer.text


NOT_WRONG = {
    "logits of a vocabulary": """
        import torch
        torch.manual_seed(1)
        head, states = torch.nn.Linear(6, 9, bias=False), torch.randn(4, 6)
        chances = torch.softmax(head(states), -1)
    """,
    "a gradient of logistic regression": """
        import numpy as np
        rng = np.random.default_rng(2)
        X, W, Y = rng.normal(size=(6, 3)), rng.normal(size=(3, 4)), np.eye(4)[[0, 1, 2, 3, 0, 1]]
        for step in range(2):
            P = np.exp(X @ W)
            P = P / P.sum(1, keepdims=True)
            W = W - 0.1 * X.T @ (P - Y)
    """,
    "a Markov chain": """
        import numpy as np
        chances = np.array([[0.5, 0.5, 0.0], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
        now = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        for step in range(3):
            now = now @ chances
    """,
    "dropout in training": """
        import torch
        torch.manual_seed(3)
        q, k, v = torch.randn(3, 5, 4)
        weights = torch.nn.functional.dropout((q @ k.T / 2).softmax(-1), 0.4)
        out = weights @ v
    """,
    "bfloat16": """
        import torch
        torch.manual_seed(4)
        q, k, v = torch.randn(3, 6, 8).bfloat16()
        out = (q @ k.T / 8**0.5).softmax(-1) @ v
    """,
    "dot products of a translation model": """
        import torch
        torch.manual_seed(5)
        decoder, encoder = torch.randn(3, 4), torch.randn(6, 4)
        aligned = torch.softmax(decoder @ encoder.T, -1) @ encoder
    """,
    "two attentions, one with a mask": """
        import torch
        torch.manual_seed(6)
        q, k, v = torch.randn(3, 5, 4)
        later = torch.ones(5, 5).triu(1).bool()
        s = q @ k.T / 2
        past = s.masked_fill(later, -torch.inf).softmax(-1) @ v
        whole = s.softmax(-1) @ v
    """,
    "a large base of positions": """
        import torch
        torch.manual_seed(7)
        q, k, v = torch.randn(3, 6, 8)
        angle = torch.arange(6)[:, None] * 500000.0 ** (-torch.arange(0, 8, 2) / 8)
        def turn(t):
            a, b = t.chunk(2, -1)
            return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)
        out = (turn(q) @ turn(k).T / 8**0.5).softmax(-1) @ v
    """,
}

ALL_RIGHT = {
    "a function of its own that is named like PyTorch's": """
        import numpy as np
        def scaled_dot_product_attention(q, k, v, mask):
            logits = q @ k.T / np.sqrt(4) + mask * -1e9
            e = np.exp(logits - logits.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True) @ v
        q, k, v = np.random.default_rng(1).normal(size=(3, 5, 4))
        out = scaled_dot_product_attention(q, k, v, np.triu(np.ones((5, 5)), 1))
    """,
    "a sink, with the largest score subtracted": """
        import torch
        torch.manual_seed(9)
        q, k, v = torch.randn(3, 2, 5, 4)
        s = (q @ k.mT / 2).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
        both = torch.cat([s, torch.tensor([0.5, -1.0])[:, None, None].expand(2, 5, 1)], -1)
        both = both - both.max(-1, keepdim=True).values
        y = both.softmax(-1)[..., :-1] @ v
    """,
    "one bfloat16 projection with a bias": """
        import torch
        torch.manual_seed(10)
        made = torch.nn.Linear(16, 48).bfloat16()
        x = torch.randn(1, 6, 16).bfloat16()
        q, k, v = made(x).view(1, 6, 3, 2, 8).permute(2, 0, 3, 1, 4)
        out = (q @ k.mT * 8**-0.5).softmax(-1) @ v
    """,
    "three bfloat16 projections": """
        import torch
        torch.manual_seed(10)
        maps = [torch.nn.Linear(16, 16).bfloat16() for _ in range(3)]
        x = torch.randn(1, 6, 16).bfloat16()
        q, k, v = [each(x).view(1, 6, 2, 8).transpose(1, 2) for each in maps]
        out = (q @ k.mT * 8**-0.5).softmax(-1) @ v
    """,
    "a finite fill in bfloat16": """
        import torch
        torch.manual_seed(10)
        q, k, v = torch.randn(3, 2, 6, 8).bfloat16()
        s = (q @ k.mT) * 8**-0.5
        s = s.masked_fill(torch.ones(6, 6).triu(1) == 1, -1e4)
        out = s.softmax(-1) @ v
    """,
    "rotations that fill cells": """
        import numpy as np
        def turned(x):
            made = np.empty_like(x)
            for t in range(5):
                for i in range(4):
                    angle = t * 10000 ** (-2 * i / 8)
                    made[t, 2 * i] = x[t, 2 * i] * np.cos(angle) - x[t, 2 * i + 1] * np.sin(angle)
                    made[t, 2 * i + 1] = x[t, 2 * i] * np.sin(angle) + x[t, 2 * i + 1] * np.cos(angle)
            return made
        q, k, v = np.random.default_rng(6).normal(size=(3, 5, 8))
        q = turned(q)
        k = turned(k)
        s = np.exp(q @ k.T / np.sqrt(8))
        out = s / s.sum(1, keepdims=True) @ v
    """,
    "heads in a loop, tokens first": """
        import torch
        torch.manual_seed(22)
        src, outs, join = torch.randn(5, 2, 12), [], torch.nn.Linear(12, 12)
        maps = [[torch.nn.Linear(12, 4) for _ in range(3)] for _ in range(3)]
        for lq, lk, lv in maps:
            q, k, v = lq(src).transpose(0, 1), lk(src).transpose(0, 1), lv(src).transpose(0, 1)
            outs.append(torch.softmax(q @ k.transpose(1, 2) / 2, dim=2) @ v)
        z = join(torch.cat(outs, dim=2))
    """,
    "biases by distance in buckets": """
        import torch
        torch.manual_seed(4)
        q, k, v = torch.randn(3, 2, 6, 8)
        far = torch.arange(6)[None] - torch.arange(6)[:, None]
        bucket = (far > 0).long() * 4 + far.abs().clamp(max=3)
        s = q @ k.mT + torch.randn(8, 2)[bucket].permute(2, 0, 1)
        out = s.softmax(-1) @ v
    """,
    "a cache of keys": """
        import torch
        torch.manual_seed(0)
        maps, old = torch.nn.Linear(8, 24), None
        def step(x):
            global old
            q, k, v = maps(x).chunk(3, -1)
            if old is not None:
                k, v = torch.cat([old[0], k]), torch.cat([old[1], v])
            old = k, v
            hidden = torch.ones(len(q), len(k)).tril(len(k) - len(q)) == 0
            return (q @ k.T / 8**0.5).masked_fill(hidden, -torch.inf).softmax(-1) @ v
        x = torch.randn(6, 8)
        y = step(x[:3]), step(x[3:])
    """,
    "normed query and key": """
        import torch
        torch.manual_seed(1)
        x, maps, gain = torch.randn(5, 12), torch.nn.Linear(12, 24), torch.rand(8) + 1
        q, k, v = maps(x).chunk(3, -1)
        def normed(t):
            return t * t.pow(2).mean(-1, keepdim=True).rsqrt() * gain
        out = (normed(q) @ normed(k).T / 8**0.5).softmax(-1) @ v
    """,
    "a convolution after heads of channels": """
        import torch
        torch.manual_seed(0)
        x, maps, proj = torch.randn(2, 8, 6), torch.nn.Conv1d(8, 24, 1), torch.nn.Conv1d(8, 8, 1)
        q, k, v = maps(x).view(4, 12, 6).split(4, 1)
        p = (q.mT @ k / 2).softmax(-1)
        y = proj((v @ p.mT).reshape(2, 8, 6))
    """,
    "an encoder layer of PyTorch": """
        import torch
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
        y = layer(torch.randn(2, 6, 16))
    """,
}


@pytest.mark.parametrize("what", ALL_RIGHT)
def test_right_programs_are_right(tmp_path: Path, what: str) -> None:
    answer = explained(tmp_path, ALL_RIGHT[what])
    assert answer.code == 0 and answer.json["attentions"], answer


@pytest.mark.parametrize("what", NOT_WRONG)
def test_right_programs_are_not_accused(tmp_path: Path, what: str) -> None:
    answer = explained(tmp_path, NOT_WRONG[what])
    lines = [line for each in answer.json["attentions"] for line in each["lines"]]
    assert not [line for line in lines if line["verdict"] in ("WRONG", "DIFFERS")], answer
    assert answer.code in (0, 3)


HEAD = """
    import torch, torch.nn as nn
    from torch.nn import functional as F
    torch.manual_seed(1337)
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.key, self.query, self.value = (nn.Linear(32, 8, bias=False) for _ in range(3))
        def forward(self, x):
            k = self.key(x)
            q = self.query(x)
            wei = q @ k.transpose(-2, -1) * SCALE**-0.5
            wei = wei.masked_fill(torch.tril(torch.ones(8, 8)) == 0, float("-inf"))
            wei = F.softmax(wei, dim=-1)
            v = self.value(x)
            return WEI @ v
    x = torch.randn(2, 8, 32)
    out = torch.cat([each(x) for each in [Head() for _ in range(4)]], dim=-1)
"""


def test_values_of_the_shape_of_the_weights_are_found(tmp_path: Path) -> None:
    assert explained(tmp_path, HEAD, SCALE=8, WEI="wei").code == 0
    flat = explained(tmp_path, HEAD, SCALE=32, WEI="wei")
    assert mistakes(flat) == [(12, "scale-dmodel")], flat
    turned = explained(tmp_path, HEAD, SCALE=8, WEI="wei.transpose(-2, -1)")
    assert mistakes(turned) == [(16, "weights-transposed")], turned


def test_a_fix_keeps_an_expression(tmp_path: Path) -> None:
    answer = explained(tmp_path, HEAD, SCALE=32, WEI="wei")
    assert "fix  wei = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))" in answer.text


WRONG_ONES = {
    "q-dot-q": """
        import torch
        torch.manual_seed(0)
        x, maps = torch.randn(2, 5, 8), torch.nn.Linear(8, 24)
        def heads(t):
            return t.view(2, 5, 2, 4).transpose(1, 2)
        q, k, v = maps(x).chunk(3, -1)
        q, k, v = heads(q), heads(k), heads(v)
        out = (q @ q.transpose(-1, -2) / 2).softmax(-1) @ v
    """,
    "scale-missing ": """
        import torch
        torch.manual_seed(4)
        q, k, v = torch.randn(3, 2, 4, 6, 8)
        away = torch.arange(6) - torch.arange(6)[:, None]
        s = q @ k.mT
        s = s + torch.tensor([4.0**-i for i in range(1, 5)])[:, None, None] * away
        o = s.masked_fill(away > 0, float("-inf")).softmax(-1) @ v
    """,
    "softmax-keepdims=sum": """
        import numpy as np
        Q, K, V = np.random.default_rng(0).normal(size=(3, 6, 4))
        s = Q @ K.T / np.sqrt(4) + np.triu(np.full((6, 6), -1e9), 1)
        e = np.exp(s - s.max(1, keepdims=True))
        A = e / e.sum(1)
        out = A @ V
    """,
    "mask-added-bool=keep": """
        import torch
        torch.manual_seed(0)
        x, wq, wk, wv = torch.randn(2, 6, 8), *torch.randn(3, 8, 8) * 0.4
        keep = torch.tensor([[1.0, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0]])
        q, k, v = x @ wq, x @ wk, x @ wv
        s = q @ k.mT / 8**0.5
        s = s + keep[:, None]
        out = s.softmax(-1) @ v
    """,
    "rope-theta=37276": """
        import torch
        torch.manual_seed(7)
        x, wq, wk, wv = torch.randn(6, 8), *torch.randn(3, 8, 8) * 0.4
        angle = torch.arange(6)[:, None] / 10000 ** (torch.arange(0, 8, 2) / 7).repeat(2)
        def turned(t):
            a, b = t.chunk(2, -1)
            return t * angle.cos() + torch.cat([-b, a], -1) * angle.sin()
        q, k, v = turned(x @ wq), turned(x @ wk), x @ wv
        out = (q @ k.T / 8**0.5).softmax(-1) @ v
    """,
    "softmax-axis=query": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 2, 6, 4)
        pad = torch.tensor([[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 1]]).bool()
        s = (q @ k.transpose(1, 2) / 2).masked_fill(pad[:, None], float("-inf"))
        w = s.softmax(dim=1)
        o = w @ v
    """,
    "softmax-keepdims": """
        import numpy as np
        rng = np.random.default_rng(0)
        Q, K, V = rng.normal(size=(3, 6, 4))
        e = np.exp(Q @ K.T / np.sqrt(4))
        A = e / e.sum(1)
        out = A @ V
    """,
    "scale-twice": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 3, 5, 8)
        q = q * 8**-0.5
        s = q @ k.transpose(1, 2) * 8**-0.5
        o = s.softmax(-1) @ v
    """,
    "softmax-sum=query": """
        import numpy as np
        r = np.random.default_rng(3)
        def look(q, k, v):
            scores = q @ k.T
            e = np.exp(scores - scores.max(1)[:, None])
            return e / e.sum(0) @ v
        query = r.normal(size=(4, 2)) / 2**0.25
        key = r.normal(size=(4, 2)) / 2**0.25
        out = look(query, key, r.normal(size=(4, 2)))
    """,
    "log-softmax": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 5, 4)
        attn = (q @ k.T / 2).log_softmax(-1)
        out = attn @ v
    """,
    "mask-inverted": """
        import numpy as np
        r = np.random.default_rng(8)
        q, k, v = r.normal(size=(3, 4, 3))
        raw = np.where(np.tril(np.ones((4, 4), bool)), -np.inf, q @ k.T / np.sqrt(3))
        with np.errstate(invalid="ignore"):
            e = np.exp(raw - raw.max(1, keepdims=True))
            w = e / e.sum(1, keepdims=True)
        out = w @ v
    """,
    "scores-transposed": """
        import torch
        torch.manual_seed(1)
        split = lambda t: t.reshape(4, 2, 3).transpose(0, 1)
        x, wq, wk, wv = torch.randn(4, 6), *torch.randn(3, 6, 6)
        q = split(x @ wq)
        k = split(x @ wk)
        v = split(x @ wv)
        s = torch.einsum("hid,hjd->hij", k, q) / 3**0.5
        out = s.softmax(-1) @ v
    """,
    "mask-fill-too-small=-1": """
        import torch
        torch.manual_seed(6)
        ids = torch.tensor([[7, 3, 9, 4, 0], [2, 8, 0, 0, 0]])
        x = torch.nn.Embedding(10, 8)(ids)
        q, k, v = (torch.nn.Linear(8, 8)(x) for _ in range(3))
        keep = (ids != 0)[:, None] & torch.ones(5, 5).tril().bool()
        scores = torch.where(keep, q @ k.mT / 8**0.5, torch.tensor(-1.0))
        out = scores.softmax(-1) @ v
    """,
    "mask-times-zero": """
        import numpy as np
        r = np.random.default_rng(2)
        source, target = r.normal(size=(2, 6, 8)), r.normal(size=(2, 3, 8))
        real = np.arange(6) < np.array([6, 4])[:, None]
        s = target @ source.transpose(0, 2, 1) / np.sqrt(8)
        s = np.where(real[:, None], s, 0)
        a = np.exp(s - s.max(-1, keepdims=True))
        a = a / a.sum(-1, keepdims=True)
        c = a @ source
    """,
    "softmax-keepdims ": """
        import numpy as np
        r = np.random.default_rng(1)
        x = r.random((5, 6))
        a, b, c = (x @ r.random((6, 6)) for _ in range(3))
        def normed(z):
            e = np.exp(z)
            return e / e.sum(axis=1)
        print(normed(a @ b.T / np.sqrt(6)) @ c)
    """,
    "fully-masked-row": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 2, 4, 6, 4)
        mask = torch.ones(2, 1, 1, 6)
        mask[1, :, :, 4:] = 0
        scores = (q @ k.mT / 2).masked_fill(mask == 1, -1e9)
        out = scores.softmax(-1) @ v
    """,
    "scale-missing": """
        import torch
        torch.manual_seed(2)
        net = {name: torch.nn.Linear(6, 6) for name in ("q", "k", "v", "o")}
        def fold(t):
            return t.contiguous().view(5, 3 * 2, 3).transpose(0, 1)
        x = torch.randn(5, 3, 6)
        q, k, v = (fold(net[name](x)) for name in "qkv")
        attn = torch.softmax(torch.bmm(q, k.transpose(1, 2)), -1)
        y = net["o"](torch.bmm(attn, v).transpose(0, 1).reshape(5, 3, 6))
    """,
}


@pytest.mark.parametrize("mistake", WRONG_ONES)
def test_mistakes_are_named(tmp_path: Path, mistake: str) -> None:
    answer = explained(tmp_path, WRONG_ONES[mistake])
    lines = [line for each in answer.json["attentions"] for line in each["lines"]]
    assert mistake.strip() in {line.get("mistake") for line in lines}, answer


ASKED = {
    "the value of another token": """
        import torch
        torch.manual_seed(0)
        maps, old = torch.nn.Linear(8, 24), None
        def step(x):
            global old
            q, k, v = maps(x).chunk(3, -1)
            if old is not None:
                k = torch.cat([old[0], k])
                v = torch.cat([v, old[1]])
            old = k, v
            s = (q @ k.T / 8**0.5)
            return s.softmax(-1) @ v
        x = torch.randn(6, 8)
        y = step(x[:5]), step(x[5:])
    """,
    "with the value of another": """
        import torch
        torch.manual_seed(0)
        maps, old = torch.nn.Linear(8, 24), None
        def step(x):
            global old
            q, k, v = maps(x).chunk(3, -1)
            if old is not None:
                k = torch.cat([old[1], k])
                v = torch.cat([old[1], v])
            old = k, v
            s = (q @ k.T / 8**0.5)
            return s.softmax(-1) @ v
        x = torch.randn(6, 8)
        y = step(x[:5]), step(x[5:])
    """,
    "an empty slot of a cache": """
        import torch
        torch.manual_seed(0)
        maps, old = torch.nn.Linear(8, 24), None
        def step(x):
            global old
            q, k, v = maps(x).chunk(3, -1)
            if old is not None:
                k = torch.cat([torch.zeros(1, 8), old[0][1:], k])
                v = torch.cat([torch.zeros(1, 8), old[1][1:], v])
            old = k, v
            s = (q @ k.T / 8**0.5)
            return s.softmax(-1) @ v
        x = torch.randn(6, 8)
        y = step(x[:5]), step(x[5:])
    """,
    "from the beginning of the cache": """
        import torch
        torch.manual_seed(7)
        wq, wk, wv = torch.randn(3, 8, 8) * 0.4
        def turned(t, at):
            angle = at[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8).repeat(2)
            a, b = t.chunk(2, -1)
            out = t * angle.cos() + torch.cat([-b, a], -1) * angle.sin()
            return out
        keys, values, x = torch.zeros(0, 8), torch.zeros(0, 8), torch.randn(6, 8)
        for part, start in (x[:4], 0), (x[4:5], 4), (x[5:], 4):
            at = torch.arange(start, start + len(part))
            q, k, v = turned(part @ wq, at), turned(part @ wk, at), part @ wv
            keys, values = torch.cat([keys, k]), torch.cat([values, v])
            scores = q @ keys.T / 8**0.5
            out = scores.softmax(-1) @ values
    """,
    "or is the mask inverted": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 2, 6, 4)
        keep = torch.arange(6) < torch.tensor([[5], [3]])
        s = (q @ k.mT / 2).masked_fill(keep[:, None], -1e9)
        o = s.softmax(-1) @ v
    """,
    "heads of one sample hide different keys": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 2, 3, 5, 4)
        padded = torch.arange(5) >= torch.tensor([5, 3]).repeat(3)[:, None]
        s = (q @ k.mT / 2).masked_fill(padded.view(2, 3, 1, 5), -1e9)
        o = s.softmax(-1) @ v
    """,
    "varies from query to query": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 2, 4, 4)
        lengths = torch.tensor([4, 2]).repeat(4).view(2, 4, 1)
        s = (q @ k.mT / 2).masked_fill(torch.arange(4) >= lengths, -1e9)
        o = s.softmax(-1) @ v
    """,
    "is `or` intended": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 2, 6, 4)
        real = torch.arange(6) < torch.tensor([[6], [4]])
        keep = real[:, None] | torch.ones(6, 6).tril().bool()
        s = (q @ k.mT / 2).masked_fill(~keep, -1e9)
        o = s.softmax(-1) @ v
    """,
    "hide no key": """
        import numpy as np
        q, k, v = np.random.default_rng(0).normal(size=(3, 6, 4))
        far = np.arange(6)[:, None] - np.arange(6)
        near = (far >= 0) | (far < 3)
        s = np.where(near, q @ k.T / 2, -np.inf)
        e = np.exp(s - s.max(-1, keepdims=True))
        o = e / e.sum(-1, keepdims=True) @ v
    """,
    "the axis of the queries": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 2, 6, 4)
        real = (torch.arange(6) < torch.tensor([[6], [4]]))[:, :, None]
        keep = real & torch.ones(6, 6).tril().bool()
        s = (q @ k.mT / 2).masked_fill(~keep, -1e9)
        o = s.softmax(-1) @ v
    """,
    "is computed from the context": """
        import torch
        torch.manual_seed(0)
        x, maps, out_proj = torch.randn(2, 5, 8), torch.nn.Linear(8, 24), torch.nn.Linear(4, 8)
        q, k, v = maps(x).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        o = (q @ k.mT / 2).softmax(-1) @ v
        o = o.mean(1)
        y = out_proj(o)
    """,
    "the bias of the value is not added": """
        import numpy as np
        r = np.random.default_rng(0)
        x, Wq, Wk, Wv = r.normal(size=(5, 4)), *r.normal(size=(3, 4, 4))
        bq, bk, bv = r.normal(size=(3, 4))
        q = x @ Wq + bq
        k = x @ Wk + bk
        v = x @ Wv
        e = np.exp(q @ k.T / 2)
        o = e / e.sum(-1, keepdims=True) @ v
    """,
    "heads of the query are in another order": """
        import torch
        torch.manual_seed(0)
        x, maps = torch.randn(2, 5, 8), torch.nn.Linear(8, 24)
        q, k, v = (t.view(2, 5, 4, 2).transpose(1, 2) for t in maps(x).chunk(3, -1))
        q = q.reshape(2, 2, 2, 5, 2).transpose(1, 2).reshape(2, 4, 5, 2)
        o = (q @ k.mT / 2**0.5).softmax(-1) @ v
    """,
    "heads of one token": """
        import torch
        torch.manual_seed(0)
        x, maps = torch.randn(2, 5, 12), torch.nn.Linear(12, 36)
        q, k, v = maps(x).view(2, 5, 3, 3, 4).permute(2, 0, 1, 3, 4)
        o = (q @ k.mT / 2).softmax(-1) @ v
    """,
    "is normalized and the key is not": """
        import torch
        torch.manual_seed(1)
        x, maps, gain = torch.randn(5, 12), torch.nn.Linear(12, 24), torch.rand(8) + 1
        q, k, v = maps(x).chunk(3, -1)
        q = q * q.pow(2).mean(-1, keepdim=True).rsqrt() * gain
        out = (q @ k.T / 8**0.5).softmax(-1) @ v
    """,
    "is the bias transposed": """
        import torch
        torch.manual_seed(4)
        q, k, v = torch.randn(3, 2, 6, 8)
        far = torch.arange(6)[None] - torch.arange(6)[:, None]
        bucket = (far > 0).long() * 4 + far.abs().clamp(max=3)
        table = torch.randn(8, 2)
        s = q @ k.mT
        s = s + table[bucket].permute(2, 1, 0)
        out = s.softmax(-1) @ v
    """,
    "exchanged in the distance": """
        import torch
        torch.manual_seed(4)
        q, k, v = torch.randn(3, 2, 6, 8)
        far = torch.arange(6)[:, None] - torch.arange(6)
        bucket = (far > 0).long() * 4 + far.abs().clamp(max=3)
        table = torch.randn(8, 2)
        s = q @ k.mT
        s = s + table[bucket].permute(2, 0, 1)
        out = s.softmax(-1) @ v
    """,
    "not multiplied by a cap": """
        import torch
        torch.manual_seed(4)
        q, k, v = torch.randn(3, 4, 6, 8)
        s = q @ k.mT / 8**0.5
        s = s / 5
        s = torch.tanh(s)
        o = s.softmax(-1) @ v
    """,
    "value and key come from the same matrix": """
        import torch
        torch.manual_seed(1)
        W_q, W_k = (torch.nn.LazyLinear(8, bias=False) for _ in range(2))
        x = torch.randn(2, 5, 6)
        q, k, v = W_q(x), W_k(x), W_k(x)
        o = (q @ k.mT / 8**0.5).softmax(-1) @ v
    """,
    "not by 1 / sqrt(width of the query)": """
        import torch
        torch.manual_seed(1)
        x, maps = torch.randn(2, 5, 6), torch.nn.Linear(6, 24)
        q, k, v = (t.view(2, 5, 2, 4).transpose(1, 2) for t in maps(x).chunk(3, -1))
        s = q @ k.mT
        s = s / 8**0.5
        o = s.softmax(-1) @ v
    """,
    "no token sees itself": """
        import torch
        torch.manual_seed(3)
        q, k, v = torch.randn(3, 6, 4)
        near = (torch.arange(6)[:, None] - torch.arange(6)).abs() < 2
        attn = (q @ k.T / 2).masked_fill(near, -1e9).softmax(-1)
        out = attn @ v
    """,
    "used transposed": """
        import torch
        torch.manual_seed(4)
        x, wq, wk, wv = torch.randn(5, 6), *torch.randn(3, 6, 6)
        q, k, v = x @ wq.T, x @ wk.T, x @ wv
        out = (q @ k.T / 6**0.5).softmax(-1) @ v
    """,
    "does not use it": """
        import torch
        torch.manual_seed(5)
        attention = torch.nn.MultiheadAttention(6, 2, batch_first=True).eval()
        x = torch.randn(2, 4, 6)
        later = torch.ones(4, 4).triu(1).bool()
        padding = torch.tensor([[False] * 4, [False, False, True, True]])
        y, _ = attention(x, x, x, key_padding_mask=padding)
    """,
    "how the scores change": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 5, 4)
        s = q @ k.T / 2
        s = s**2
        out = s.softmax(-1) @ v
    """,
    "how the query is computed": """
        import torch
        torch.manual_seed(0)
        def noisy(x):
            y = x + torch.randn_like(x)
            return y
        x, wq, wk, wv = torch.randn(5, 6), *torch.randn(3, 6, 6)
        q, k, v = x @ wq, x @ wk, x @ wv
        q = noisy(q)
        out = (q @ k.T / 6**0.5).softmax(-1) @ v
    """,
    "this product with the weights": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 2, 5, 8)
        p_attn = (q @ k.transpose(1, 2) / 8**0.5).softmax(-1)
        o = (p_attn**2) @ v
    """,
    "not aligned at the last key": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(2, 8), *torch.randn(2, 6, 8)
        keep = torch.ones(2, 6).tril() == 1
        s = (q @ k.T / 8**0.5).masked_fill(~keep, float("-inf"))
        o = s.softmax(-1) @ v
    """,
    "all keys of query 4 are hidden": """
        import torch
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 2, 6, 4)
        real = torch.tensor([1.0, 1, 1, 1, 0, 0])
        s = q @ k.transpose(-2, -1) / 2 + (real[:, None] - 1) * 10000.0
        o = s.softmax(-1) @ v
    """,
    "one token several times": """
        import torch
        torch.manual_seed(0)
        ids = torch.tensor([[4, 5, 6, 7, 0, 0], [3, 2, 1, 0, 0, 0]])
        x = torch.randn(10, 8)[ids]
        q, k, v = x @ torch.randn(8, 8), x @ torch.randn(8, 8), x @ torch.randn(8, 8)
        s = (q @ k.mT / 8**0.5).masked_fill((ids != 0)[:, None], float("-inf"))
        o = s.softmax(-1) @ v
    """,
    "one token several times, such as padding": """
        import numpy as np
        r = np.random.default_rng(3)
        ids = np.array([[1, 2, 3, 4, 0], [2, 3, 0, 0, 0]])
        x = r.normal(size=(5, 8))[ids] + np.sin(np.arange(5))[:, None]
        q, k, v = (x @ r.normal(size=(8, 8)) for _ in range(3))
        s = q @ k.transpose(0, 2, 1) / np.sqrt(8)
        s = np.where((ids != 0)[:, None], -1e9, s)
        w = np.exp(s - s.max(-1, keepdims=True))
        w = w / w.sum(-1, keepdims=True)
        y = w @ v
    """,
    "where ALiBi has": """
        import torch
        torch.manual_seed(4)
        q, k, v = torch.randn(3, 2, 4, 6, 8)
        away = torch.arange(6) - torch.arange(6)[:, None]
        slopes = torch.tensor([2.0**-i for i in range(4)])
        s = q @ k.mT / 8**0.5 + slopes[:, None, None] * away
        s = s.masked_fill(away > 0, float("-inf"))
        o = s.softmax(-1) @ v
    """,
    "not multiplied by W_o": """
        import torch
        from torch import nn
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(8, 8) for _ in range(4))
            def forward(self, x):
                q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
                y = (q @ k.mT / 8**0.5).softmax(-1) @ v
                return y
        torch.manual_seed(0)
        y = Attention()(torch.randn(2, 5, 8))
    """,
    "dropout is on": """
        import torch
        torch.manual_seed(1)
        attend = torch.nn.MultiheadAttention(16, 4, dropout=0.1, batch_first=True)
        x = torch.randn(2, 5, 16)
        y, w = attend(x, x, x)
    """,
    "not by 1 / sqrt": """
        import torch
        torch.manual_seed(4)
        q, k, v = torch.randn(3, 4, 6, 8)
        s = torch.tanh(q @ k.mT / 8**0.5 / 20)
        o = s.softmax(-1) @ v
    """,
}


@pytest.mark.parametrize("words", ASKED)
def test_questions_have_their_line(tmp_path: Path, words: str) -> None:
    answer = explained(tmp_path, ASKED[words])
    asked = [each for found in answer.json["attentions"] for each in found["questions"]]
    assert answer.code == 3 and [each for each in asked if words in each["text"]], answer
    source = textwrap.dedent(ASKED[words]).splitlines()
    for each in asked:
        assert "=" in source[each["line"] - 1]


AT_THE_CAUSE = {
    (
        5,
        "scale-dmodel",
    ): """
        import torch
        torch.manual_seed(1)
        x, maps = torch.randn(2, 5, 8), torch.nn.Linear(8, 24)
        q, k, v = (t.view(2, 5, 2, 4).transpose(1, 2) for t in maps(x).chunk(3, -1))
        q = q * 8**-0.5
        s = q @ k.mT
        o = s.softmax(-1) @ v
    """,
    (
        6,
        "causal-triu",
    ): """
        import torch
        torch.manual_seed(1)
        q, k, v = torch.randn(3, 2, 5, 4)
        padded = torch.arange(5) >= torch.tensor([[5], [3]])
        s = q @ k.mT / 2
        s = s.masked_fill(torch.ones(5, 5).tril(-1).bool(), -torch.inf)
        s = s.masked_fill(padded[:, None], -torch.inf)
        o = s.softmax(-1) @ v
    """,
    (
        4,
        "scale-missing",
    ): """
        import torch
        torch.manual_seed(1)
        q, k, v = torch.randn(3, 2, 5, 4)
        s = q @ k.mT
        scaled = s / 2
        o = torch.softmax(s, -1) @ v
    """,
    (
        7,
        "mask-times-zero",
    ): """
        import torch
        torch.manual_seed(1)
        x, maps = torch.randn(2, 5, 8), torch.nn.Linear(8, 24)
        q, k, v = (t.view(2, 5, 2, 4).transpose(1, 2) for t in maps(x).chunk(3, -1))
        padded = torch.arange(5) >= torch.tensor([[5], [3]])
        s = q @ k.mT / 2
        s = s.masked_fill(padded[:, None, None], 0.0)
        s = s.reshape(2 * 2, 5, 5)
        o = s.softmax(-1).view(2, 2, 5, 5) @ v
    """,
}


@pytest.mark.parametrize("place", AT_THE_CAUSE)
def test_a_mistake_is_reported_at_its_cause(tmp_path: Path, place: tuple[int, str]) -> None:
    answer = explained(tmp_path, AT_THE_CAUSE[place])
    assert mistakes(answer)[0] == (place[0] + 1, place[1]), answer

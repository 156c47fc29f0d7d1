"""What a notebook adds: completion, types, figures, tables, copies, and errors of two lines."""

from __future__ import annotations

import copy
import inspect
import json
import os
import pickle
import re
import rlcompleter
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
import attn_explain as ae  # noqa: E402

HERE, PYTHON = Path(__file__).parent, Path(__file__).parents[2] / "app" / "python"
R = np.random.default_rng(3)


# What IPython completes and prints, as JSON: lines to complete, and cells to run.
SESSION = """
import contextlib, inspect, io, json, sys
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_cell("import attn_explain as ae; w = ae.walk(heads=2, mask='causal')")
lines, cells = json.load(sys.stdin)
found, printed = [], []
for jedi in (True, False):
    shell.Completer.use_jedi = jedi
    with provisionalcompleter():
        for line in lines:
            texts = [each.text for each in shell.Completer.completions(line, len(line))]
            found.append([line, jedi, [text.split(".")[-1] for text in texts]])
for cell in cells:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        shell.run_cell(cell)
    printed.append(text.getvalue())
print(json.dumps([found, printed]))
"""


def session(lines: list[str], cells: list[str]) -> Any:
    pytest.importorskip("IPython")
    env = {**os.environ, "PYTHONPATH": str(PYTHON), "NO_COLOR": "1"}
    words, text = [sys.executable, "-c", SESSION], json.dumps([lines, cells])
    done = subprocess.run(words, env=env, input=text, capture_output=True, text=True)
    return json.loads(done.stdout.split("\n")[-2])


def test_completion_in_ipython() -> None:
    """With jedi, which reads signatures, and without."""
    wanted = {
        "w.wei": "weights",
        "w.masked_s": "masked_scores",
        "w.pl": "plot",
        'w["wei': "weights",
        "ae.walk(softma": "softmax_axis=",
        "ae.walk(heads=2, ro": "rope=",
        "ae.why('weights[0,0]', kv": "kv_heads=",
        "ae.diagnose(w, deci": "decimals=",
        "ae.explain('f.py', func": "function=",
        "w.svg('weights', fig": "figure=",
        "w.plot(na": "name=",
    }
    for line, jedi, texts in session(list(wanted), [])[0]:
        assert wanted[line] in texts, (line, jedi, texts)


def test_completion_at_the_plain_prompt() -> None:
    complete = rlcompleter.Completer({"w": ae.walk(), "ae": ae}).complete
    assert complete("w.weigh", 0) == "w.weights"
    assert complete("ae.diag", 0) == "ae.diagnose("


def test_help_in_ipython_and_errors_of_two_lines() -> None:
    cells = {
        "1\nae.walk(heads=0)": "AttnError: heads must be",
        "1\nw.wights": "NoTensor: there is no wights: did you mean weights?",
        "1\nw['wights']": "NoTensor: there is no wights: did you mean weights?",
        "1\nw.plot('weights', row=1)": "AttnError: weights has no axis row",
        "1\nae.walk(x=[[1], [2, 3]])": "AttnError: x has rows of several lengths",
    }
    text, *errors = session([], ["print(ae.walk.__doc__)", *cells])[1]
    assert "heads: number of heads" in text
    for cell, printed in zip(cells, errors):
        lines = printed.strip().split("\n")
        assert len(lines) == 2, lines
        assert lines[0].endswith("line 2: " + cell.split("\n")[1]), lines
        assert lines[1].startswith(cells[cell]), lines
    # The program is not called for its flags unless a user types.
    assert [*inspect.signature(ae.walk).parameters] == ["flags"]


def test_the_types_are_those_of_the_module(tmp_path: Path) -> None:
    """stubtest compares the stub with the module, mypy reads calls as users write them."""
    for file in PYTHON.glob("attn_*.py"):
        shutil.copy(file, tmp_path)
    ae.run("completions python", output=tmp_path / "attn_explain.pyi")
    user = tmp_path / "user.py"
    text = (HERE / "typed_calls.txt").read_text()
    user.write_text(text)
    mypy = [sys.executable, "-m", "mypy"]
    env = {**os.environ, "MYPYPATH": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    run: Any = {"capture_output": True, "text": True, "cwd": tmp_path, "env": env}
    done = subprocess.run([*mypy, "--strict", "--cache-dir=/dev/null", "user.py"], **run)
    wrong = {int(each) for each in re.findall(r"user\.py:(\d+): error", done.stdout)}
    lines = enumerate(text.split("\n"), 1)
    assert wrong == {at for at, line in lines if line.endswith("# wrong")}, done.stdout
    allowed = tmp_path / "allowed"
    # Users do not construct answers themselves; cached properties are attributes.
    allowed.write_text("attn_explain\\..*\\.(__init__|json|steps|tensors)\n")
    stubtest = [*mypy[:1], "-m", "mypy.stubtest", "attn_explain", "--ignore-missing-stub"]
    done = subprocess.run([*stubtest, "--allowlist", allowed, "--ignore-unused-allowlist"], **run)
    assert done.returncode == 0, done.stdout


def test_each_flag_is_a_keyword() -> None:
    """The walk's flags in the completions of a shell are the keywords of walk()."""
    fish = ae.run("completions fish").text
    lines = [line for line in fish.split("\n") if "not __attn_explain_command" in line]
    flags = {
        each.replace("-", "_") for line in lines for each in re.findall(r" -l ([a-z-]+)", line)
    }
    known = set(inspect.signature(ae._stub(ae.program())["walk"]).parameters) - {"tensors"}
    assert {"from_" if each == "from" else each for each in flags} - known == {
        *("help", "version", "no_pager", "json", "color", "watch", "pace")
    }


def test_a_copy_needs_nothing_of_the_first(tmp_path: Path) -> None:
    x = R.normal(size=(3, 4)).astype("f4")
    walk = ae.walk(x=x, heads=2)
    for again in (copy.copy(walk), copy.deepcopy(walk), pickle.loads(pickle.dumps(walk))):
        assert np.array_equal(again.x, x) and again.why("weights[0,1,0]").ok
    (tmp_path / "walk").write_bytes(pickle.dumps(ae.walk(x=x, heads=2)))
    text = (
        "import pickle; w = pickle.load(open('walk', 'rb')); print(w.x.sum(), w.why('x[0,0]').code)"
    )
    env = {**os.environ, "PYTHONPATH": str(PYTHON)}
    said = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, env=env, capture_output=True)
    assert said.stdout.decode().split() == [str(x.sum()), "0"], said.stderr


@pytest.fixture
def plt() -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def words(labels: Any) -> list[str]:
    return [each.get_text() for each in labels]


def test_plot_draws_the_numbers_with_their_words(plt: Any) -> None:
    walk = ae.walk(text="the cat sat", heads=2, mask="causal")
    panels = walk.plot("weights")
    assert len(panels) == 2 and "head 1" in panels[1].get_title()
    for head, panel in enumerate(panels):
        shown = panel.images[0].get_array()
        assert np.array_equal(shown.mask, walk.mask)
        assert np.array_equal(shown.data[~walk.mask], walk.weights[head][~walk.mask])
        assert (
            words(panel.get_xticklabels())
            == words(panel.get_yticklabels())
            == "the cat sat".split()
        )
        hatched = panel.collections[0]
        assert hatched.get_hatch() == "////" and len(hatched.get_paths()) == walk.mask.sum()
        assert len(panel.texts) == (~walk.mask).sum()
    one = walk.plot("weights", head=1)
    assert np.array_equal(one.images[0].get_array().data, shown.data, equal_nan=True)
    _, ax = plt.subplots()
    assert walk.plot("query", ax, head=0) is ax and not ax.collections
    assert walk.plot("row_sum", head=0).get_xlabel() == "query"
    one.figure.canvas.draw()
    for call, said in (
        (lambda: walk.plot("weights", ax), "2 panels: choose one with head=0"),
        (lambda: walk.plot("weights", head=2), "2 places along head"),
        (lambda: walk.plot("weights", row=2), "no axis row"),
        (lambda: walk.plot("wights"), "did you mean weights"),
    ):
        with pytest.raises(ae.AttnError, match=said):
            call()


def test_frame_is_the_tensor_as_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    walk = ae.walk(text=["the cat sat", "a dog"], heads=2)
    table = walk.frame("weights")
    assert table.index.names == ["batch", "head", "query"] and table.columns.name == "key"
    assert np.array_equal(
        table.to_numpy().reshape(walk.weights.shape), walk.weights, equal_nan=True
    )
    assert table.loc[(0, 1, "cat")].to_numpy().tolist() == walk.weights[0, 1, 1].tolist()
    first = walk.frame("weights", batch=0, head=1)
    assert first.loc["cat", "sat"] == walk.weights[0, 1, 1, 2]
    assert [*walk.frame("weights", batch=1, head=0).columns] == ["a", "dog", "<pad>"]
    assert walk.frame("row_sum", batch=0, head=0)["row_sum"].tolist() == walk.row_sum[0, 0].tolist()
    assert isinstance(ae.walk(example="adjective").frame("x"), pandas.DataFrame)
    assert [*ae.walk(example="adjective").frame("x").columns][:2] == ["article", "adjective"]


@pytest.mark.parametrize("module, call", (("matplotlib", "plot"), ("pandas", "frame")))
def test_what_is_missing_is_named(monkeypatch: Any, module: str, call: str) -> None:
    for name in [each for each in sys.modules if each.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ae.AttnError, match=rf"^{call}\(\) needs {module}, which is not installed$"):
        getattr(ae.walk(), call)("weights")


def test_the_version_is_the_programs() -> None:
    assert ae.run("--version").text.split() == ["attn-explain", ae.__version__]
    with pytest.raises(AttributeError, match="no __verse__"):
        getattr(ae, "__verse__")


def attention(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T / q.shape[-1] ** 0.5
    e = np.exp(s)
    w = e / e.sum(-1, keepdims=True)
    return w @ v


def test_an_explained_program_has_tensors() -> None:
    q, k, v = R.normal(size=(3, 5, 4))
    answer = ae.explain(attention, q, k, v)
    s = np.exp(q @ k.T / 2)
    assert np.allclose(answer["weights"], s / s.sum(-1, keepdims=True), atol=1e-6)
    assert "scaled_scores" in dir(answer) and "weights" in answer._ipython_key_completions_()
    assert answer._repr_html_().startswith("<iframe")
    again = pickle.loads(pickle.dumps(answer))
    assert np.allclose(again.context, attention(q, k, v), atol=1e-6)


def test_a_page_is_as_high_as_it_needs(tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no Chromium")
    heights = {}
    cross = {"text": "the cat sat", "memory_text": "le chat"}  # two lines of words
    for flags in ({"only": "x", "seq_len": 1, "embed_dim": 1}, cross):
        page = tmp_path / "page.html"
        page.write_text(
            f"<!DOCTYPE html><body style='background:#fff'>{ae.walk(**flags)._repr_html_()}"
        )
        for window in (900, 4000):
            words = [
                chromium,
                "--headless",
                "--no-sandbox",
                "--dump-dom",
                "--virtual-time-budget=9000",
            ]
            words += [f"--user-data-dir={tmp_path}/profile", f"--window-size=1000,{window}"]
            dom = subprocess.run([*words, page.as_uri()], capture_output=True, text=True).stdout
            found = re.search(r'<iframe style="[^"]*height: ?([\d.]+)px', dom)
            assert found, dom[:300]
            heights[len(flags), window] = float(found[1])
    # A low window shows a part, which scrolls; a high one the whole, without a gap below it.
    assert (
        heights[3, 900]
        == heights[2, 900]
        < 0.8 * 900
        < heights[3, 4000]
        < heights[2, 4000]
        < 0.8 * 4000
    )

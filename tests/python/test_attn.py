"""Tests calls of the module, verify on random walks, the wheel, and the notebook of the tour."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import attn_explain as ae  # noqa: E402
from attn_verify import verify  # noqa: E402

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
R = np.random.default_rng(0)
Q, K, V = (R.normal(size=(2, 5, 4)).astype("f4") for _ in range(3))


def attention(scale: float) -> tuple[Any, Any]:
    w = np.exp(Q @ K.swapaxes(-1, -2) * scale)
    w /= w.sum(-1, keepdims=True)
    return w, w @ V


W, OUT = attention(0.5)
TORCH = {name: torch.from_numpy(each) for name, each in zip("qkv", (Q, K, V))}
HALF = {name: each.bfloat16() for name, each in TORCH.items()}
QKV = {"projection": "none", "query": Q, "key": K, "value": V, "heads": 2}


@pytest.mark.parametrize("line", (HERE / "calls.txt").read_text().splitlines())
def test_a_call_is_true(line: str) -> None:
    assert eval(line, {**globals(), **vars(ae)})


def test_an_error_carries_the_programs_line(monkeypatch: Any) -> None:
    with pytest.raises(ae.AttnError, match="^heads must be at least 1, not 0$"):
        ae.walk(heads=0)
    with pytest.raises(ae.AttnError, match="^--heads must be at least 1, not 0$"):
        ae.run("--heads 0")
    with pytest.raises(AttributeError, match=r"no wights: did you mean weights\?$"):
        ae.walk().wights
    with pytest.raises(KeyError, match="^there is no zz: ids, "):
        ae.walk()["zz"]
    monkeypatch.setenv("ATTN_EXPLAIN", "/nowhere")
    with pytest.raises(ae.AttnError, match="looked for /nowhere: install"):
        ae.walk()


@pytest.mark.parametrize("call, said", (
    (lambda: ae.walk("the cat"), r"walk\(text='the cat'\)$"), (lambda: ae.lint(Q), r"lint\(x=\.\.\.\)$"),
    (lambda: ae.walk(x=Q[0], mask=np.eye(5) > 0), 'needs mask_true="keep" or mask_true="drop"'),
    (lambda: ae.walk(sliding=3), 'did you mean mask="causal,window:3"'),
    (lambda: ae.compare(Q, K), "by their names, .* not ndarray$"), (lambda: ae.watch(3), "not int$"),
    (lambda: ae.explain(attention), "missing a required argument: 'scale'"),
    (lambda: ae.explain(3), "not int$"), (lambda: ae.walk(x=Q[0], tokens=["a,b", "c"]), "'a,b'"),
))  # fmt: skip
def test_an_error_speaks_of_python(call: Any, said: str) -> None:
    with pytest.raises(ae.AttnError, match=said) as error:
        call()
    assert len(str(error.value)) < 160 and "/tmp" not in str(error.value)


def test_a_walk_in_a_file_says_so(tmp_path: Path) -> None:
    for page in (
        ae.walk(output=f"{tmp_path}/w.html"),
        ae.run("heads --text 'a b c d'", output=f"{tmp_path}/h.html"),
    ):
        assert repr(page).endswith(".html was written") and "was written" in page._repr_html_()


@pytest.mark.parametrize("call", (
    lambda: ae.bugs("--output=f"), lambda: ae.bugs("-o=f"), lambda: ae.diagnose("--power"),
    lambda: ae.compare("--output=f", "--heads 1", seed=1), lambda: ae.why("--output=f"),
    lambda: ae.walk(text="a\0b"), lambda: ae.walk(text=["a " * 9] * 200000), lambda: ae.run("why 'a"),
    lambda: ae.walk(x=np.ma.masked_equal(Q[0], Q[0, 0, 0])), lambda: ae.walk(output="f").weights,
    lambda: ae.walk(list_steps=True).weights, lambda: ae.diagnose({"q": Q}, k=K),
))  # fmt: skip
def test_a_value_is_not_taken_for_a_flag(call: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ae.AttnError):
        call()
    assert not set(os.listdir(tmp_path)) - {"f"} and not (tmp_path / "f").is_dir()


def test_gradients_kept_by_pytorch_are_judged() -> None:
    q, k, v = (torch.from_numpy(each).requires_grad_() for each in (Q, K, V))
    out = torch.softmax(q @ k.transpose(1, 2) / 2, -1) @ v
    out.retain_grad()
    out.square().sum().backward()
    right = ae.diagnose(q=q, k=k, v=v, context=out, heads=2, backward=True)
    assert right.ok and "q" in repr(right.json["gradients"]["compared"])
    wrong = ae.diagnose(q=q, k=k, v=v, context=out, d_k=2 * k.grad, heads=2, backward=True)
    assert not wrong.ok and wrong.findings


def gallery() -> list[str]:
    """Each attention of the gallery in each of its forms, as flags."""
    lines = []
    for file in sorted((ROOT / "data" / "attentions").glob("*.attn")):
        if file.stem == "standard":  # the walk itself
            continue
        forms = re.findall(r"^form (\S+)", file.read_text(), re.M)
        lines += [f"--attention {file.stem} {each}" for each in map("--form {}".format, forms)]
        lines += [] if forms else [f"--attention {file.stem}"]
    return lines


def verdict(path: Path, walk: Any) -> tuple[bool, list[str]]:
    """Whether verify confirms a walk, and its lines."""
    lines: list[str] = []
    path.write_text(json.dumps(walk))
    try:
        return verify(str(path), lines.append), lines
    except ValueError:  # nothing could be checked
        return False, lines


@pytest.mark.parametrize("dtype", ("float64", "float32", "float16", "bfloat16"))
def test_verify_confirms_every_published_attention(tmp_path: Path, dtype: str) -> None:
    for at, line in enumerate(gallery()):
        flags = f"{line} --dtype {dtype} {'--backward' if at % 2 else '--detail'}"
        right, lines = verdict(tmp_path / "walk", ae.run(flags).json)
        assert right, (flags, [each for each in lines if "WRONG" in each])


LIES = ("cell", "cell", "cell", "rule", "itself", "any", "endless", "unread")


def lie(step: dict[str, Any], how: str, dice: random.Random) -> None:
    """Changes a number of a step, and hides the change in its rule."""
    data = np.array(step["data"], dtype=object)
    cell = tuple(dice.randrange(length) for length in data.shape)
    if step["dtype"] in ("bool", "int64"):
        data[cell] = not data[cell] if step["dtype"] == "bool" else data[cell] + 1
    else:
        number = float(data[cell])
        data[cell] = number * 1.1 if np.isfinite(number) and abs(number) > 1e-30 else 1.0
    step["data"] = data.tolist()
    head = step["rule"].split(" = ")[0]
    if how == "rule":
        del step["rule"]
    elif how != "cell":
        more = {"any": " + 1e30 - 1e30", "endless": " + (sum r in 0..10000000000: r)"}
        own = {"itself": f"{head} = {head}", "unread": f"{head} = nothing[0]"}
        step["rule"] = own[how] if how in own else step["rule"] + more[how]


def test_verify_confirms_walks_and_finds_changed_numbers(tmp_path: Path) -> None:
    lists = [line.split("|") for line in (HERE / "flags.txt").read_text().splitlines()]
    dice = random.Random(int(os.environ.get("ATTN_SEED", 1)))
    wanted, walks, path = int(os.environ.get("ATTN_WALKS", 40)), 0, tmp_path / "walk"
    while walks < wanted:
        flags = dice.choice([" ".join(map(dice.choice, lists)), dice.choice(gallery())])
        flags += " --dtype " + dice.choice(("float32", "float64", "float16", "bfloat16"))
        html = dice.random() < 0.3
        try:
            form = "html" if html else "json"
            ae.run(f"{flags} --seed {walks} --detail --format {form} -o '{path}'")
        except ae.AttnError:
            continue  # flags that contradict each other
        lines: list[str] = []
        assert verify(str(path), lines.append), (flags, [each for each in lines if "WRONG" in each])
        walks += 1
        text = path.read_text()
        found = re.search(r'id="walk">(.*?)</script>', text, re.S)
        for _ in range(20):
            walk = json.loads(found[1] if found else text)
            step = dice.choice([each for each in walk["steps"] if "rule" in each and each["data"]])
            how = dice.choice(LIES)
            lie(step, how, dice)
            right, lines = verdict(path, walk)
            line = next(each for each in lines if each.startswith(step["name"] + " "))
            # An input without a rule counts as given: its source is unknown.
            if how == "rule" and line.endswith(" given"):
                continue
            assert not right or "not checked" in line, (flags, how, line)
            if how in ("rule", "itself"):
                assert not right, (flags, how, line)


def test_verify_counts_a_step_without_its_numbers(tmp_path: Path) -> None:
    walk = ae.run("--heads 2").json
    del next(step for step in walk["steps"] if step["name"] == "weights")["data"]
    _, lines = verdict(tmp_path / "walk.json", walk)
    assert "weights not checked: it has no numbers" in lines
    checked, steps = lines[-1].split()[0], lines[-1].split()[2]
    assert int(checked) < int(steps)


def test_verify_names_rules_that_it_cannot_read(tmp_path: Path) -> None:
    tensor = {"name": "a", "axes": ["t"], "shape": [1], "dtype": "float32", "data": [0.5]}
    path = tmp_path / "walk.json"
    for rule, said in [("a[t] = a[0] +", ""), ("a[t] = j", "binds 'j'"), ("a[t] = 1 < 2 < 3", "")]:
        right, lines = verdict(path, {"steps": [{**tensor, "rule": rule}]})
        assert not right and said in lines[0] and "WRONG" in lines[0]
    deep = [
        "-" * 20000 + "1",
        "[" * 100000,
        "(" * 5000,
        "1" + " + 1" * 20000,
        "prod r in 0..1e10: r",
    ]
    for right_side in ["b[t]", *deep]:
        right, lines = verdict(path, {"steps": [{**tensor, "rule": "a[t] = " + right_side}]})
        assert not right and ("not checked" in lines[0] or "WRONG" in lines[0])
    for text, said in [("{}", b"no walk"), ('{"steps": []}', b"nothing could be checked")]:
        path.write_text(text)
        done = subprocess.run([sys.executable, ae.__file__, "verify", path], capture_output=True)
        assert done.returncode == 2 and said in done.stderr


@pytest.mark.parametrize("dtype", ("float64", "float32", "float16", "bfloat16"))
def test_any_json_reader_gets_the_numbers_of_the_file(tmp_path: Path, dtype: str) -> None:
    file = str(tmp_path / "w.npz")
    flags = {"dtype": dtype, "heads": 2, "seq_len": 4, "mask": "causal", "detail": True}
    ae.walk(**flags, format="npz", output=file).text
    steps = {step["name"]: step for step in ae.walk(**flags).json["steps"]}
    for name, kept in np.load(file).items():
        read = np.array(steps[name]["data"], dtype=float if kept.dtype == float else "f4")
        assert np.array_equal(read.astype(kept.dtype), kept, equal_nan=kept.dtype.kind == "f"), name
        if kept.dtype == np.float32:
            assert np.array_equal(read, kept, equal_nan=True)


def test_the_wheel_installs_without_a_network(tmp_path: Path) -> None:
    platforms = "manylinux_2_17_x86_64.musllinux_1_1_x86_64"
    script = ROOT / "app" / "python" / "wheel.sh"
    pages = os.environ["ATTN_MAN_PAGES"]
    subprocess.run([script, ae.program(), pages, "1.0.0", platforms, tmp_path], check=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        record = archive.read("attn_explain-1.0.0.dist-info/RECORD").decode()
        assert len(record.splitlines()) == len(archive.namelist())
        for line in record.splitlines()[:-1]:
            name, digest, size = line.split(",")
            made = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest())
            assert digest == "sha256=" + made.decode().rstrip("=") and int(size) >= 0, name
    subprocess.run(["/usr/bin/python3", "-m", "venv", tmp_path / "v"], check=True)
    bin = tmp_path / "v" / "bin"
    subprocess.run([bin / "pip", "install", "-q", "--no-index", wheel], check=True)
    text = "import attn_explain as a; print(a.program(), a.why('weights[2,1]').text)"
    plain = {name: each for name, each in os.environ.items() if name[:4] not in ("ATTN", "PYTH")}
    done = subprocess.run([bin / "python", "-c", text], capture_output=True, env=plain, check=True)
    assert done.stdout.startswith(f"{bin}/attn-explain weights[2,1] = ".encode())
    # The types are found where the wheel was installed.
    (tmp_path / "user.py").write_text("import attn_explain as ae\nae.walk(heads='two').ok\n")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null"]
    mypy += ["--python-executable", bin / "python", "user.py"]
    checked = subprocess.run(mypy, cwd=tmp_path, capture_output=True, text=True, env=plain).stdout
    assert 'user.py:2: error: Argument "heads"' in checked and "Found 1 error" in checked, checked


def test_the_tour_runs_unchanged(tmp_path: Path) -> None:
    tour = ROOT / "app" / "python" / "tour.ipynb"
    words = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--stdout", tour]
    path = {**os.environ, "PYTHONPATH": str(tour.parent)}
    page = subprocess.run(words, capture_output=True, env=path, check=True).stdout
    assert len(json.loads(tour.read_text())["cells"]) == 10 and page.count(b"<iframe") == 2

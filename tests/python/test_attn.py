"""Calls of the module, verify on random walks, the wheel, and the tour as a notebook."""

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
def test_a_call(line: str) -> None:
    assert eval(line, {**globals(), **vars(ae)})


def test_an_error_is_the_programs_line(monkeypatch: Any) -> None:
    with pytest.raises(ae.AttnError, match="^attn-explain: error: --heads"):
        ae.walk(heads=0)
    with pytest.raises(AttributeError, match="no wights: ids, "):
        ae.walk().wights
    monkeypatch.setenv("ATTN_EXPLAIN", "/nowhere")
    with pytest.raises(ae.AttnError, match="looked for /nowhere: install"):
        ae.walk()


def test_gradients_that_pytorch_keeps_are_judged() -> None:
    q, k, v = (torch.from_numpy(each).requires_grad_() for each in (Q, K, V))
    out = torch.softmax(q @ k.transpose(1, 2) / 2, -1) @ v
    out.retain_grad()
    out.square().sum().backward()
    right = ae.diagnose(q=q, k=k, v=v, context=out, heads=2, backward=True)
    assert right.ok and "q" in repr(right.json["gradients"]["compared"])
    wrong = ae.diagnose(q=q, k=k, v=v, context=out, d_k=2 * k.grad, heads=2, backward=True)
    assert not wrong.ok and wrong.findings


def test_verify_follows_walks_and_finds_a_changed_number(tmp_path: Path) -> None:
    lists = [line.split("|") for line in (HERE / "flags.txt").read_text().splitlines()]
    dice = random.Random(int(os.environ.get("ATTN_SEED", 1)))
    wanted, walks = int(os.environ.get("ATTN_WALKS", 40)), 0
    while walks < wanted:
        flags = " ".join(map(dice.choice, lists))
        html, path = dice.random() < 0.3, tmp_path / "walk"
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
        walk = json.loads(found[1] if found else text)
        step = dice.choice(
            [each for each in walk["steps"] if "rule" in each and each["data"] != []]
        )
        line = next(each for each in lines if each.startswith(step["name"] + " "))
        data = np.array(step["data"], dtype=object)
        cell = tuple(dice.randrange(length) for length in data.shape)
        bound = float(line.split()[-1])
        number = float(data[cell])
        data[cell] = (
            number + max(8 * bound, abs(number) * 1e-4, 1e-6) if np.isfinite(number) else 1.0
        )
        if step["dtype"] in ("bool", "int64"):
            data[cell] = not number if step["dtype"] == "bool" else int(number) + 1
        step["data"] = data.tolist()
        path.write_text(json.dumps(walk))
        lines.clear()
        assert not verify(str(path), lines.append)
        first = next(each for each in lines if "WRONG" in each)
        assert first.startswith(step["name"] + " "), (flags, step["name"], cell, first)


def test_verify_names_what_it_cannot_read(tmp_path: Path) -> None:
    tensor = {"name": "a", "axes": ["t"], "shape": [1], "dtype": "float32", "data": [0.5]}
    for rule, said in [("a[t] = b[t]", "b is none"), ("a[t] = 1 +", ""), ("a[t] = j", "binds 'j'")]:
        path = tmp_path / "walk.json"
        path.write_text(json.dumps({"steps": [{**tensor, "rule": rule}]}))
        lines: list[str] = []
        assert not verify(str(path), lines.append) and said in lines[0] and "WRONG" in lines[0]
    path.write_text("{}")
    done = subprocess.run([sys.executable, ae.__file__, "verify", path], capture_output=True)
    assert done.returncode == 2 and b"no walk" in done.stderr


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


def test_the_tour_runs_as_it_stands(tmp_path: Path) -> None:
    tour = ROOT / "app" / "python" / "tour.ipynb"
    words = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--stdout", tour]
    path = {**os.environ, "PYTHONPATH": str(tour.parent)}
    page = subprocess.run(words, capture_output=True, env=path, check=True).stdout
    assert len(json.loads(tour.read_text())["cells"]) == 10 and page.count(b"<iframe") == 2

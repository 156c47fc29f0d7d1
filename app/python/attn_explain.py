"""Attention, step by step, in Python: runs the program attn-explain and keeps its results.

    import attn_explain as ae
    w = ae.walk(heads=2, mask="causal")
    w.weights                                       # every tensor by name, as a NumPy array
    w.plot("weights"), w.frame("weights")           # a matplotlib figure, a pandas DataFrame
    ae.why("weights[short,eat]")
    ae.diagnose(q=q, k=k, v=v, weights=w, out=out)  # tensors of NumPy, PyTorch or JAX
    with ae.watch(model) as seen:
        model(x)
    seen.diagnose()                                 # one line per layer

Flags are keywords: heads=2, mask="causal", backward=True, text=["a b", "c"] for a repeated flag,
positions=[0, 1, 5] for a list, from_="scores" because Python reserves from. Tensors are keywords,
too. `help(ae.walk)` in a notebook or at a prompt lists the flags. `python3 attn_explain.py verify
walk.json` checks a walk against its rules, without the program.
"""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import functools
import html
import inspect
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, ItemsView, Iterator, KeysView, List, Mapping, Optional
from typing import Sequence, TypeVar, ValuesView

__all__ = (
    "walk run why lint heads lens patch generate bugs quiz tour probe compare diagnose".split()
)
__all__ += "explain assert_right watch program load_ipython_extension AttnError NoTensor".split()
__all__ += "Answer Page Walk Explained Probe Svg Layer Lines Unjudged Watched".split()


class AttnError(Exception):
    """The program's error line: what is wrong, and the remedy."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def _render_traceback_(self, *_: Any) -> list[str]:
        """Returns what IPython prints: the caller's line and the message, without our frames."""
        frames = traceback.extract_tb(self.__traceback__)
        own = [at for at, frame in enumerate(frames) if frame.filename == __file__]
        frame = frames[own[0] - 1] if own and own[0] > 0 else frames[-1]
        name = re.sub(r".*ipykernel_\d+/\d+\.py|<ipython-input-.*>", "cell", frame.filename)
        return [f"{name}, line {frame.lineno}: {frame.line}", f"{type(self).__name__}: {self}"]


class NoTensor(AttnError, AttributeError, KeyError):
    """The error for a missing tensor, both as an attribute and as a key."""


def program() -> str:
    """Returns the program's path: $ATTN_EXPLAIN, next to this file, in its wheel, or on PATH."""
    said = os.environ.get("ATTN_EXPLAIN")
    schemes = [name for name in sysconfig.get_scheme_names() if name.startswith(os.name)]
    folders = [sysconfig.get_path("scripts", name) for name in schemes]
    folders = [os.path.dirname(os.path.abspath(__file__)), sysconfig.get_path("scripts"), *folders]
    looked = [said] if said else [os.path.join(each, "attn-explain") for each in folders]
    found = [path for path in looked if os.path.isfile(path) and os.access(path, os.X_OK)]
    on_path = None if said else shutil.which("attn-explain")
    if not found and on_path is None:
        where = ", ".join(dict.fromkeys(looked)) + ("" if said else " and on PATH")
        raise AttnError(
            f"there is no program attn-explain: looked for {where}: "
            "install the wheel, or set ATTN_EXPLAIN to its path"
        )
    return [*found, on_path or ""][0]


# Tensors are passed to the program as safetensors, in their own type.
_TYPES = {"float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16", "bool": "BOOL"}
_TYPES.update({"int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8"})


def _numpy() -> Any:
    try:
        import numpy
    except ModuleNotFoundError as missing:
        raise AttnError(
            "tensors are NumPy's arrays, and there is no NumPy: install it"
        ) from missing
    return numpy


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "__array__") and getattr(value, "ndim", 0) > 0


def _bytes(name: str, value: Any) -> tuple[str, Any]:
    """Returns the name of a tensor's type, and an array of its bytes."""
    np = _numpy()
    kind = str(getattr(value, "dtype", "")).replace("torch.", "")
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.view(sys.modules["torch"].int16) if kind == "bfloat16" else value
    if np.ma.is_masked(value):
        raise AttnError(f"{name} has masked cells, which no file keeps: give filled() or a mask=")
    array = np.array(value, order="C")
    kind = kind if kind == "bfloat16" else array.dtype.name
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if kind not in _TYPES:
        raise AttnError(f"{name} contains {kind}: give floats, 64-bit integers or booleans")
    return _TYPES[kind], array


def _save(path: str, tensors: Mapping[str, Any]) -> None:
    header, blob = {}, b""
    for name, value in tensors.items():
        word, array = _bytes(name, value)
        place = [len(blob), len(blob) + array.nbytes]
        header[name] = {"dtype": word, "shape": array.shape, "data_offsets": place}
        blob += array.tobytes()
    text = json.dumps(header).encode()
    Path(path).write_bytes(len(text).to_bytes(8, "little") + text + blob)


class _Files:
    """A folder of files for a command, removed with the last answer that needs it."""

    def __init__(self) -> None:
        self.folder: Optional[tempfile.TemporaryDirectory[str]] = None
        self.was = ""  # the folder from which it was copied

    def __getstate__(self) -> tuple[str, dict[str, bytes]]:
        name = self.folder.name if self.folder else ""
        kept = os.listdir(name) if name else []
        return name, {each: Path(name, each).read_bytes() for each in kept}

    def __setstate__(self, state: tuple[str, dict[str, bytes]]) -> None:
        self.__init__()  # type: ignore[misc]
        self.was = state[0]
        if self.was:
            self.folder = tempfile.TemporaryDirectory(prefix="attn-explain-")
            for name, data in state[1].items():
                Path(self.folder.name, name).write_bytes(data)

    def moved(self, word: str) -> str:
        """Returns a word of a command line; a tensor is written to a file of this folder."""
        return word.replace(self.was, self.folder.name) if self.was and self.folder else word

    def path(self, name: str) -> str:
        self.folder = self.folder or tempfile.TemporaryDirectory(prefix="attn-explain-")
        return os.path.join(self.folder.name, f"{len(os.listdir(self.folder.name))}-{name}")

    def of(self, value: Any, name: str = "tensors") -> str:
        """Returns the path of a file with named tensors, or with those of a walk or a probe."""
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        if not isinstance(value, Mapping):
            given = type(value).__name__
            raise AttnError(f'give tensors by their names, {{"query": q}}, or a file, not {given}')
        path = self.path(name + ".safetensors")
        _save(path, value)
        return path


@functools.lru_cache(maxsize=None)
def _stub(path: str) -> dict[str, Any]:
    """Returns attn_explain.pyi as the program writes it: the calls here, with flags as keywords."""
    done = subprocess.run([path, "completions", "python"], capture_output=True)
    names: dict[str, Any] = {}
    source = "from __future__ import annotations\n" + done.stdout.decode()
    exec(compile(source, "attn_explain.pyi", "exec"), names)
    return names


def _takes(flag: str) -> str:
    """Returns the type of a flag in the stub; empty if no command has the flag."""
    calls = [each for each in _stub(program()).values() if inspect.isfunction(each)]
    kinds = (inspect.signature(each).parameters.get(flag) for each in calls)
    return next((str(each.annotation) for each in kinds if each is not None), "")


def _from_list(name: str, value: Sequence[Any]) -> Any:
    """Returns a list as its flag takes it: a tensor, several values, or one with commas."""
    takes = _takes(name)
    is_matrix = any(isinstance(each, (list, tuple)) for each in value)
    has_words = any(isinstance(each, (str, os.PathLike)) for each in value)
    if not takes or (not has_words and ("_File" in takes or "_Tensor" in takes)):
        try:
            return _numpy().array(value)
        except ValueError as error:
            raise AttnError(f"{name} has rows of several lengths") from error
    if isinstance(value, list) and takes.startswith("_Repeated"):
        return value
    apart = [each for each in value if isinstance(each, str) and set(each) & set(",;")]
    if apart and len(value) > 1:
        raise AttnError(f"{name} has {apart[0]!r}: a comma or semicolon within it separates values")
    return ";".join(",".join(map(str, each)) for each in (value if is_matrix else [value]))


def _words(
    flags: Mapping[str, Any], files: _Files, apart: bool = False
) -> tuple[list[str], dict[str, Any]]:
    """Returns the words of a command line, and by name the tensors that belong to no flag."""
    words: list[str] = []
    tensors: dict[str, Any] = {}
    reading = ("x", "memory", "mask", "mask_file", "sink", "past", "position_bias", "loss")
    for name, value in flags.items():
        if _is_tensor(value) and not apart and name not in reading and "_File" not in _takes(name):
            value = value.tolist() if _takes(name) else value  # positions, ids
        if isinstance(value, (list, tuple)):
            value = _from_list(name, value)
        flag = "--mask-file" if name == "mask" and _is_tensor(value) else "--" + name.rstrip("_")
        flag = flag.replace("_", "-")
        if getattr(value, "ndim", -1) == 0 and "bool" in str(getattr(value, "dtype", "")):
            value = bool(value)
        if isinstance(value, float) and value.is_integer() and "float" not in _takes(name):
            value = int(value)
        if _is_tensor(value) and (apart or name not in reading):
            tensors[name] = value
        elif _is_tensor(value):
            words.append(f"{flag}={files.of({name: value}, name)}:{name}")
        elif isinstance(value, Mapping):
            words.append(f"{flag}={files.of(value, name)}")
        elif isinstance(value, bool):
            words.append(flag if value else flag + "=false")
        elif value is not None:
            for each in value if isinstance(value, list) else [value]:
                words.append(f"{flag}={each}")
    return words, tensors


def _as_keywords(said: str) -> str:
    """A message with the flags as Python has them: --mask-true keep is mask_true="keep". Command
    lines stay as they are typed."""

    def keyword(found: re.Match[str]) -> str:
        name, value = found[1].replace("-", "_"), found[2] or ""
        takes = _takes(name) or _takes(name + "_")
        if not takes:
            return found[0]
        words = {word for kind in re.findall(r"_\w+Words*", takes) for word in _choices(kind)}
        if value[1:] in words or set(value) & set(",:"):
            return f'{name}="{value[1:]}"'
        is_value = re.match(r"'|-?\d", value[1:])
        return name + (f"={value[1:]}" if is_value else value)

    before, *command = re.split(r"(?=attn-explain )", said, maxsplit=1)
    flag = r"(?<!\S)--([a-z][a-z-]*)( '[^']*'| -?\d[\d.]*(?![\w.])| [a-z][\w:,-]*\w)?"
    return "".join([re.sub(flag, keyword, before), *command])


def _choices(kind: str) -> Sequence[str]:
    """The words of a type of the stub: _MaskTrueWord has keep and drop."""
    return getattr(_stub(program()).get(kind), "__args__", ())


# A page in a notebook follows the notebook's dark mode, and is as high as its content, up to four
# fifths of the window, so that its panels stay visible while it scrolls.
_ON_LOAD = (
    "const c=getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number),"
    "d=this.contentDocument,s=d.getElementById('dark');"
    "if(s&amp;&amp;c[3]!==0)s.media=c[0]+c[1]+c[2]&lt;384?'screen':'not all';"
    "this.style.height='120px';const fit=()=>{const r=d.documentElement,most=Math.max(480,innerHeight*.8);"
    "for(let i=0;i&lt;9&amp;&amp;r.scrollHeight&gt;this.clientHeight&amp;&amp;this.clientHeight&lt;most;++i)"
    "this.style.height=Math.min(r.scrollHeight,most)+'px'};"
    "fit();new ResizeObserver(fit).observe(d.body)"
)


class Answer:
    """The output of a command: as text, as a page, as JSON."""

    def __init__(
        self,
        words: list[str],
        files: Optional[_Files] = None,
        typed: str = "",
        has_keywords: bool = True,
    ) -> None:
        self.command, self._files, self._typed = words, files, typed
        self._has_keywords = has_keywords
        self.text, self.remarks, self.code = self._run()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._files is not None:
            self.command = list(map(self._files.moved, self.command))

    def _run(self, *more: str) -> tuple[str, str, int]:
        first = 0 if self.command[:1] and self.command[0][:1] == "-" else 1  # "--" may come later
        words = [program(), *self.command[:first], *more, *self.command[first:]]
        try:
            done = subprocess.run(words, input=self._typed.encode(), capture_output=True)
        except (ValueError, OSError) as error:  # a NUL, or more than a command line holds
            raise AttnError(f"the program cannot be run like this: {error}") from error
        said = done.stderr.decode(errors="replace")
        said = re.sub("^attn-explain: (error: )?", "", said, flags=re.M)
        if self._files is not None and self._files.folder is not None:  # no name of the caller's
            said = re.sub(re.escape(self._files.folder.name) + r"/[^\s:,]*(: )?", "", said)
        said = _as_keywords(said) if self._has_keywords and "--" in said else said
        if done.returncode == 2 or done.returncode < 0:
            raise AttnError(said.strip() or f"signal {-done.returncode} ended attn-explain")
        return done.stdout.decode(errors="replace"), said, done.returncode

    @property
    def ok(self) -> bool:
        """True if nothing was found and no question is open."""
        return self.code == 0

    @functools.cached_property
    def json(self) -> Any:
        try:
            return json.loads(self._run("--json")[0])
        except ValueError as error:
            raise AttnError("this command prints no JSON: leave output= and format= out") from error

    @property
    def findings(self) -> list[Any]:
        """The findings of diagnose or lint, or the steps that differ in compare."""
        if isinstance(self.json, list):
            return self.json
        back = self.json.get("gradients", {}).get("findings", [])
        differ = [step for step in self.json.get("steps", []) if step.get("equal") is False]
        return [*self.json.get("findings", []), *back, *differ]

    @property
    def question(self) -> str:
        """The question that the verdict depends on and that only the author can answer, if any."""
        said = {} if isinstance(self.json, list) else self.json
        lines = [*said.get("remarks", []), *said.get("open_questions", [])]
        return "\n".join(each for each in lines if "?" in each)

    def html(self) -> str:
        """Returns the text as HTML."""
        return f"<pre>{html.escape(repr(self))}</pre>"

    def __repr__(self) -> str:
        files = [each[9:] for each in self.command if each.startswith("--output=")]
        written = "" if self.text else "".join(f"{each} was written" for each in files)
        return (self.remarks + self.text + written).rstrip("\n")

    def _repr_html_(self) -> str:
        return self.html()


class _Named(Mapping[str, Any]):
    """Tensors by name: of["weights"], of.weights. A name that is also a method, such as values, is
    read as of["values"]."""

    tensors: dict[str, Any]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, name: str) -> Any:
        if name not in self.tensors:
            near = difflib.get_close_matches(str(name), self.tensors, 1)
            known = f"did you mean {near[0]}?" if near else ", ".join(self.tensors)
            raise NoTensor(f"there is no {name}: {known}")
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    def keys(self) -> KeysView[str]:
        return self.tensors.keys()

    def values(self) -> ValuesView[Any]:
        return self.tensors.values()

    def items(self) -> ItemsView[str, Any]:
        return self.tensors.items()

    def __getattr__(self, name: str) -> Any:
        if name[0] == "_" or name == "tensors" or not self.__dict__:  # as when it is copied
            raise AttributeError(name)
        return self[name]

    def __dir__(self) -> list[str]:
        try:
            return [*super().__dir__(), *self.tensors]
        except AttnError:  # a walk whose output went elsewhere
            return [*super().__dir__()]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.tensors)


class Page(Answer):
    """A result that is displayed as a page."""

    def html(self) -> str:
        """Returns the page, which needs no network."""
        return self._run("--format", "html")[0]

    def _repr_html_(self) -> str:
        style = "width:100%;height:600px;border:0"  # until its script runs
        page = html.escape(self.html())
        if not page:  # a file has it
            return super().html()
        return f'<iframe style="{style}" onload="{_ON_LOAD}" srcdoc="{page}"></iframe>'


class Svg(str):
    """A figure drawn by the program."""

    def _repr_svg_(self) -> str:
        return str(self)


class _Steps(_Named, Page):
    """The steps of attention, with NumPy arrays as tensors."""

    @functools.cached_property
    def _walk(self) -> Any:
        return self.json

    @functools.cached_property
    def steps(self) -> dict[str, dict[str, Any]]:
        """The title, formula, rule, axes and numbers of each step."""
        if "steps" not in self._walk:
            raise AttnError("this command prints no walk, so there are no tensors")
        return {step["name"]: step for step in self._walk["steps"] if "data" in step}

    @functools.cached_property
    def tensors(self) -> dict[str, Any]:  # type: ignore[override]
        np, arrays = _numpy(), {}
        for name, step in self.steps.items():
            kind = "float32" if step["dtype"] == "bfloat16" else step["dtype"]
            arrays[name] = np.array(step["data"], dtype=kind).reshape(step["shape"])
            arrays[name].setflags(write=False)  # plot, frame and copies read them later
        return arrays

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Steps) and self.steps == other.steps

    def __hash__(self) -> int:
        return hash(_Steps)  # equal walks may come from different commands

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The names of the axes of each tensor."""
        return {name: tuple(step["axes"]) for name, step in self.steps.items()}

    def labels(self, name: str, batch: int = 0) -> list[list[str]]:
        """Returns the labels along each axis of a tensor: words, names of features, or numbers."""
        shape, step, tokens = self[name].shape, self.steps[name], self._walk.get("tokens", {})
        words = {"token": "query", "query": "query", "key": "key"}
        texts: list[list[str]] = []
        for axis, length in zip(step["axes"], shape):
            known = tokens.get(words.get(axis)) or step.get("features", {}).get(axis) or []
            fits = known[min(batch, len(known) - 1)] if known else []
            texts.append(list(fits) if len(fits) == length else list(map(str, range(length))))
        return texts

    def plot(self, name: str = "weights", ax: Any = None, **at: int) -> Any:
        """Draws a tensor with matplotlib, one panel per head: plot("weights", head=1). Words label
        the axes, and hidden cells are hatched. Returns the Axes; draws into ax if given."""
        from attn_figures import plot

        return plot(self, name, ax, at)

    def frame(self, name: str = "weights", **at: int) -> Any:
        """Returns a tensor as a pandas DataFrame: frame("weights", head=1). The last axis gives the
        columns."""
        from attn_figures import frame

        return frame(self, name, at)


class Walk(_Steps):
    """A walk, with NumPy arrays as tensors: walk["weights"], walk.weights; walk.axes["weights"]."""

    def why(self, cell: str) -> Answer:
        """Derives a number of this walk."""
        return Answer(["why", *self.command, "--", cell], self._files)

    def svg(self, only: Any = "weights", **flags: Any) -> Svg:
        """Returns a figure of these steps: svg("weights", figure="arcs")."""
        files = _Files()
        words, _ = _words({**flags, "only": only, "format": "svg"}, files)
        own = ("--only=", "--format=", "--output=")
        kept = [word for word in self.command if not word.startswith(own)]
        return Svg(Answer([*kept, *words], self._files).text)


_PAGE_WALK = re.compile(r'<script type="application/json" id="walk">(.*?)</script>', re.S)


class Explained(_Steps):
    """An explained program: its listing, and the tensors of its attention by step."""

    @functools.cached_property
    def _walk(self) -> Any:
        found = _PAGE_WALK.search(self.html())
        return json.loads(found[1]) if found else {"steps": []}

    def _repr_html_(self) -> str:
        """Returns the page, unless that would run a program again."""
        is_traced = "--trace" in self.command and len(self.json.get("attentions", [])) > 0
        return super()._repr_html_() if is_traced else f"<pre>{html.escape(repr(self))}</pre>"


class Probe(_Named, Answer):
    """Inputs that reveal mistakes, for your own code, which diagnose(..., given=probe) judges."""

    @functools.cached_property
    def tensors(self) -> dict[str, Any]:  # type: ignore[override]
        with _numpy().load(self.command[2]) as file:
            return dict(file)


def _asked(words: list[str], flags: Mapping[str, Any], *values: str) -> tuple[list[str], _Files]:
    """Returns the words of a command line with its flags; tensors without a flag are parameters.
    Values are never read as flags, whatever they begin with."""
    files = _Files()
    more, tensors = _words(flags, files)
    more += ["--weights", files.of(tensors)] if tensors else []
    kinds = {_kind(flags[name]) for name in {"x", "memory", *tensors} & {*flags}} & _WALKED
    if len(kinds) == 1 and not {"dtype", "model_file"} & {*flags}:
        more.append(f"--dtype={kinds.pop()}")
    return words + more + (["--", *values] if values else []), files


_WALKED = {"float64", "float32", "float16", "bfloat16"}


def _kind(value: Any) -> str:
    """The type of a tensor's numbers; empty for a list, whose numbers have none."""
    return str(getattr(value, "dtype", "")).replace("torch.", "")


_Call = TypeVar("_Call", bound=Callable[..., Any])


def _by_name(call: _Call) -> _Call:
    """A call whose arguments are all flags says so."""

    @functools.wraps(call)
    def checked(*args: Any, **flags: Any) -> Any:
        if args:
            flag = "x" if _is_tensor(args[0]) or isinstance(args[0], list) else "text"
            value = repr(args[0]) if isinstance(args[0], str) else "..."
            name = call.__name__
            raise AttnError(f"{name}() takes flags by their names: {name}({flag}={value})")
        return call(**flags)

    return checked  # type: ignore[return-value]


@_by_name
def walk(**flags: Any) -> Walk:
    """Returns a walk with these flags; tensors are x, memory, mask, or parameters by name."""
    return Walk(*_asked([], flags))


def run(line: Any, **flags: Any) -> Answer:
    """Runs any command line, or a list of its words: run("why 'weights[2,1]' --mask causal")."""
    try:
        words = shlex.split(line) if isinstance(line, str) else list(map(str, line))
    except ValueError as error:
        raise AttnError(f"{line}: {error}") from error
    command = words[0] if words and words[0][0] != "-" else ""
    kinds = {"": Walk, "heads": Page, "lens": Page, "patch": Page, "explain": Explained}
    has_flags = any(word[:1] == "-" for word in words)
    return kinds.get(command, Answer)(*_asked(words, flags), has_keywords=not has_flags)


@_by_name
def lint(**flags: Any) -> Answer:
    """Lists the pitfalls of a configuration and its data."""
    return run("lint", **flags)


@_by_name
def heads(**flags: Any) -> Page:
    """Describes what each head of a model attends to: text="Once upon a time"."""
    return Page(*_asked(["heads"], flags))


@_by_name
def lens(**flags: Any) -> Page:
    """What a model would predict if it stopped after each layer: text="Once upon a time"."""
    return Page(*_asked(["lens"], flags))


@_by_name
def patch(**flags: Any) -> Page:
    """What one head, or one x, of another text restores: text=, from_=, token=" she- he"."""
    return Page(*_asked(["patch"], flags))


@_by_name
def generate(**flags: Any) -> Answer:
    """Generates text with a model; with bug=, also with a mistake."""
    return run("generate", **flags)


def why(cell: str, **flags: Any) -> Answer:
    """Derives a number: why("weights[short,eat]", mask="causal")."""
    return Answer(*_asked(["why"], flags, cell))


def bugs(about: str = "", **flags: Any) -> Answer:
    """Lists the known mistakes, all or on one subject, or explains one."""
    return Answer(*_asked(["bugs"], flags, *([about] if about else [])))


def quiz(*answers: str, **flags: Any) -> Answer:
    """Asks questions about small walks, or checks answers to them."""
    return Answer(*_asked(["quiz"], flags), "".join(f"{each}\n" for each in answers))


def tour(page: int = 1) -> Answer:
    """A page of the tour, from the first sentence to training."""
    return Answer(["tour", str(page)])


@_by_name
def probe(**flags: Any) -> Probe:
    """Returns inputs for your own code that reveal mistakes."""
    files = _Files()
    return Probe(["probe", "-o", files.path("probe.npz"), *_words(flags, files)[0]], files)


def compare(a: Any, b: Any, **flags: Any) -> Answer:
    """Compares two runs: flags in one word, a file, a walk, or tensors by step name."""
    files = _Files()
    return Answer(["compare", *_words(flags, files)[0], "--", files.of(a), files.of(b)], files)


def diagnose(file: Any = None, **flags: Any) -> Answer:
    """Finds the mistake in your own tensors: diagnose(q=q, k=k, v=v, weights=w, heads=2).

    With backward=True it also judges the gradients that PyTorch stores with them."""
    files = _Files()
    words, tensors = _words(flags, files, apart=file is None)
    if file is not None and tensors:
        raise AttnError(f"give {', '.join(tensors)} in the file, or all tensors by their names")
    for name, value in list(tensors.items()) if flags.get("backward") else []:
        keeps = getattr(value, "is_leaf", False) or getattr(value, "retains_grad", False)
        if keeps and value.grad is not None:
            tensors.setdefault("d_" + name, value.grad)
    if file is None and not tensors:
        raise AttnError("nothing to diagnose: give tensors by their names, or a file")
    return Answer(["diagnose", *words, "--", files.of(tensors if file is None else file)], files)


def explain(what: Any, *args: Any, **flags: Any) -> Explained:
    """Explains your own program line by line: a file, or a function called with these arguments.

    Every line that computes a step of attention is named with its step, and a mistake with its
    line. Flags specify what was intended, such as mask="causal"."""
    files = _Files()
    words, _ = _words(flags, files)
    if isinstance(what, (str, os.PathLike)):
        said = ["explain", *words, "--python", sys.executable, "--", os.fspath(what)]
        return Explained(said, files)
    if not callable(what):
        raise AttnError(f"give a file or a function to explain, not {type(what).__name__}")
    with contextlib.suppress(ValueError):  # of a function without a signature
        try:
            inspect.signature(what).bind(*args)
        except TypeError as error:
            raise AttnError(f"{error}: explain(f, x) calls f(x)") from error
    from attn_trace import trace_call

    return _explained(words, files, lambda folder: trace_call(what, folder, *args))


def _explained(words: list[str], files: _Files, trace: Callable[[str], str]) -> Explained:
    """Explains the trace in a folder, of the source with that name."""
    folder = os.path.dirname(files.path(""))
    source = trace(folder)
    traced = os.path.join(folder, "trace.safetensors")
    return Explained(["explain", "--trace", traced, *words, "--", source], files)


def assert_right(what: Any, *args: Any, **flags: Any) -> None:
    """For tests: raises AssertionError with the listing unless explain() finds everything right."""
    answer = explain(what, *args, **flags)
    if not answer.ok:
        raise AssertionError(f"\n{answer!r}")


def load_ipython_extension(shell: Any) -> None:
    """%attn why 'weights[2,1]' is a command line, %%attn a walk with the rules below it; %%attn
    explain runs the cell and explains it, %%attn practice 01_scores judges an exercise."""

    def attn(line: str, rules: str = "") -> Answer:
        whole = "\n" + rules  # its lines are counted as those of the cell
        if rules and line.split()[:1] == ["explain"]:
            from attn_trace import trace_cell

            words = shlex.split(line)[1:]
            return _explained(words, _Files(), lambda at: trace_cell(whole, shell.user_ns, at))
        if rules and line.split()[:1] == ["practice"]:
            files = _Files()
            with open(files.path(f"{line.split()[1]}.py"), "w", encoding="utf-8") as answer:
                answer.write(whole)
            said = ["practice", "--python", sys.executable, "--", os.path.dirname(answer.name)]
            return Answer(said, files)
        said = [rule for rule in rules.splitlines() if rule.strip() and rule[0] != "#"]
        return run(line, rule=said)

    shell.register_magic_function(attn, "line_cell", "attn")


# Watching: records calls of attention while a block runs. Changes neither the model nor PyTorch's
# choice of code path, which hooks would change.

_STEPS = {"q": "query", "k": "key", "v": "value", "out": "output"}
_ORDER = {  # of what the functions take
    "scaled_dot_product_attention": "query key value mask dropout_p is_causal scale",
    "_scaled_dot_product_attention": "query key value mask dropout_p need_weights is_causal",
    "MultiheadAttention": "query key value padding need_weights mask",
}
_CALLED = {"attn_mask": "mask", "key_padding_mask": "padding"}


_TOP = "(model)"  # the name of a model that is watched, as a layer
# The settings that the shapes of a call imply, whatever the flags are.
_SHAPES = ("heads", "kv_heads", "projection", "output_projection")


class Layer(_Named):
    """One call of attention: its tensors by name, and the flags that its arguments imply."""

    def __init__(self, name: str, tensors: Mapping[str, Any], said: Mapping[str, Any]) -> None:
        self.name, self.tensors, self.said, self.unread = name, dict[str, Any](), dict(said), ""
        self.add(tensors)
        dropout = self.said.pop("dropout", 0)
        if dropout:
            self.unread = f"a dropout of {dropout} was on: call model.eval()"

    def add(self, tensors: Mapping[str, Any]) -> None:
        kept = {word: each for word, each in tensors.items() if each is not None}
        self.tensors.update({word: each.detach().clone() for word, each in kept.items()})

    def joins(self, call: Layer) -> bool:
        """Takes over a call of scaled_dot_product_attention on one of these tensors."""
        mine, its = self.tensors, call.tensors
        own = [name for name in "qkv" if name in mine]
        is_same = not own or own[0] != "q" or mine["q"].numel() == its["q"].numel()
        if "context" in mine or not own or not is_same:
            return False
        self.add({name: each for name, each in its.items() if name not in mine})
        self.said = dict(call.said)
        if "k" in own and "heads" in self.said:  # before they were repeated
            self.said["kv_heads"] = mine["k"].shape[-1] // its["q"].shape[-1]
        self.unread = self.unread or call.unread
        return True

    def _require_read(self) -> None:
        if self.unread:
            raise AttnError(f"{self.name}: {self.unread}")

    def by_step(self) -> dict[str, Any]:
        self._require_read()
        return {_STEPS.get(name, name): value for name, value in self.tensors.items()}

    def diagnose(self, **flags: Any) -> Answer:
        """The mask of the call counts as intended unless mask= is given; its scale does not."""
        self._require_read()
        # The caller specifies what was intended; the shapes were recorded.
        shapes = {name: self.said[name] for name in _SHAPES if name in self.said}
        said, tensors = {**self.said, **flags, **shapes}, dict(self.tensors)
        mask = tensors.pop("mask", None)
        if "mask" in flags:
            said["mask_true"] = flags.get("mask_true")
            mask = said.pop("mask") if _is_tensor(flags["mask"]) else None
        if mask is not None:
            said["mask_file"] = {"mask": mask}
        if "mask_file" not in said:
            said.pop("mask_true", None)  # of other layers
        return diagnose(tensors, **said)

    def walk(self, **flags: Any) -> Walk:
        """Computes correct attention from the inputs of this call."""
        made = ("context", "output", "weights", "scores")
        said = {name: each for name, each in self.by_step().items() if name not in made}
        said = {**({} if "x" in said else {"projection": "none"}), **self.said, **said, **flags}
        if "mask" in flags:
            said.pop("mask_true", None)
        return walk(**said)

    def why(self, cell: str, **flags: Any) -> Answer:
        return self.walk(**flags).why(cell)

    def html(self, **flags: Any) -> str:
        return self.walk(**flags).html()

    def __repr__(self) -> str:
        shapes = (f"{name} {tuple(value.shape)}" for name, value in self.tensors.items())
        return f"{self.name}: {self.unread or ', '.join(shapes)}"


class Unjudged(Answer):
    """The reason why something could not be judged, in place of an answer."""

    def __init__(self, why: str) -> None:
        self.text, self.remarks, self.code = why, "", 3
        self.json = {"findings": []}


class Lines(Dict[str, Answer]):
    """One answer per layer, in one line each."""

    @property
    def ok(self) -> bool:
        """True if every layer was judged, and all are right."""
        return bool(self) and all(answer.ok for answer in self.values())

    def __repr__(self) -> str:
        return "\n".join(f"{name:<30} {_verdict(answer)}" for name, answer in self.items())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def _verdict(answer: Answer) -> str:
    if isinstance(answer, Unjudged):
        return answer.text
    first = answer.json.get("first_difference")
    found = [f"differs, first in {first}"] if first else []
    for each in [] if first else answer.findings:
        names = each.get("mistakes") or [each.get("id") or "no known mistake"]
        title = f": {each['title']}" if "title" in each else ""
        calm = " (harmless)" if each.get("harmless") else ""
        found.append(f"{each['step']}: {', '.join(names)}{calm}{title}")
    verdict = "; ".join(found) or ("right" if answer.ok else "open")
    return verdict + (f" [{answer.question}]" if answer.question else "")


class _Thread(threading.local):
    """The state of a thread: its modules, and the layers whose tensors it still collects."""

    def __init__(self) -> None:
        self.within: list[tuple[str, Any]] = []
        self.open: dict[str, Layer] = {}


class Watched(List[Layer]):
    """The recorded layers in the order of their calls, also by name."""

    def __init__(self, model: Any, named: Mapping[str, str]) -> None:
        self._model, self._named, self._fitting = model, named, set[str]()
        self._thread, self._lock = _Thread(), threading.Lock()
        self._undo: list[tuple[Any, str, Any]] = []
        self._gone: Optional[dict[str, str]] = None  # what was missing when it was copied

    def __reduce_ex__(self, _: Any) -> Any:
        """A copy has the recorded layers, but not the model."""
        return Watched, (None, {}), {"_gone": self._missing()}, iter(self)

    def layer(self, name: str) -> Layer:
        layers = {layer.name: layer for layer in self}
        if name not in layers:
            raise NoTensor(f"there is no layer {name}: {', '.join(layers)}")
        return layers[name]

    def diagnose(self, **flags: Any) -> Lines:
        """Judges each layer, in one line. Flags specify what was intended: mask="causal", or for
        some layers mask={"*self_attn": "causal"}. If a model also has self-attention, a single mask
        is not applied to cross-attention. A layer that was not judged gets a line with the reason.
        """
        masks = flags.pop("mask") if isinstance(flags.get("mask"), Mapping) else {}
        crosses = {layer.name for layer in self if "memory" in layer.tensors}
        if isinstance(flags.get("mask"), str) and 0 < len(crosses) < len(self):
            mask = flags.pop("mask")
            masks = {layer.name.split(" ")[0]: mask for layer in self if layer.name not in crosses}
        lines = Lines()
        for layer in self:
            fits = [each for each in masks if fnmatch.fnmatchcase(layer.name.split(" ")[0], each)]
            meant = {"mask": masks[fits[-1]]} if fits else {}
            try:
                lines[layer.name] = layer.diagnose(**flags, **meant)
            except AttnError as error:
                said = str(error).replace(f"{layer.name}: ", "", 1)
                lines[layer.name] = Unjudged(f"cannot be judged: {said}")
        names = [layer.name.split(" ")[0] for layer in self]
        for pattern in masks:
            if not fnmatch.filter(names, pattern):
                lines[f"mask of {pattern}"] = Unjudged("no layer has that name")
        lines.update((name, Unjudged(why)) for name, why in self._missing().items())
        return lines

    def compare(self, other: Watched, **flags: Any) -> Lines:
        """Compares the calls of another model, layer by layer."""
        lines = Lines()
        for a, b in zip(self, other):
            try:
                lines[a.name] = compare(a.by_step(), b.by_step(), **flags)
            except AttnError as error:
                lines[a.name] = Unjudged(f"cannot be compared: {error}")
        for layer in [*self[len(other) :], *other[len(self) :]]:
            lines[layer.name] = Unjudged("only one of the two has this call")
        return lines

    def unseen(self) -> list[str]:
        """nn.MultiheadAttention that PyTorch ran as a part of something larger."""
        kind = sys.modules["torch"].nn.MultiheadAttention
        modules = self._model.named_modules() if self._model is not None else []
        seen = {layer.name.split(" ")[0] for layer in self}
        return [
            name for name, each in modules if isinstance(each, kind) and (name or _TOP) not in seen
        ]

    def _missing(self) -> dict[str, str]:
        """The requested tensors that were not recorded, with the reasons."""
        if self._gone is not None:
            return self._gone
        said = "not seen, as PyTorch ran it fused (keep gradients on)"
        missing = {name or _TOP: said for name in self.unseen()}
        for key, pattern in self._named.items():
            if key not in self._fitting:
                missing[f"{key}={pattern!r}"] = "no module that ran has that name"
        if not self and not missing:
            missing[_TOP] = (
                "nothing was seen: say which modules make what, as in "
                'watch(model, q="*.q_proj", k=..., v=..., out=...)'
            )
        return missing

    def __repr__(self) -> str:
        missing = (f"{name}: {why}" for name, why in self._missing().items())
        return "\n".join([*map(repr, self), *missing])

    def __enter__(self) -> Watched:
        import torch

        names = {id(module): name or _TOP for name, module in self._model.named_modules()}
        call = getattr(torch.nn.Module, "__call__")

        def called(module: Any, *args: Any, **kwargs: Any) -> Any:
            if id(module) not in names:
                return call(module, *args, **kwargs)
            self._thread.within.append((names[id(module)], module))
            try:
                result = call(module, *args, **kwargs)
            finally:
                self._thread.within.pop()
            self._returned(names[id(module)], module, args, kwargs, result)
            return result

        self._put(torch.nn.Module, "__call__", called)
        # Other files and modules may have the function under names of their own.
        for word in list(_ORDER)[:2]:
            attend = getattr(torch.nn.functional, word, object())
            attended = self._attending(word, attend)
            for holder in [*sys.modules.values(), *self._model.modules()]:
                for name, value in list(getattr(holder, "__dict__", {}).items()):
                    if value is attend:
                        self._put(holder, name, attended)
        return self

    def __exit__(self, *_: Any) -> None:
        while self._undo:
            setattr(*self._undo.pop())

    def _put(self, holder: Any, name: str, value: Any) -> None:
        self._undo.append((holder, name, holder.__dict__[name]))
        setattr(holder, name, value)

    def _attending(self, word: str, attend: Any) -> Callable[..., Any]:
        def attended(*args: Any, **kwargs: Any) -> Any:
            result = attend(*args, **kwargs)
            name, module = self._thread.within[-1] if self._thread.within else ("", None)
            if module is not None and type(module).__name__ != "MultiheadAttention":
                self._keep(name, lambda: _attention(_given(word, args, kwargs), result))
            return result

        return attended

    def _keep(self, name: str, read: Callable[[], Any]) -> Layer:
        """Records within the caller's own calls, so it never raises an exception there."""
        try:
            tensors, said = read()
            layer = Layer(name, tensors, said)
        except Exception as error:
            layer = Layer(name, {}, {})
            layer.unread = f"not read: {error or type(error).__name__}"
        with self._lock:
            around = [each for each in self._thread.open if each == name or _is_in(name, each)]
            if "context" in layer.tensors and around:
                opened = self._thread.open[max(around, key=len)]
                if opened.joins(layer):
                    return opened
            calls = sum(
                each.name.startswith(f"{name} (call ") or each.name == name for each in self
            )
            layer.name += f" (call {calls + 1})" if calls else ""
            self.append(layer)
        self._thread.open[name] = layer
        return layer

    def _returned(self, name: str, module: Any, args: Any, kwargs: Any, result: Any) -> None:
        kind = type(module).__name__
        if kind == "MultiheadAttention":
            self._keep(name, lambda: _multihead(module, _given(kind, args, kwargs), result))
        for key, pattern in self._named.items():
            if not fnmatch.fnmatchcase(name, pattern):
                continue
            self._fitting.add(key)
            # The part of a name up to its last number is the name of the layer.
            numbered = re.match(r"(.*(?:^|\.)\d+)(?:\.|$)", name)
            label = numbered[1] if numbered else name.rpartition(".")[0] or _TOP
            within = [each for each in self._thread.open if each == label or _is_in(each, label)]
            opened = self._thread.open[within[-1]] if within else None
            if opened is None or key in opened.tensors:
                opened = self._keep(label, lambda: ({}, {}))
            try:
                opened.add({key: result[0] if isinstance(result, tuple) else result})
                step = _STEPS.get(key, key)
                if kind == "Linear":
                    opened.add({"w_" + step: module.weight, "b_" + step: module.bias})
                    opened.add({"x": args[0]} if step == "query" else {})
            except Exception as error:
                opened.unread = f"not read: {error or type(error).__name__}"


def _given(word: str, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    named = {_CALLED.get(name, name): value for name, value in kwargs.items()}
    return {"mask": None, **dict(zip(_ORDER[word].split(), args)), **named}


def _attention(given: dict[str, Any], result: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the tensors and flags of a call of scaled_dot_product_attention."""
    query, key, mask = given["query"], given["key"], given["mask"]
    said: dict[str, Any] = {"mask": "causal"} if given.get("is_causal") else {}
    said["dropout"] = given.get("dropout_p", 0)
    if query.ndim > 3:
        said.update(heads=query.shape[-3], kv_heads=key.shape[-3])
    if mask is not None and not mask.is_floating_point():
        said["mask_true"] = "keep"
    context = result[0] if isinstance(result, tuple) else result
    return dict(q=query, k=key, v=given["value"], mask=mask, context=context), said


def _both(a: Any, b: Any) -> Any:
    """Combines two masks: True hides a key, and numbers are added to the scores."""
    if a is None or b is None:
        return b if a is None else a
    if not a.is_floating_point() and not b.is_floating_point():
        return a | b
    if a.is_floating_point() and b.is_floating_point() and sys.modules["torch"].__version__ < "2":
        raise AttnError(
            "PyTorch 1.13 drops key_padding_mask where both masks are floats: give it as booleans"
        )
    kind = (a if a.is_floating_point() else b).dtype
    masks = (m if m.is_floating_point() else m.to(kind).masked_fill(m, -math.inf) for m in (a, b))
    return sum(masks)


def _multihead(
    module: Any, given: dict[str, Any], result: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the tensors and flags of a call of nn.MultiheadAttention, batch first."""
    query, key, value, mask = (given[name] for name in ("query", "key", "value", "mask"))
    padding = given.get("padding")
    said = {"heads": module.num_heads, "projection": "mha"}
    said["dropout"] = module.dropout if module.training else 0
    if mask is not None and mask.ndim == 3:
        mask = mask.unflatten(0, (-1, module.num_heads))
    mask = _both(None if padding is None else padding[..., None, None, :], mask)
    if mask is not None and not mask.is_floating_point():
        said["mask_true"] = "drop"
    tensors = {"query": query, "key": key, "value": value, "output": result[0]}
    if query.ndim > 2 and not module.batch_first:
        tensors = {name: each.transpose(0, 1) for name, each in tensors.items()}
    more = (module.bias_k is not None) + module.add_zero_attn
    if value is key and module.in_proj_weight is not None and not more:
        tensors["x"] = tensors.pop("query")
        del tensors["value"]
        memory = tensors.pop("key")
        tensors.update({} if key is query else {"memory": memory})
        tensors.update(w_qkv=module.in_proj_weight, b_qkv=module.in_proj_bias)
    else:  # keys and values as no flag has them: they are given as they are projected
        said["projection"] = "none"
        tensors.update(_projected(module, tensors))
        mask = None if mask is None else sys.modules["torch"].nn.functional.pad(mask, (0, more))
    tensors.update(mask=mask, w_output=module.out_proj.weight, b_output=module.out_proj.bias)
    return tensors, said


def _projected(module: Any, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Returns query, key and value of nn.MultiheadAttention by head, with the rows that it adds."""
    torch = sys.modules["torch"]
    weights = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
    weights = weights if module.in_proj_weight is None else module.in_proj_weight.chunk(3)
    biases = [None] * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
    made = {}
    for name, weight, bias in zip(("query", "key", "value"), weights, biases):
        each = torch.nn.functional.linear(tensors[name], weight, bias)
        row = {"key": module.bias_k, "value": module.bias_v}.get(name)
        if row is not None:
            each = torch.cat([each, row.reshape(-1).expand(*each.shape[:-2], 1, -1)], -2)
        if name != "query" and module.add_zero_attn:
            each = torch.nn.functional.pad(each, (0, 0, 0, 1))
        made[name] = each.unflatten(-1, (module.num_heads, -1)).transpose(-3, -2)
    return made


def _is_in(name: str, of: str) -> bool:
    """True if a module is within another."""
    return of == _TOP or name.startswith(of + ".")


def watch(model: Any, **named: str) -> Any:
    """with watch(model) as seen: model(x), then seen.diagnose(), seen[3].why("weights[0,1,2]").

    watch(model, q="layers.*.q_proj", k=..., v=..., out=...) records these modules' outputs, too.
    As a decorator, @watch records your function's local tensors: function.seen[0].diagnose()."""
    if hasattr(model, "named_modules"):
        return Watched(model, named)
    if not hasattr(model, "__code__"):
        raise AttnError(f"give a model or a function to watch, not {type(model).__name__}")
    seen = Watched(None, {})

    @functools.wraps(model)
    def traced(*args: Any, **kwargs: Any) -> Any:
        before = sys.getprofile()

        def leaves(frame: Any, event: str, value: Any) -> None:
            if event == "return" and frame.f_code is model.__code__:
                local = {name: each for name, each in frame.f_locals.items() if _is_tensor(each)}
                seen._keep(model.__name__, lambda: (local, {}))

        sys.setprofile(leaves)
        try:
            return model(*args, **kwargs)
        finally:
            sys.setprofile(before)

    setattr(traced, "seen", seen)
    return traced


def __getattr__(name: str) -> str:
    if name == "__version__":
        return Answer(["--version"]).text.split()[-1]
    raise AttributeError(f"module attn_explain has no {name}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "__doc__"]


def _sign(path: str) -> None:
    """Adds the program's flags to the calls here as keywords, for completion and help."""
    stub = _stub(path)
    own = [each for each in globals().values() if getattr(each, "__module__", "") == __name__]
    for each in own:
        parts = list(vars(each).items()) if inspect.isclass(each) else [(each.__name__, each)]
        said = vars(stub.get(each.__name__, object)) if inspect.isclass(each) else stub
        for name, function in parts:
            told = said.get(name)
            if inspect.isfunction(function) and inspect.isfunction(told):
                function.__signature__ = inspect.signature(told)  # type: ignore[attr-defined]
                function.__doc__ = "\n\n".join(filter(None, (function.__doc__, told.__doc__)))


def main(words: list[str]) -> int:
    """Runs `verify FILE...`, or any command line of the program."""
    codes = [0]
    for path in words[1:] if words[:1] == ["verify"] else [""]:
        try:
            if words[:1] != ["verify"]:
                return subprocess.run([program(), *words]).returncode
            from attn_verify import verify

            codes.append(0 if verify(path) else 1)
        except (AttnError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            print(f"attn_explain.py: error: {error or type(error).__name__}", file=sys.stderr)
            codes.append(2)
    if words == ["verify"]:
        print("attn_explain.py: error: verify which file?", file=sys.stderr)
        return 2
    return max(codes)


# The flags, which take 80 milliseconds, are needed only for interactive use.
if hasattr(sys, "ps1") or "IPython" in sys.modules:
    with contextlib.suppress(AttnError):  # the first call says what is missing
        _sign(program())
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

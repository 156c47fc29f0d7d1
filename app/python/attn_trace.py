"""Traces a Python program: records the tensor that each line, and each part of a line, computes.

    python3 attn_trace.py FOLDER FILE.py|FILE.ipynb     # run by `attn-explain explain`

The program runs unchanged. In its own files each expression is compiled with a call that copies
its tensor, so that a formula in one line is decomposed as well. FOLDER gets trace.safetensors, the
tensors in the order of time under `LINE:NAME@PASS#TIME`, and trace.json: the source, the functions,
and the exception that the program raised.
"""

from __future__ import annotations

import ast
import builtins
import gc
import importlib.machinery
import json
import linecache
import math
import os
import sys
import threading
import types
import weakref
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, Type

import attn_explain as ae

_HOOK = "__attn_{}__"  # a name that Python does not mangle in classes
_CALLED = ("value", "bind", "changed", "filled", "listed", "loop", "called", "slice")
_MOST_BYTES = 1 << 30  # limit for all tensors together
_MOST_PASSES = 4096  # limit for one expression
_MOST_OF_ONE = (
    1 << 22
)  # limit in bytes for one expression; four passes are recorded whatever their size


class Kept:
    """A copy of a tensor that a line computed."""

    __slots__ = (
        *("file", "line", "name", "named", "path", "array", "kind", "order", "place", "also"),
        *("filled", "fill"),
    )

    def __init__(self, place: "Place", path: Tuple[int, ...], kind: str, array: Any) -> None:
        self.file, self.line, self.name, self.named = place.file, place.line, place.text, False
        self.path, self.kind, self.array, self.order, self.place = path, kind, array, 0, place
        self.also: List[str] = []  # other variables that it was assigned to
        self.filled: List[Place] = []  # statements that fill its cells
        self.fill: Tuple[int, ...] = ()  # the passes of loops of the last one


class Place:
    """An expression of the program."""

    __slots__ = ("file", "line", "last", "text", "passes", "bytes")

    def __init__(self, file: str, node: ast.AST, text: str) -> None:
        self.file, self.text, self.passes, self.bytes = file, text, 0, 0
        self.line: int = getattr(node, "lineno", 0)
        self.last: int = getattr(node, "end_lineno", 0)


class Recorder:
    """Records copies of the tensors of a program, in the order of time."""

    def __init__(self) -> None:
        self.kept: List[Kept] = []
        self.places: List[Place] = []
        self.left_out = 0
        self.functions: Dict[str, List[Tuple[str, int, int]]] = {}  # by file
        self.bound: Dict[str, Kept] = {}  # the last tensor of each variable
        self._bytes = self._time = 0
        self._alive: Dict[int, Tuple[Any, Kept, int]] = {}
        self._others = {int, float, bool, str, tuple, type(None), dict, list, type}
        self._modules: Dict[int, Tuple[Any, Place]] = {}  # that were called
        self._files: Set[str] = set()
        self._loops = threading.local()

    def place(self, file: str, node: ast.AST, text: str) -> int:
        self.places.append(Place(file, node, text))
        self._files.add(file)
        return len(self.places) - 1

    def install(self) -> None:
        """Makes the functions that the compiled program calls available in every module."""
        others, places, keep = self._others, self.places, self._keep

        def value(place: int, value: Any) -> Any:
            """Returns the value of an expression, and records it if it is a tensor."""
            if type(value) not in others:
                keep(places[place], value)
            return value

        for name in _CALLED:
            setattr(builtins, _HOOK.format(name), value if name == "value" else getattr(self, name))

    def remove(self) -> None:
        for name in _CALLED:
            delattr(builtins, _HOOK.format(name))

    # The functions that the compiled program calls.

    def bind(self, place: int, value: Any) -> None:
        """Called when a statement has assigned this value to a name."""
        at = self.places[place]
        if type(value) is list:
            value = _matrix(value)
        self.bound.pop(at.text, None)
        if value is None or type(value) in self._others:
            return
        kept = self._keep(at, value)
        if kept is not None:
            self.bound[at.text] = kept
        if kept is None or kept.name == at.text:
            return
        if not kept.named and at.line <= kept.line <= at.last:
            kept.name, kept.named = at.text, True
        elif at.text not in kept.also:
            kept.also.append(at.text)

    def changed(self, place: int, value: Any) -> None:
        """Called when a statement has changed this value in place."""
        self._alive.pop(id(value), None)
        self.bind(place, value)

    def filled(self, place: int, value: Any, indices: Tuple[Any, ...]) -> None:
        """Called when a statement has written to these cells: `a[i][j]` has two indices."""
        if not ae._is_tensor(value):
            return
        at, held = self.places[place], self._alive.get(id(value))
        kept = held[1] if held is not None and held[0]() is value else None
        passes = tuple(self._path())
        if kept is not None and kept.filled and passes and kept.fill == passes:
            # Several statements of a loop fill it together.
            kept.filled, kept.line = [*kept.filled, at], max(kept.line, at.line)
        if kept is None or at not in kept.filled:
            path = kept.path if kept is not None else None
            self._alive.pop(id(value), None)
            kept = self._keep(at, value)
            if kept is not None:
                kept.path, kept.named = kept.path if path is None else path, True
                kept.filled, kept.fill = [at], passes
                self.bound[at.text] = kept
            return
        ours, theirs = kept.array, value
        for index in indices[:-1]:
            ours, theirs = ours[index], theirs[index]
        cells = theirs[indices[-1]]
        ours[indices[-1]] = ae._bytes("", cells)[1] if hasattr(cells, "detach") else cells
        self._alive[id(value)] = (held[0] if held else None, kept, _version(value))
        kept.order, kept.fill = self._tick(), passes

    slice = slice

    def listed(self, place: int, value: Any) -> None:
        """Called when a loop has filled this list."""
        if type(value) is list:
            self.bind(place, value)

    def loop(self, values: Any) -> Iterator[Any]:
        """Yields the values of a loop; tensors recorded meanwhile have the number of the iteration."""
        path: List[int] = self._path()
        depth = len(path)
        try:
            for count, value in enumerate(values):
                # A generator may resume in another loop, or after the loop around it has ended.
                path[:] = (path + [0] * depth)[:depth] + [count]
                yield value
        finally:
            del path[depth:]

    def called(self, place: int, function: Any) -> Any:
        """Called before a function is called. Records the parameters of a PyTorch module, and the inputs
        and outputs of PyTorch's own attention."""
        at = self.places[place]
        if hasattr(function, "cls_to_become"):
            return self._lazily(place, function)
        if hasattr(function, "named_parameters") and hasattr(function, "_parameters"):
            for name, each in function.named_parameters(recurse=False):
                self._keep(at, each, f"{at.text}.{name}")
            self._modules.setdefault(id(function), (function, at))
            if _is_attention(function):
                return self._attending("MultiheadAttention", at, function)
            if type(function).__module__ == "torch.nn.modules.transformer":
                return self._around(at, function)
        elif (word := getattr(function, "__name__", "")) in ae._ORDER and "dot_product" in word:
            code = getattr(function, "__code__", None)
            if code is not None and code.co_filename in self._files:
                return function  # the program's own
            return self._attending(word, at, function)
        return function

    # How tensors are recorded.

    def _lazily(self, place: int, module: Any) -> Callable[..., Any]:
        """Returns a call of a module whose parameters are initialized by the call."""

        def called(*args: Any, **kwargs: Any) -> Any:
            result = module(*args, **kwargs)
            self.called(place, module)
            return result

        return called

    def _around(self, at: Place, module: Any) -> Callable[..., Any]:
        """Returns a call of a module that records the attentions inside."""

        def called(*args: Any, **kwargs: Any) -> Any:
            inside = list(filter(_is_attention, module.modules()))
            for each in inside:
                forward = self._attending("MultiheadAttention", at, each.forward, each)
                each.forward = forward
            try:
                return module(*args, **kwargs)
            finally:
                for each in inside:
                    del each.forward

        return called

    def _attending(
        self, word: str, at: Place, function: Any, module: Any = None
    ) -> Callable[..., Any]:
        def attended(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            try:
                given = ae._given(word, args, kwargs)
                if word == "MultiheadAttention":
                    tensors, said = ae._multihead(module or function, given, result)
                else:
                    tensors, said = ae._attention(given, result)
                tensors["mask"] = _hidden(tensors, said)
            except (ae.AttnError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
                return result  # its result is recorded as the value of its line
            if said.get("dropout"):  # which cells it drops is unknown
                tensors["dropout"] = ae._numpy().array([said["dropout"]])
            tensors["heads"] = ae._numpy().array([said.get("heads", 1)])
            for name, each in tensors.items():
                if each is not None:
                    self._alive.pop(id(each), None)
                    self._keep(at, each, "step " + ae._STEPS.get(name, name))
            return result

        return attended

    def _tick(self) -> int:
        self._time += 1
        return self._time

    def _path(self) -> List[int]:
        if not hasattr(self._loops, "path"):
            self._loops.path = []
        path: List[int] = self._loops.path
        return path

    def _keep(self, at: Place, value: Any, name: str = "") -> Optional[Kept]:
        try:
            if not hasattr(value, "__array__"):
                self._others.add(type(value))
                return None
            if getattr(value, "ndim", 0) == 0 or getattr(value, "is_meta", False):
                return None
            version = _version(value)
            held = self._alive.get(id(value))
            if held is not None and held[0]() is value and held[2] == version:
                return held[1]
            size = value.nbytes if hasattr(value, "nbytes") else value.numel() * 8
            is_much = at.passes >= 4 and at.bytes + size > _MOST_OF_ONE
            if at.passes >= _MOST_PASSES or is_much or self._bytes + size > _MOST_BYTES:
                self.left_out += 1
                return None
            kind, array = ae._bytes("", _real(value))
            kept = Kept(at, tuple(self._path()), kind, array)
            self._alive[id(value)] = (weakref.ref(value), kept, version)
        except (ae.AttnError, TypeError, ValueError, RuntimeError, AttributeError):
            return None  # a file cannot store it: text, objects, masked cells
        at.passes += 1
        at.bytes += array.nbytes
        self._bytes += array.nbytes
        kept.order = self._tick()
        kept.name, kept.named = (name, True) if name else (kept.name, False)
        self.kept.append(kept)
        return kept

    def _keep_unused(self) -> None:
        """Records matrices of modules that the program has and never calls."""
        names = [kept.name for kept in self.kept]
        for module, at in list(self._modules.values()):
            if type(module).__module__.startswith("torch."):
                continue  # it calls its own
            for name, each in module.named_children():
                weight = f"{name}.weight"
                is_used = id(each) in self._modules or any(used.endswith(weight) for used in names)
                if type(each).__name__ == "Linear" and not is_used:
                    self._keep(at, each.weight, "unused " + weight)

    def write(self, folder: str, main: str, said: Dict[str, Any]) -> None:
        """Writes trace.safetensors and trace.json."""
        self._keep_unused()
        header: Dict[str, Any] = {}
        place = 0
        arrays = []
        keys: Dict[int, str] = {}
        for each in sorted(self.kept, key=lambda kept: kept.order):
            passes = "@" + ",".join(map(str, each.path)) if each.path else ""
            file = "" if each.file == main else each.file + ":"
            name = " ".join(each.name.split())[:100]
            key = f"{file}{each.line}:{name}{passes}#{each.order}"
            keys[id(each)] = key
            size = each.array.nbytes
            offsets = [place, place + size]
            header[key] = {"dtype": each.kind, "shape": each.array.shape, "data_offsets": offsets}
            place += size
            arrays.append(each.array)
        text = json.dumps(header).encode()
        with open(os.path.join(folder, "trace.safetensors"), "wb") as out:
            out.write(len(text).to_bytes(8, "little") + text)
            for array in arrays:
                out.write(array.tobytes())
        said["left_out"] = self.left_out
        said["names"] = {keys[id(each)]: each.also for each in self.kept if each.also}
        said["functions"] = self.functions.get(main, [])
        said["last"] = {name: keys[id(kept)] for name, kept in self.bound.items()}
        Path(folder, "trace.json").write_text(json.dumps(said))


def _is_attention(module: Any) -> bool:
    of_torch = type(module).__module__ == "torch.nn.modules.activation"
    return of_torch and hasattr(module, "in_proj_weight")


def _real(value: Any) -> Any:
    """Returns complex numbers as pairs of real ones in the last axis, other numbers as they are."""
    if hasattr(value, "resolve_conj") and value.is_complex():
        return sys.modules["torch"].view_as_real(value.detach().resolve_conj()).flatten(-2)
    np = ae._numpy()
    if isinstance(value, np.ndarray) and np.iscomplexobj(value):
        return np.ascontiguousarray(value).view(value.real.dtype)
    return value


def _version(value: Any) -> int:
    """Returns how often PyTorch changed a tensor in place."""
    try:
        return int(getattr(value, "_version", 0))
    except RuntimeError:
        return 0  # tensors in inference mode have no version


def _hidden(tensors: Dict[str, Any], said: Dict[str, Any]) -> Any:
    """Returns the cells that a call of attention hides, as an array; None if it hides none."""
    np, mask = ae._numpy(), tensors.get("mask")
    if said.get("mask") == "causal":
        shape = (tensors["query"].shape[-2], tensors["key"].shape[-2])
        return np.triu(np.ones(shape, dtype=bool), 1)
    if mask is None:
        return None
    cells = np.asarray(mask.detach().cpu().float())
    if mask.is_floating_point():
        return cells < -1e4
    return (cells == 0) if said.get("mask_true") == "keep" else (cells != 0)


def _matrix(value: List[Any]) -> Any:
    """Returns a list of numbers or rows as an array; None if it is neither."""
    first: Any = value
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    plain = isinstance(first, (int, float)) or getattr(first, "dtype", None) is not None
    if not plain or not hasattr(first, "__float__") and not hasattr(first, "__array__"):
        return None
    np = ae._numpy()
    try:
        rows = [each.detach().numpy() if hasattr(each, "detach") else each for each in value]
        array = np.array(rows, dtype=float)
    except (TypeError, ValueError, RuntimeError):
        return None  # rows of different lengths, or no numbers
    return array if array.size < 1 << 20 else None


class _Rewriter(ast.NodeTransformer):
    """Puts calls of the recorder around the expressions of a program."""

    def __init__(self, recorder: Recorder, file: str, source: str) -> None:
        self._recorder, self._file, self._source = recorder, file, source
        self._inner: Set[str] = set()
        self._within = ""

    def _call(self, name: str, like: ast.AST, *args: ast.expr) -> ast.Call:
        hook = ast.Name(_HOOK.format(name), ast.Load())
        made = ast.Call(hook, list(args), [])
        for node in ast.walk(made):
            if "lineno" not in node.__dict__:
                ast.copy_location(node, like)
        return made

    def _place(self, node: ast.AST, text: Optional[str] = None) -> ast.Constant:
        said = ast.get_source_segment(self._source, node) if text is None else text
        return ast.Constant(self._recorder.place(self._file, node, said or ast.unparse(node)))

    def _valued(self, node: Any) -> Any:
        place = self._place(node)
        made: Any = self.generic_visit(node)
        return self._call("value", node, place, made)

    visit_BinOp = visit_UnaryOp = _valued

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return self._valued(node) if isinstance(node.ctx, ast.Load) else self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return self._valued(node) if isinstance(node.ctx, ast.Load) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals"):
            return self.generic_visit(node)
        place = self._place(node)
        function = self._place(node.func)
        if isinstance(node.func, ast.Attribute):  # do not record the function itself
            func: ast.expr = self.generic_visit(node.func)  # type: ignore[assignment]
        else:
            func = self.visit(node.func)
        node.func = self._call("called", node.func, function, func)
        node.args = [self.visit(each) for each in node.args]
        node.keywords = [self.visit(each) for each in node.keywords]
        return self._call("value", node, place, node)

    def visit_Name(self, node: ast.Name) -> Any:
        """Records arguments of a lambda and targets of a comprehension, which no statement binds."""
        is_read = isinstance(node.ctx, ast.Load) and node.id in self._inner
        return self._call("value", node, self._place(node), node) if is_read else node

    def _inside(self, node: Any) -> Any:
        """Visits an expression that binds its own names."""
        outer = self._inner
        if isinstance(node, ast.Lambda):
            self._inner = {*outer, *(each.arg for each in node.args.args)}
        else:
            targets = [each for one in node.generators for each in ast.walk(one.target)]
            names = {each.id for each in targets if isinstance(each, ast.Name)}
            self._inner = {*outer, *names}
        made = self.generic_visit(node)
        self._inner = outer
        return made

    visit_Lambda = visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = _inside

    def visit_For(self, node: ast.For) -> Any:
        lists = self._lists_of(node)
        bound = self._bound(node.target, node)
        made = self.generic_visit(node)
        assert isinstance(made, ast.For)
        made.body = [*bound, *made.body]
        made.iter = self._call("loop", made.iter, made.iter)
        return [made, *lists]

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        made = self.generic_visit(node)
        assert isinstance(made, ast.comprehension)
        if not made.is_async:
            made.iter = self._call("loop", made.iter, made.iter)
        return made

    def _lists_of(self, node: ast.For) -> List[ast.stmt]:
        """Returns statements after a loop that record the lists it fills."""
        found: Dict[str, ast.AST] = {}
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
                if each.func.attr == "append" and isinstance(each.func.value, ast.Name):
                    found[each.func.value.id] = each
            elif isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
                base: ast.expr = each
                while isinstance(base, ast.Subscript):
                    base = base.value
                if isinstance(base, ast.Name):
                    found[base.id] = each
        return [
            self._after("listed", at, at, ast.Name(name, ast.Load()), name)
            for name, at in found.items()
        ]

    def _after(
        self, how: str, at: ast.AST, like: ast.AST, value: ast.expr, name: str, *more: ast.expr
    ) -> ast.Expr:
        call = self._call(how, like, self._place(at, name), value, *more)
        return ast.copy_location(ast.Expr(call), like)

    def _bound(self, target: ast.expr, at: ast.stmt, how: str = "bind") -> List[ast.stmt]:
        """Returns statements that record the values that a statement has assigned."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return [more for each in target.elts for more in self._bound(each, at, how)]
        if isinstance(target, ast.Starred):
            return self._bound(target.value, at, how)
        name = ast.unparse(target)
        if isinstance(target, ast.Name):
            return [self._after(how, at, at, ast.Name(target.id, ast.Load()), name)]
        if isinstance(target, ast.Attribute) and _is_plain(target.value):
            return [self._after(how, at, at, _loaded(target), name)]
        if not isinstance(target, ast.Subscript):
            return []
        indices: List[ast.expr] = []
        base: ast.expr = target
        while isinstance(base, ast.Subscript):
            indices.insert(0, base.slice)
            base = base.value
        if not _is_plain(base):
            return []
        root = _loaded(base)
        if not all(map(_is_plain, indices)):
            return [self._after("changed", at, at, root, ast.unparse(base))]
        cells = ast.Tuple([_as_index(each) for each in indices], ast.Load())
        return [self._after("filled", at, at, root, ast.unparse(base), cells)]

    def visit_Assign(self, node: ast.Assign) -> Any:
        more = [after for target in node.targets for after in self._bound(target, node)]
        node.value = self.visit(node.value)
        return [node, *more]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return node
        node.value = self.visit(node.value)
        return [node, *self._bound(node.target, node)]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        more = self._bound(node.target, node, "changed")
        node.value = self.visit(node.value)
        return [node, *more]

    def visit_Expr(self, node: ast.Expr) -> Any:
        call, more = node.value, []
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            in_place = call.func.attr.endswith("_") and not call.func.attr.endswith("__")
            if in_place and _is_plain(call.func.value):
                more = self._bound(call.func.value, node, "changed")
        node.value = self.visit(node.value)
        return [node, *more]

    def _define(self, node: Any) -> List[ast.stmt]:
        """Visits the statements of a function or class, and records its name and lines."""
        outer = self._within
        self._within = f"{outer}.{node.name}".lstrip(".")
        defined = (self._within, node.lineno, node.end_lineno or node.lineno)
        self._recorder.functions.setdefault(self._file, []).append(defined)
        body = [each for statement in node.body for each in _listed(self.visit(statement))]
        self._within = outer
        return body

    def visit_FunctionDef(self, node: Any) -> Any:
        node.args.defaults = [self.visit(each) for each in node.args.defaults]
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        taken = [
            self._after("bind", each, each, ast.Name(each.arg, ast.Load()), each.arg)
            for each in every
            if each.arg not in ("self", "cls")
        ]
        body = self._define(node)
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body = body[:first] + taken + body[first:]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.body = self._define(node)
        return node

    def _left(self, node: Any) -> Any:
        return node

    visit_JoinedStr = visit_Delete = visit_Import = visit_ImportFrom = _left

    def visit_Match(self, node: Any) -> Any:
        for case in node.cases:
            case.body = [each for one in case.body for each in _listed(self.visit(one))]
        return node


def _listed(made: Any) -> List[Any]:
    return made if isinstance(made, list) else [made]


def _loaded(node: ast.expr) -> ast.expr:
    """Returns a copy of an expression in load context."""
    return ast.parse(ast.unparse(node), mode="eval").body


class _Slices(ast.NodeTransformer):
    """Replaces `1:n` in an index by a call that returns a slice."""

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        parts = [each or ast.Constant(None) for each in (node.lower, node.upper, node.step)]
        return ast.Call(ast.Name(_HOOK.format("slice"), ast.Load()), parts, [])


def _as_index(node: ast.expr) -> ast.expr:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    text = ", ".join(map(ast.unparse, parts)) + ("," if isinstance(node, ast.Tuple) else "")
    made = _Slices().visit(ast.parse(f"_[{text}]", mode="eval").body.slice)  # type: ignore
    assert isinstance(made, ast.expr)
    return made


def _is_plain(node: ast.AST) -> bool:
    """True if an expression may be evaluated twice: it calls nothing and binds nothing."""
    return not any(
        isinstance(each, (ast.Call, ast.NamedExpr, ast.Await, ast.Yield)) for each in ast.walk(node)
    )


def _rewritten(recorder: Recorder, file: str, source: str) -> types.CodeType:
    tree = _Rewriter(recorder, file, source).visit(ast.parse(source, file))
    code: types.CodeType = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    return code


class _Finder(importlib.machinery.PathFinder):
    """Finds the modules next to the program, which are traced too."""

    def __init__(self, recorder: Recorder, folder: str) -> None:
        self._recorder, self._folder = recorder, folder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # type: ignore
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        origin = getattr(spec, "origin", None) or ""
        inside = origin.startswith(self._folder + os.sep) and "site-packages" not in origin
        if spec is None or not inside or not origin.endswith(".py"):
            return None
        recorder = self._recorder

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> types.CodeType:
                return _rewritten(recorder, origin, Path(origin).read_text())

        spec.loader = Loader(spec.loader.name, origin)  # type: ignore[union-attr]
        return spec


def _source(path: str) -> Tuple[str, List[Tuple[int, int]]]:
    """Returns the program in a file; for a notebook, the code of its cells and their first lines."""
    text = Path(path).read_text(encoding="utf-8")
    if not path.endswith(".ipynb"):
        return text, []
    lines: List[str] = []
    cells: List[Tuple[int, int]] = []
    for number, cell in enumerate(json.loads(text)["cells"], 1):
        if cell["cell_type"] != "code":
            continue
        said = "".join(cell["source"]).split("\n")
        kind = said[0].split()[0] if said[0].split() else ""
        if kind.startswith("%%") and kind not in ("%%time", "%%timeit", "%%capture"):
            continue
        cells.append((len(lines) + 1, number))
        lines += [_without_magic(each) for each in said]
    return "\n".join(lines) + "\n", cells


def _without_magic(line: str) -> str:
    bare = line.lstrip()
    if bare[:1] in ("%", "!", "?") or (bare.endswith("?") and "#" not in bare):
        return line[: len(line) - len(bare)] + "pass  # " + bare
    return line


def _raised(recorder: Recorder, error: BaseException) -> Dict[str, Any]:
    """Returns the line that raised an exception, and the shapes of its operands."""
    files = {each.file for each in recorder.places}
    trace, frame, at = error.__traceback__, None, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            frame, at = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    said: Dict[str, Any] = {"type": type(error).__name__, "message": str(error).split("\n")[0]}
    if frame is None:
        return said
    file = frame.f_code.co_filename
    places = [
        each for each in recorder.places if each.file == file and each.line <= at <= each.last
    ]
    shapes: Dict[str, Any] = {}
    for kept in recorder.kept:
        if kept.place in places:
            shapes[" ".join(kept.name.split())] = kept.array.shape
    trees: List[ast.AST] = []
    for place in places:
        try:
            trees.append(ast.parse(place.text.strip(), mode="eval"))
        except SyntaxError:
            continue
    for tree in trees:
        for node in ast.walk(tree):
            if not isinstance(node, ast.Name):
                continue
            value = frame.f_locals.get(node.id, frame.f_globals.get(node.id))
            if ae._is_tensor(value):
                shapes[node.id] = value.shape
    said.update(file=file, line=at, shapes=[[name, list(size)] for name, size in shapes.items()])
    names = {**frame.f_globals, **frame.f_locals}
    nodes = [node for tree in trees for node in ast.walk(tree)]
    ways = [_fitting(node, shapes) or _fitting_sizes(node, shapes, names) for node in nodes]
    said["fits"] = next(filter(None, ways), "")
    return said


def _known_shapes(node: ast.AST, shapes: Dict[str, Any]) -> List[Tuple[str, List[int]]]:
    """Returns the operands of a product or sum that have known shapes, with their shapes."""
    parts: List[ast.expr] = []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        parts = [*node.args] if len(node.args) > 1 else [node.func.value, *node.args]
    named = [(ast.unparse(each), shapes.get(ast.unparse(each))) for each in parts[:2]]
    return [(name, list(shape)) for name, shape in named if shape is not None]


def _met(a: List[int], b: List[int], is_product: bool) -> Optional[List[int]]:
    """Returns the shape of a product or sum of two tensors; None if they do not fit."""
    tail: List[int] = []
    if is_product:
        if min(len(a), len(b)) < 2 or a[-1] != b[-2]:
            return None
        a, b, tail = a[:-2], b[:-2], [a[-2], b[-1]]
    size = max(len(a), len(b))
    pairs = list(zip([1] * (size - len(a)) + a, [1] * (size - len(b)) + b))
    fit = all(x == y or 1 in (x, y) for x, y in pairs)
    return [max(pair) for pair in pairs] + tail if fit else None


def _fitting(node: ast.AST, shapes: Dict[str, Any]) -> str:
    """Returns an operand that would fit, if those of an expression do not; empty if none is simple."""
    known = _known_shapes(node, shapes)
    word = (
        node.func.attr
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        else ""
    )
    is_product = isinstance(getattr(node, "op", None), ast.MatMult) or word in (
        "matmul",
        "bmm",
        "dot",
        "mm",
    )
    if len(known) < 2 or not (is_product or isinstance(node, ast.BinOp)):
        return ""
    (a, of_a), (b, of_b) = known
    if _met(of_a, of_b, is_product) is not None:
        return ""
    ways: List[Tuple[str, List[int], List[int]]] = []
    for name, shape in ((b, of_b), (a, of_a)):
        changed: List[Tuple[str, List[int]]] = []
        if len(shape) == 2:
            changed.append((f"{name}.T", shape[::-1]))
        elif len(shape) > 2:
            changed.append((f"{name}.swapaxes(-2, -1)", [*shape[:-2], shape[-1], shape[-2]]))
        for axis in range(1, len(shape)):
            at = ", ".join([":"] * axis + ["None"])
            changed.append((f"{name}[{at}]", [*shape[:axis], 1, *shape[axis:]]))
        ways += [(way, of_a, new) if name == b else (way, new, of_b) for way, new in changed]
    for way, one, other in ways:
        made = _met(one, other, is_product)
        if made is not None:
            return f"{way} would fit and give {tuple(made)}"
    return ""


def _fitting_sizes(node: ast.AST, shapes: Dict[str, Any], names: Dict[str, Any]) -> str:
    """Returns sizes of a view or reshape that would fit, with one changed; empty if none do."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    word, base = node.func.attr, shapes.get(ast.unparse(node.func.value))
    if word not in ("view", "reshape") or base is None or not all(map(_is_plain, node.args)):
        return ""
    asked = ast.Expression(ast.Tuple(node.args, ast.Load()))
    sizes: List[int] = []
    for each in eval(compile(ast.fix_missing_locations(asked), "sizes", "eval"), dict(names)):
        sizes += each if isinstance(each, (tuple, list)) else [each]
    total, asked_for = math.prod(base), math.prod(sizes)
    if word == "view" and total == asked_for:  # not contiguous
        return f"reshape({', '.join(map(str, sizes))}) would fit"
    for i in reversed(range(len(sizes))):
        others = math.prod(sizes[:i] + sizes[i + 1 :])
        if -1 not in sizes and total != asked_for and others > 0 and total % others == 0:
            fit = [*sizes[:i], total // others, *sizes[i + 1 :]]
            return f"{word}({', '.join(map(str, fit))}) would fit"
    return ""


def _run(
    recorder: Recorder,
    program: Callable[[], Any],
    said: Dict[str, Any],
    kind: Type[BaseException] = Exception,
) -> None:
    """Runs a rewritten program, and reports an exception of this kind."""
    recorder.install()
    try:
        program()
    except kind as error:
        if not isinstance(error, SystemExit):
            said["raised"] = _raised(recorder, error)


def trace_file(path: str, folder: str) -> int:
    """Runs a program, and writes its tensors and its exception to the folder.

    Returns 0, or 2 with error.txt if the file cannot be read."""
    try:
        source, cells = _source(path)
        recorder = Recorder()
        code = _rewritten(recorder, path, source)
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        Path(folder, "error.txt").write_text(f"cannot be read as a program: {error}")
        return 2
    except SyntaxError as error:
        Path(folder, "error.txt").write_text(f"line {error.lineno}: {error.msg}")
        return 2
    beside = os.path.dirname(os.path.abspath(path))
    sys.argv, sys.path[0] = [path], beside
    sys.meta_path.insert(0, _Finder(recorder, beside))
    main = types.ModuleType("__main__")
    main.__file__ = os.path.abspath(path)
    sys.modules["__main__"] = main
    said: Dict[str, Any] = {"file": path, "source": source.split("\n"), "cells": cells}
    _run(recorder, lambda: exec(code, main.__dict__), said, BaseException)
    sys.stdout.flush()
    recorder.write(folder, path, said)
    return 0


def trace_call(function: Callable[..., Any], folder: str, *args: Any) -> str:
    """Calls a function with the same trace as trace_file; returns the name of its file."""
    function = getattr(function, "forward", function)
    code = getattr(function, "__code__", None)
    if code is None:
        raise ae.AttnError("pass a function or a module that is written in Python")
    main: str = code.co_filename
    recorder = Recorder()
    undo: List[Tuple[types.FunctionType, types.CodeType]] = []
    said: Dict[str, Any] = {"file": main, "source": _lines(main), "cells": []}
    own = [each for each in gc.get_objects() if isinstance(each, types.FunctionType)]
    files = {each.__code__.co_filename for each in own}
    files = {each for each in files if os.path.dirname(each) == os.path.dirname(main)}
    made: Dict[Tuple[str, str, int], types.CodeType] = {}
    for file in files:
        lines = _lines(file)
        if lines:
            stack = [_rewritten(recorder, file, "\n".join(lines))]
            while stack:
                one = stack.pop()
                made[file, one.co_name, one.co_firstlineno] = one
                stack += [more for more in one.co_consts if isinstance(more, types.CodeType)]
    for each in own:
        was = each.__code__
        new = made.get((was.co_filename, was.co_name, was.co_firstlineno))
        if new is not None and new.co_freevars == was.co_freevars:
            undo.append((each, was))
            each.__code__ = new
    try:
        _run(recorder, lambda: function(*args), said)
    finally:
        for each, was in undo:
            each.__code__ = was
        recorder.remove()
    recorder.write(folder, main, said)
    return main


def trace_cell(source: str, names: Dict[str, Any], folder: str) -> str:
    """Runs a notebook cell in the namespace of the notebook, with the same trace as trace_file."""
    recorder = Recorder()
    lines = [_without_magic(line) for line in source.split("\n")]
    code = _rewritten(recorder, "cell", "\n".join(lines))
    said: Dict[str, Any] = {"file": "cell", "source": lines, "cells": []}
    for name, value in list(names.items()):  # tensors of earlier cells
        if ae._is_tensor(value) and not name.startswith("_"):
            place = recorder.place("earlier cells", ast.Module([], []), name)
            recorder.bind(place, value)
    try:
        _run(recorder, lambda: exec(code, names), said)
    finally:
        recorder.remove()
    recorder.write(folder, "cell", said)
    return "cell"


def _lines(file: str) -> List[str]:
    return [line.rstrip("\n") for line in linecache.getlines(file)]


if __name__ == "__main__":
    sys.exit(trace_file(sys.argv[2], sys.argv[1]))

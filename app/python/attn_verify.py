"""An independent checker: holds each number of a walk to the rule beside it.

It reads rules and numbers as anybody may who has the page on rules, and makes each tensor from those
before it in float64, beside how far right code can be from that. It shares no code with the program.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any, Callable, Dict, Tuple

import numpy as np

_Arrays = Dict[str, Any]
_Ball = Tuple[Any, Any]  # numbers, and how far each may be off
_PAGE = re.compile(r'<script type="application/json" id="\w*walk"[^>]*>(.*?)</script>', re.S)
_WORD = re.compile(r"\s*(\d+(?=\.\.)|\d*\.?\d+(?:[eE][-+]?\d+)?|[A-Za-z_]\w*|[<>=!/]=|//|\.\.|\S)")
# Of each type: what rounding may do to a product, the least number, and what is infinite.
_STORED = {
    "float64": (2.0**-52, 5e-324, np.inf),
    "float32": (2.0**-23, 1.5e-45, 3.4028236e38),
    "bfloat16": (2.0**-7, 1e-40, 3.4e38),
    "float16": (2.0**-10, 6e-8, 65520.0),
}
_COMPARES: dict[Any, Any] = {ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater}
_COMPARES.update({ast.GtE: np.greater_equal, ast.Eq: np.equal, ast.NotEq: np.not_equal})
# Each function, and the error of its value v by that of x. The last ones round nothing.
_FUNCTIONS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "exp": (np.exp, lambda x, v, e: v * np.expm1(e)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x, v, e: v * np.expm1(e)),
    "sqrt": (np.sqrt, lambda x, v, e: v - np.sqrt(np.maximum(x - e, 0))),
    "log": (np.log, lambda x, v, e: v - np.log(np.maximum(x - e, 0))),
    **{name: (getattr(np, name), lambda x, v, e: e) for name in ("tanh", "sin", "cos", "abs")},
    "relu": (lambda x: np.where(x < 0, 0, x), lambda x, v, e: e),
    "floor": (np.floor, lambda x, v, e: np.floor(x + e) - np.floor(x - e)),
    "half": (lambda x: np.float16(x).astype(float), lambda x, v, e: (e > 0) * np.abs(x) / 512 + e),
}


def _tree(text: str) -> ast.expr:
    """The tree that Python reads in a rule's right side, as sum_(k, 0, 3, ...), if_(c, a, b)."""
    words, said, ends = [*_WORD.findall(text), ""], "", [0]
    for word, following in zip(words, words[1:]):
        if word in ("sum", "mean", "max", "min") and following not in "([":
            said, ends[-1] = f"{said} {word}_(", ends[-1] + 1
        elif word in ("if", "(", "["):
            said += " if_(" if word == "if" else word
            ends.append(0)
        elif word in ("else", ")", "]"):
            said += ")" * ends.pop() + ("," if word == "else" else word)
            ends[-1:] = [ends[-1] + (word == "else")] if ends else [0]
        elif word in ("then", ","):
            said, ends[-1] = said + ")" * ends[-1] + ",", 0
        else:
            said += {"in": ",", "..": ",", ":": ",", "^": "**"}.get(word, " " + word)
    return ast.parse(said.strip() + ")" * ends[0], mode="eval").body


def _places(tree: Any) -> list[Any]:
    inside = [tree.slice] if isinstance(tree, ast.Subscript) else []
    return list(inside[0].elts) if inside and isinstance(inside[0], ast.Tuple) else inside


class _Evaluator:
    """Trees as balls. An index is an axis of every array; those of sums come before those of the
    result, so that what does not depend on them is broadcast."""

    def __init__(self, tensors: _Arrays, errors: _Arrays, dtype: str, depth: int) -> None:
        self.tensors, self.errors, self.depth = tensors, errors, depth
        self.unit, _, self.most = _STORED["float64" if dtype == "float64" else "float32"]
        self.at: dict[str, Any] = {}  # the places of each index

    def made(self, x: Any, error: Any, ulps: float = 1) -> _Ball:
        """What is worked out is rounded, unless it is whole."""
        if np.asarray(x).dtype.kind in "iub":
            return x, error
        x = np.where(np.abs(x) > self.most, np.copysign(np.inf, x), x)
        return x, np.where(np.isfinite(x), error + ulps * self.unit * np.abs(x), 0.0)

    def ball(self, tree: Any, whole: bool = False) -> _Ball:
        """`whole`: an index, where `/` rounds down."""
        if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)):
            return tree.value, 0.0 if isinstance(tree.value, int) else tree.value * self.unit
        if isinstance(tree, ast.Name) and tree.id in (*self.at, "inf", "nan"):
            return (self.at[tree.id] if tree.id in self.at else float(tree.id)), 0.0
        if isinstance(tree, ast.Subscript):
            return self.cell(getattr(tree.value, "id", "?"), _places(tree))
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            return self.called(tree.func.id, tree.args, whole)
        if isinstance(tree, ast.UnaryOp):
            x, error = self.ball(tree.operand, whole)
            return np.logical_not(x) if isinstance(tree.op, ast.Not) else np.multiply(x, -1), error
        if isinstance(tree, ast.BinOp):
            return self.joined(tree.op, whole, *self.balls([tree.left, tree.right], whole))
        if isinstance(tree, ast.Compare):
            (a, ea), (b, eb) = self.balls([tree.left, tree.comparators[0]], whole)
            is_near = (np.abs(np.subtract(a, b, dtype=float)) <= ea + eb) & (np.add(ea, eb) > 0)
            return _COMPARES[type(tree.ops[0])](a, b), np.where(is_near, 1.0, 0.0)
        if isinstance(tree, ast.BoolOp):
            join: Any = np.all if isinstance(tree.op, ast.And) else np.any
            truths, errors = zip(*self.balls(tree.values, whole))
            return join(np.broadcast_arrays(*truths), axis=0), sum(errors)
        raise ValueError(f"nothing binds '{getattr(tree, 'id', '?')}'")

    def balls(self, trees: list[Any], whole: bool) -> list[_Ball]:
        return [self.ball(tree, whole) for tree in trees]

    def joined(self, op: ast.operator, whole: bool, left: _Ball, right: _Ball) -> _Ball:
        (a, ea), (b, eb) = left, right
        both, is_whole = np.add(ea, eb), np.result_type(a, b).kind in "iub"
        if isinstance(op, (ast.Add, ast.Sub)):
            return self.made(np.add(a, np.multiply(b, 1 if isinstance(op, ast.Add) else -1)), both)
        if isinstance(op, ast.Mult):
            return self.made(np.multiply(a, b), np.abs(a) * eb + np.abs(b) * ea + ea * eb)
        if whole and is_whole and isinstance(op, (ast.Div, ast.FloorDiv)):
            return np.floor_divide(a, np.where(np.equal(b, 0), 1, b)), 0.0
        if isinstance(op, ast.Pow):
            x = np.power(np.asarray(a, dtype=float), b)
            error = np.abs(b) * ea / np.abs(a) + eb * np.abs(np.log(np.abs(a)))
            return self.made(x, np.where(both > 0, np.abs(x) * np.expm1(2 * error), 0.0), 4)
        x = np.mod(a, b) if isinstance(op, ast.Mod) else np.divide(a, b)
        if is_whole:
            return x, np.where(x == np.rint(x), 0.0, np.abs(x) * self.unit)
        error = (ea + np.abs(np.divide(a, b)) * eb) / np.maximum(np.abs(b) - eb, 0)
        return self.made(x, np.where(both > 0, error, 0.0))

    def called(self, name: str, trees: list[Any], whole: bool) -> _Ball:
        if name in ("sum_", "mean_", "max_", "min_"):
            return self.reduced(name[:-1], trees[0].id, trees[1:-1], trees[-1], whole)
        parts = self.balls(trees, whole and name != "floor")
        if len(parts) == 3:
            (x, error), (a, ea), (b, eb) = parts
            either = np.where(np.equal(a, b), 0.0, np.abs(np.subtract(a, b, dtype=float)))
            error = np.where(np.greater(error, 0), either + ea + eb, np.where(x, ea, eb))
            return np.where(x, a, b), error
        if name in ("max", "min"):
            (a, ea), (b, eb) = parts
            return getattr(np, name + "imum")(a, b), np.maximum(ea, eb)
        if name not in _FUNCTIONS or len(parts) != 1:
            raise ValueError(f"no function is called '{name}'")
        x, error = (np.asarray(each) for each in parts[0])
        value = _FUNCTIONS[name][0](x)
        ulps = 0 if name in ("abs", "relu", "floor", "half") else 4
        return self.made(value, _FUNCTIONS[name][1](x, value, error), ulps)

    def cell(self, name: str, parts: list[Any]) -> _Ball:
        tensor, error = self.tensors.get(name), self.errors.get(name)
        if tensor is None or len(parts) != tensor.ndim:
            raise ValueError(f"{name} is none of the tensors before it, or has other axes")
        there, places = np.bool_(True), []
        for (place, _), length in zip(self.balls(parts, True), tensor.shape):
            place = np.rint(place).astype(np.int64)
            there = there & (place >= 0) & (place < length)
            places.append(np.clip(place, 0, max(length - 1, 0)))
        x = tensor[tuple(places)]
        x = x if np.all(there) else np.where(there, x, np.nan)
        return x, 0.0 if error is None else error[tuple(places)]

    def reduced(self, word: str, index: str, span: list[Any], body: Any, whole: bool) -> _Ball:
        for cell in [] if span else ast.walk(body):  # as far as where it stands by itself
            for axis, part in enumerate(_places(cell)):
                if not span and getattr(part, "id", "") == index:
                    name = getattr(getattr(cell, "value", None), "id", "?")
                    span = [ast.Constant(0), ast.Constant(np.shape(self.tensors[name])[axis])]
        if not span:
            raise ValueError(f"nothing says how far '{index}' goes")
        first, end = (np.rint(x).astype(int) for x, _ in self.balls(span, True))
        along = np.arange(np.min(first), max(np.max(end), np.min(first)))
        along = along.reshape((-1,) + (1,) * self.depth)
        before, self.at, self.depth = self.at, {**self.at, index: along}, self.depth + 1
        x, error = self.ball(body, whole)
        self.at, self.depth = before, self.depth - 1
        inside = (along >= first) & (along < end)
        nothing = {"max": -np.inf, "min": np.inf}.get(word, 0)
        full = np.broadcast_shapes(inside.shape, np.shape(x), np.shape(error))
        x = np.broadcast_to(x if np.all(inside) else np.where(inside, x, nothing), full)
        error = np.broadcast_to(np.where(inside, error, 0.0), full)
        if word in ("max", "min"):
            best = getattr(np, word + "imum").reduce(x, axis=0, initial=nothing)
            return best, np.max(error, axis=0, initial=0.0)
        count = np.broadcast_to(inside, full).sum(axis=0)
        off = error.sum(axis=0) + self.unit * count * np.abs(x * (x.dtype.kind == "f")).sum(axis=0)
        total = self.made(x.sum(axis=0), off)
        return total if word == "sum" else self.made(total[0] / count, total[1] / count)


def _remade(step: _Arrays, tensors: _Arrays, errors: _Arrays) -> _Ball:
    """The tensor of a step by its rule, and how far right code may be from each of its numbers."""
    kept = np.atleast_1d(tensors[step["name"]])
    head = re.fullmatch(r"(\w+)\[([\w,]*)\] = (.*)", step["rule"], re.S)
    indices = head[2].split(",") if head else []
    if not head or head[1] != step["name"] or len(indices) != kept.ndim:
        raise ValueError("the rule is of another tensor")
    evaluator, tree = _Evaluator(tensors, errors, step["dtype"], kept.ndim), _tree(head[3])
    x, bound, grid = np.zeros(kept.shape), np.zeros(kept.shape), np.indices(kept.shape, sparse=True)
    # Some rows at a time, so that the terms of all their sums fit into memory.
    longest = max(max(each.shape, default=1) for each in tensors.values())
    rows = max(1, 2**22 // max(longest * kept[:1].size, 1))
    for part in (slice(begin, begin + rows) for begin in range(0, len(kept), rows)):
        evaluator.at = dict(zip(indices, [grid[0][part], *grid[1:]]))
        x[part], bound[part] = evaluator.ball(tree)
    unit, least, most = _STORED.get(step["dtype"], (0.0, 0.0, np.inf))
    x = np.where(np.abs(x) >= most, np.copysign(np.inf, x), x)
    bound = bound + np.where(np.isfinite(x), unit * np.abs(x) + least, 0.0)
    return x.reshape(step["shape"]), bound.reshape(step["shape"])


@np.errstate(all="ignore")
def _judge(step: _Arrays, tensors: _Arrays, errors: _Arrays) -> tuple[bool, str]:
    """Whether the numbers of a step follow from those before it, as they stand or as they may be by
    rounding (a kernel keeps its own), and what is said of them."""
    if "rule" not in step:
        return True, "unverified: no rule"
    kept = tensors[step["name"]]
    for from_rounded in (False, True):
        x, bound = _remade(step, tensors, errors if from_rounded else {})
        same = (kept == x) | (np.isnan(kept) & np.isnan(x))
        off = np.where(same, 0.0, np.abs(np.subtract(kept, x, dtype=float)))
        wrong = ~(off <= bound)
        if not wrong.any():
            errors[step["name"]] = np.where(np.isfinite(bound), bound, 0.0)
            far, most = max(zip(off.flat, bound.flat), default=(0.0, 0.0))
            return True, f"ok, largest difference {far:.1e} of at most {most:.1e}"
    at = np.unravel_index(int(wrong.argmax()), wrong.shape)
    line = f"WRONG at [{','.join(map(str, at))}], one of {wrong.sum()}: {kept[at]:.9g}, by its rule"
    return False, f"{line} {x[at]:.9g}, {off[at]:.1e} off of at most {bound[at]:.1e}"


def verify(path: str, tell: Callable[[str], None] = print) -> bool:
    """Holds each step of a walk, a page or a record to its rule, a line a step."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    walks, follows = [json.loads(each) for each in _PAGE.findall(text) or [text]], True
    if not all(isinstance(walk, dict) and "steps" in walk for walk in walks):
        raise ValueError(f"{path}: no walk: write one with --format json, or a page")
    for steps in ([step for step in walk["steps"] if "data" in step] for walk in walks):
        tensors, errors = dict[str, Any](), dict[str, Any]()
        for step in steps:
            kind = {"bfloat16": "float32"}.get(step["dtype"], step["dtype"])
            numbers = np.array(step["data"], dtype=kind).reshape(step["shape"])
            tensors[step["name"]] = numbers.astype(float) if numbers.dtype.kind == "f" else numbers
            try:
                right, line = _judge(step, tensors, errors)
            except (ValueError, IndexError, SyntaxError) as error:
                right, line = False, f"WRONG: {error}"
            tell(f"{step['name']} {line}" + ("" if right else f": {step['rule']}"))
            follows = follows and right
    return follows

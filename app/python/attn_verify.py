"""Checks each number of a walk against its rule, independently of the program.

It parses the rules by the grammar on the page on rules, and recomputes each tensor in float64 from
the tensors before it, with a bound on rounding errors. It shares no code with the program.
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

import numpy as np

_Arrays = Dict[str, Any]
_Ball = Tuple[Any, Any]  # numbers, and a bound on the error of each
_Tree = Tuple[Any, ...]  # an operator and its parts: ("+", left, right), ("cell", name, [places])
_Order = List[Tuple[int, int]]  # axes, slowest first, each with the direction 1 or -1
_PAGE = re.compile(r'<script type="application/json" id="\w*walk"[^>]*>(.*?)</script>', re.S)
_WORD = re.compile(
    r"\s*(\d+(?=\.\.)|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[A-Za-z_]\w*|[<>=!]=|//|\*\*|\.\.|\S)",
    re.ASCII,
)
# For each type: relative rounding error, smallest number, smallest infinite number. Vector code may
# flush float32 numbers below 2^-126 to 0.
_STORED = {
    "float64": (2.0**-52, 5e-324, np.inf),
    "float32": (2.0**-24, 2.0**-126, 3.4028236e38),
    "bfloat16": (2.0**-8, 2.0**-126, 3.3961776e38),
    "float16": (2.0**-11, 2.0**-25, 65520.0),
}
_COMPARES: dict[str, Any] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_COMPARES.update({"==": np.equal, "!=": np.not_equal})
# Precedence of operators, lowest first.
_RANKS = (("or",), ("and",), ("not",), tuple(_COMPARES), ("+", "-"), ("*", "/", "//", "%"))
_REDUCTIONS = ("sum", "mean", "max", "min", "prod", "argmax", "rank")
_erf: Any = np.vectorize(math.erf, otypes=[float])
# Increasing functions: the ends of an interval map to the ends of its image.
_RISING: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(np, name) for name in ("exp", "tanh", "floor", "sign")},
    "sqrt": lambda x: np.sqrt(x),
    "log": lambda x: np.log(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.where(x < 0, 0, x),
    "softplus": lambda x: np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x))),
    "logsigmoid": lambda x: np.where(x < 0, x, 0) - np.log1p(np.exp(-np.abs(x))),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "erf": _erf,
}
# Other functions, with a bound on their slope.
_STEEP: dict[str, tuple[Callable[[Any], Any], float]] = {
    **{name: (getattr(np, name), 1.0) for name in ("sin", "cos", "abs")},
    "silu": (lambda x: x / (1 + np.exp(-x)), 1.1),
    "gelu": (lambda x: x * (1 + _erf(x / math.sqrt(2))) / 2, 1.13),
    "half": (lambda x: np.float16(x).astype(float), 1.0),
    "stop": (lambda x: x, 1.0),
}
_EXACT = ("abs", "relu", "floor", "sign", "half", "stop")  # round nothing that was not round before
_ROOM = 2**21  # numbers of an array, more are worked out in parts
_WORK = 2**33  # and of all arrays of a step


class _Large(Exception):
    """An array would be too large."""


class _Open(Exception):
    """A step cannot be checked, with the reason."""


class _Parser:
    """Parses the right side of a rule by the grammar of `help rules`."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = [*_WORD.findall(text), ""]
        self.at, self.depth = 0, 0

    def tree(self) -> _Tree:
        tree = self.expression()
        if self.words[self.at]:
            raise ValueError(f"the expression ends before '{self.words[self.at]}'")
        return tree

    def take(self, wanted: str = "") -> str:
        word = self.words[self.at]
        if not word or wanted not in ("", word):
            raise ValueError(f"'{wanted or 'a number or name'}' is missing before '{word}'")
        self.at += 1
        return word

    def takes(self, word: str) -> bool:
        is_next = self.words[self.at] == word
        self.at += is_next
        return is_next

    def name(self) -> str:
        word = self.take()
        if not (word[0].isalpha() or word[0] == "_"):
            raise ValueError(f"'{word}' is not a name")
        return word

    def expression(self, rank: int = 0) -> _Tree:
        self.depth += 1
        if self.depth > 2000:
            raise _Open("it nests too deeply")
        tree = self.ranked(rank)
        self.depth -= 1
        return tree

    def ranked(self, rank: int) -> _Tree:
        if rank == len(_RANKS):
            return self.sign()
        if _RANKS[rank] == ("not",):
            return (
                ("not", self.expression(rank)) if self.takes("not") else self.expression(rank + 1)
            )
        left = self.expression(rank + 1)
        while self.words[self.at] in _RANKS[rank]:
            left = (self.take(), left, self.expression(rank + 1))
            if left[0] in _COMPARES:
                break
        return left

    def sign(self) -> _Tree:
        if self.takes("-"):
            return ("negative", self.expression(len(_RANKS)))
        base = self.primary()
        if self.takes("^") or self.takes("**"):
            return ("^", base, self.expression(len(_RANKS)))
        return base

    def primary(self) -> _Tree:
        if self.takes("("):
            tree = self.expression()
            self.take(")")
            return tree
        if self.takes("if"):
            condition = self.expression()
            self.take("then")
            yes = self.expression()
            self.take("else")
            return ("if", condition, yes, self.expression())
        word = self.take()
        if word[0].isdigit() or word[0] == ".":
            number = float(word)
            return ("number", int(number) if number < 2**53 and number == int(number) else number)
        following = self.words[self.at]
        if word in _REDUCTIONS and (following[:1].isalpha() or following[:1] == "_"):
            index, span = self.name(), []
            if self.takes("in"):
                span.append(self.expression(4))
                self.take("..")
                span.append(self.expression(4))
            self.take(":")
            return ("over", word, index, span, self.expression())
        self.at -= 1
        word = self.name()
        if self.takes("["):
            return ("cell", word, self.parts("]"))
        return ("call", word, self.parts(")")) if self.takes("(") else ("name", word)

    def parts(self, end: str) -> list[_Tree]:
        parts: list[_Tree] = []
        while not self.takes(end):
            if parts:
                self.take(",")
            parts.append(self.expression())
        return parts


def _cells(tree: Any) -> Iterator[_Tree]:
    """Yields all cells that a tree reads."""
    if isinstance(tree, tuple) and tree[0] == "cell":
        yield tree
    for part in tree if isinstance(tree, (tuple, list)) else []:
        yield from _cells(part)


def _is_product(tree: _Tree) -> bool:
    """True for a matrix product, whose terms are not rounded before they are added."""
    while tree[:2] == ("over", "sum"):
        tree = tree[4]
    return tree[0] == "*" and (tree[1][0], tree[2][0]) == ("cell", "cell")


class _Evaluator:
    """Evaluates trees with error bounds. Each index is an axis of every array; axes of sums come
    before those of the result, so that parts that do not depend on them are broadcast."""

    def __init__(self, tensors: _Arrays, errors: _Arrays, stored: Any, sums: float) -> None:
        self.tensors, self.errors = tensors, errors
        self.unit, self.least, self.most = stored
        self.sums, self.work, self.depth = sums, 0, 0
        self.at: dict[str, Any] = {}  # the values of each index
        self.own: Tuple[str, _Order] = (
            "",
            [],
        )  # the step, and the order in which its cells are computed
        self.here: Tuple[Any, ...] = ()  # the indices of the cells that are computed

    def room(self, *shaped: Any) -> None:
        size = math.prod(np.broadcast_shapes(*map(np.shape, shaped)))
        self.work += size
        if size > _ROOM:
            raise _Large()
        if self.work > _WORK:
            raise _Open("it takes too long")

    def made(self, x: Any, error: Any, more: float = 0) -> _Ball:
        """Adds the rounding error of a result, unless it is an integer."""
        if np.asarray(x).dtype.kind in "iub":
            return x, error
        size = np.abs(x)
        error = error + (self.unit + more * self.sums) * size + self.least * (size > 0)
        # 0 and infinities are exact; near the end of a type any result is possible.
        error = np.where(np.isnan(error), np.where(size > 0, np.inf, 0.0), error)
        x = np.where(size - error >= self.most, np.copysign(np.inf, x), x)
        error = np.where(size + error >= self.most, np.inf, error)
        return x, np.where(np.isfinite(x), error, 0.0)

    def ball(self, tree: _Tree, whole: bool = False) -> _Ball:
        """Evaluates a tree. `whole` means an index, in which `/` rounds down."""
        kind = tree[0]
        if kind == "number":
            exact = isinstance(tree[1], int) or (tree[1] * 4 % 1 == 0 and tree[1] < 32)
            return tree[1], 0.0 if exact else tree[1] * self.unit + self.least
        if kind == "name" and (tree[1] in self.at or tree[1] in ("inf", "nan")):
            return (self.at[tree[1]] if tree[1] in self.at else float(tree[1])), 0.0
        if kind == "cell":
            return self.cell(tree[1], tree[2])
        if kind == "over":
            return self.reduced(tree, whole)
        if kind == "call":
            return self.called(tree[1], self.balls(tree[2], whole and tree[1] != "floor"))
        if kind in ("negative", "not"):
            x, error = self.ball(tree[1], whole)
            return np.logical_not(x) if kind == "not" else np.multiply(x, -1), error
        if kind == "name":
            raise ValueError(f"nothing binds '{tree[1]}'")
        parts = self.balls(tree[1:], whole)
        self.room(*[x for x, _ in parts])
        if kind == "if":
            (x, error), (a, ea), (b, eb) = parts
            either = np.where(np.equal(a, b), 0.0, np.abs(np.subtract(a, b, dtype=float)))
            error = np.where(np.greater(error, 0), either + ea + eb, np.where(x, ea, eb))
            return np.where(x, a, b), error
        (a, ea), (b, eb) = parts
        if kind in _COMPARES:
            is_near = (np.abs(np.subtract(a, b, dtype=float)) <= ea + eb) & (np.add(ea, eb) > 0)
            return _COMPARES[kind](a, b), np.where(is_near, 1.0, 0.0)
        if kind in ("and", "or"):
            wants = kind == "or"  # a side that is certain decides
            x = np.logical_or(a, b) if wants else np.logical_and(a, b)
            decided = ((np.not_equal(a, 0) == wants) & np.equal(ea, 0)) | (
                (np.not_equal(b, 0) == wants) & np.equal(eb, 0)
            )
            return x, np.where(decided, 0.0, np.add(ea, eb))
        return self.joined(kind, whole, parts)

    def balls(self, trees: Any, whole: bool) -> list[_Ball]:
        return [self.ball(tree, whole) for tree in trees]

    def joined(self, word: str, whole: bool, parts: list[_Ball]) -> _Ball:
        (a, ea), (b, eb) = parts
        is_whole = np.result_type(a, b).kind in "iub"
        if word in ("+", "-"):
            return self.made(np.add(a, np.multiply(b, 1 if word == "+" else -1)), np.add(ea, eb))
        if word == "*" or (word == "^" and np.all(np.equal(b, 2))):
            b, eb = (b, eb) if word == "*" else (a, ea)
            return self.made(np.multiply(a, b), np.abs(a) * eb + np.abs(b) * ea + ea * eb)
        if word == "^":
            base, x = np.abs(a).astype(float), np.power(np.asarray(a, dtype=float), b)
            ends = [np.power(np.maximum(base + off, 0), b) for off in (ea, np.negative(ea))]
            error = np.max(np.broadcast_arrays(*[np.abs(end - np.abs(x)) for end in ends]), axis=0)
            error = np.where(np.greater(ea, 0), error, 0.0)
            return self.made(x, error + np.abs(x) * np.expm1(eb * np.abs(np.log(base))), 8)
        if is_whole and (whole or word != "/"):
            divide: Any = np.mod if word == "%" else np.floor_divide
            return divide(a, np.where(np.equal(b, 0), 1, b)), 0.0
        x, least = np.divide(a, b), np.abs(b) - eb
        error = np.where(np.add(ea, eb) > 0, (ea + np.abs(x) * eb) / np.maximum(least, 0), 0.0)
        may_be_any = (least <= 0) & np.greater(eb, 0)  # the divisor may be 0
        x, error = np.where(may_be_any, 0.0, x), np.where(may_be_any, np.inf, error)
        if word == "/" and is_whole:
            return x, np.where(x == np.rint(x), 0.0, np.abs(x) * self.unit)
        if word == "/":
            return self.made(x, error)
        below = self.called("floor", [self.made(x, error)])
        if word == "//":
            return below
        return self.joined("-", whole, [parts[0], self.joined("*", whole, [below, parts[1]])])

    def called(self, name: str, parts: list[_Ball]) -> _Ball:
        if name == "clamp" and len(parts) == 3:
            return self.called("min", [self.called("max", parts[:2]), parts[2]])
        self.room(*[x for x, _ in parts])
        if name in ("max", "min") and len(parts) == 2:
            (a, ea), (b, eb) = parts
            return getattr(np, name + "imum")(a, b), np.maximum(ea, eb)
        if (name not in _RISING and name not in _STEEP) or len(parts) != 1:
            raise ValueError(f"no function is called '{name}'")
        x, error = (np.asarray(each, dtype=float) for each in parts[0])
        if name in _RISING:
            value, at_least = _RISING[name](x), 0 if name in ("sqrt", "log") else -np.inf
            # exp2(x log2(e)) rounds its argument.
            error = error + self.sums * np.abs(x) if name == "exp" else error
            off = np.where(np.isfinite(x), error, 0.0)
            ends = [_RISING[name](np.maximum(end, at_least)) for end in (x - off, x + off)]
            error = np.where(off > 0, np.maximum(value - ends[0], ends[1] - value), 0.0)
        else:
            value, steepest = _STEEP[name][0](x), _STEEP[name][1]
            error = error * steepest + (self.sums * np.abs(x) if name == "gelu" else 0)
            error = error + (error > 0) * np.abs(x) / 1024 if name == "half" else error
        return (value, error) if name in _EXACT else self.made(value, error, 8)

    def cell(self, name: str, parts: list[_Tree]) -> _Ball:
        tensor, error = self.tensors.get(name), self.errors.get(name)
        if tensor is None or len(parts) != tensor.ndim:
            raise ValueError(f"{name} is not an earlier tensor, or has other axes")
        there, places, unsure = np.bool_(True), [], np.bool_(False)
        for (place, off), length in zip(self.balls(parts, True), tensor.shape):
            place = np.nan_to_num(np.rint(place), nan=-1, posinf=-1, neginf=-1).astype(np.int64)
            there, unsure = there & (place >= 0) & (place < length), unsure | np.greater(off, 0)
            places.append(np.clip(place, 0, max(length - 1, 0)))
        if name == self.own[0]:
            there = there & self.is_earlier(places)
        self.room(there, *places)
        if tensor.size == 0:
            return np.where(there, 0.0, np.nan), 0.0
        x = tensor[tuple(places)]
        x = x if np.all(there) else np.where(there, x, np.nan)
        off = 0.0 if error is None else error[tuple(places)]
        return x, np.where(unsure, np.inf, off) if np.any(unsure) else off

    def is_earlier(self, places: list[Any]) -> Any:
        """True for cells of the same step that are computed earlier, in one order for all."""
        before, same = np.bool_(False), np.bool_(True)
        for axis, step in self.own[1]:
            there, here = places[axis], self.here[axis]
            before = before | (same & (step * (there - here) < 0))
            same = same & (there == here)
        return before

    def reduced(self, tree: _Tree, whole: bool) -> _Ball:
        _, word, index, span, body = tree
        for _, name, parts in (
            [] if span else _cells(body)
        ):  # the length of the axis that it indexes alone
            shape = np.shape(self.tensors.get(name, 0))
            for length, part in zip(shape, parts):
                if part == ("name", index):
                    span = [("number", 0), ("number", length)]
        if not span:
            raise ValueError(f"the range of '{index}' is unknown")
        bounds = [np.rint(x) for x, _ in self.balls(span, True)]
        if not np.all(np.abs(np.concatenate([np.ravel(each) for each in bounds])) < 2**52):
            raise ValueError(f"the range of '{index}' is unknown")
        first, end = (each.astype(np.int64) for each in bounds)
        here, low = self.at.get(index), int(np.min(first, initial=2**52))
        if np.max(end, initial=-(2**52)) - low > _ROOM:
            raise _Large()
        along = np.arange(low, max(np.max(end, initial=low), low))
        along = along.reshape((-1,) + (1,) * self.depth)
        before, unit, self.depth = self.at, self.unit, self.depth + 1
        self.at = {**self.at, index: along}
        self.unit = self.sums if _is_product(body) else unit
        x, error = self.ball(body, whole)
        self.at, self.unit, self.depth = before, unit, self.depth - 1
        inside = (along >= first) & (along < end)
        self.room(inside, x, error)
        full = np.broadcast_shapes(inside.shape, np.shape(x), np.shape(error))
        is_float = np.asarray(x).dtype.kind == "f"
        if (
            word == "rank"
        ):  # the number of elements before this one; the first of equal ones comes first
            if here is None:
                raise ValueError(f"nothing binds '{index}'")
            mine, off = self.ball(body, whole)
            ahead = inside & (np.greater(x, mine) | (np.equal(x, mine) & (along < here)))
            near = inside & (along != here) & (np.abs(x - mine) <= error + off) & (error + off > 0)
            return ahead.sum(axis=0), near.sum(axis=0).astype(float)
        nothing = {"max": -np.inf, "argmax": -np.inf, "min": np.inf, "prod": 1}.get(word, 0)
        if not np.all(inside):
            x = np.where(inside, x, nothing)
        x, error = np.broadcast_to(x, full), np.broadcast_to(np.where(inside, error, 0.0), full)
        if word == "argmax":
            if not len(along):
                return np.zeros(full[1:], dtype=int), 0.0
            best = np.argmax(x, axis=0)
            most, off = (np.take_along_axis(each, best[None], 0) for each in (x, error))
            is_near = (x + error >= most - off) & inside & (error + off > 0)
            far = np.where(is_near, np.abs(along - low - best), 0)
            return best + low, far.max(axis=0).astype(float)
        if word in ("max", "min"):
            best = getattr(np, word)(np.asarray(x, dtype=float), axis=0, initial=nothing)
            is_whole = not is_float and np.all(np.isfinite(best))
            best = best.astype(np.int64) if is_whole else best
            return best, np.max(error, axis=0, initial=0.0)
        if word == "prod":
            size = np.abs(x)
            error = np.prod(size + error, axis=0) - np.prod(size, axis=0)
            return self.made(np.prod(x, axis=0), error, max(len(along), 1))
        count = np.broadcast_to(inside, full).sum(axis=0)
        size = self.sums * count * np.abs(x).sum(axis=0) if is_float else 0.0
        total = self.made(x.sum(axis=0), error.sum(axis=0) + size)
        return total if word == "sum" else self.made(total[0] / count, total[1] / count)


def _orders(name: str, axes: list[str], tree: _Tree) -> list[_Order]:
    """Returns the possible orders of computation for cells that read cells of their own step."""
    own = [parts for _, word, parts in _cells(tree) if word == name]
    moved = {at for parts in own for at, part in enumerate(parts) if part[1:] != (axes[at],)}
    ones = [(axis, step) for axis in sorted(moved) for step in (1, -1)]
    pairs = [[a, b] for a in ones for b in ones if a[0] != b[0]]
    return [*([one] for one in ones), *pairs] or [[]]


def _fill(evaluator: _Evaluator, axes: list[str], tree: _Tree, ends: Any, x: Any, off: Any) -> None:
    """Computes the cells in these ranges, in parts if they need too much memory."""
    evaluator.here = np.ix_(*[np.arange(begin, end) for begin, end in ends])
    evaluator.at, evaluator.depth = dict(zip(axes, evaluator.here)), len(axes)
    part = tuple(slice(begin, end) for begin, end in ends)
    unit = evaluator.unit
    try:
        x[part], off[part] = evaluator.ball(tree)
    except _Large:
        evaluator.unit = unit
        axis = int(np.argmax([end - begin for begin, end in ends])) if ends else 0
        begin, end = ends[axis] if ends else (0, 0)
        if end - begin < 2:
            raise _Open("a sum of it is too long") from None
        for half in ((begin, (begin + end) // 2), ((begin + end) // 2, end)):
            _fill(evaluator, axes, tree, [*ends[:axis], half, *ends[axis + 1 :]], x, off)


class _Verdict(NamedTuple):
    line: str
    follows: bool = True
    is_checked: bool = True
    is_step: bool = True


class _Walk:
    """The steps of a walk read so far."""

    def __init__(self, walk: _Arrays) -> None:
        self.steps = [step for step in walk["steps"] if "data" in step or "rule" in step]
        self.kinds = {step["name"]: step.get("kind", "") for step in self.steps}
        self.is_fused = walk.get("config", {}).get("variant") == "fused"
        self.tensors, self.errors = dict[str, Any](), dict[str, Any]()

    def read(self, step: _Arrays) -> None:
        if step.get("part"):
            raise _Open("it is a part of a tensor")
        kind = {"bfloat16": "float32"}.get(step["dtype"], step["dtype"])
        numbers = np.array(step["data"], dtype=kind).reshape(step["shape"])
        is_float = numbers.dtype.kind == "f"
        self.tensors[step["name"]] = numbers.astype(float) if is_float else numbers

    def remade(self, step: _Arrays, axes: list[str], tree: _Tree, errors: _Arrays) -> Any:
        """Yields the tensor of a step by its rule, for each possible order of its cells."""
        type_of = _STORED.get(step["dtype"], _STORED["float64"])
        is_half = step["dtype"] in ("float16", "bfloat16")
        sums = 2.0**-24 if is_half or step["dtype"] == "float32" else 2.0**-52
        rounds = step.get("rounded", "" if any(self.kinds.values()) else "operation")
        wide = (
            (2 * sums, *_STORED["float32" if is_half else step["dtype"]][1:])
            if sums > 2.0**-50
            else type_of
        )
        for order in _orders(step["name"], axes, tree):
            shape = self.tensors[step["name"]].shape
            stored = type_of if is_half and rounds == "operation" else wide
            evaluator = _Evaluator(self.tensors, errors, stored, sums)
            evaluator.own, x, off = (step["name"], order), np.zeros(shape), np.zeros(shape)
            _fill(evaluator, axes, tree, [(0, length) for length in shape], x, off)
            # Copied numbers are exact.
            unit, least, most = type_of
            is_moved = (off == 0) & (np.frexp(x)[0] / unit % 1 == 0) | ~np.isfinite(x)
            yield x, np.where(is_moved, off, off + unit * np.abs(x) + least), most

    def held(self, step: _Arrays) -> _Verdict:
        """Checks whether the numbers of a step follow from those before it."""
        rule = step.get("rule")
        if "data" not in step:
            return _Verdict("not checked: it has no numbers", is_checked=False)
        try:
            self.read(step)
            if rule is not None:
                return self.judge(step, rule)
        except (_Open, _Large, MemoryError, RecursionError) as why:
            return _Verdict(f"not checked: {why or 'it takes too much memory'}", is_checked=False)
        except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
            return _Verdict(f"WRONG: {error}: {rule}", False)
        if self.kinds[step["name"]] in ("input", "parameter"):
            return _Verdict("given", is_checked=False, is_step=False)
        is_missing = any(self.kinds.values())
        return _Verdict("not checked: it has no rule", not is_missing, is_checked=False)

    @np.errstate(all="ignore")
    def judge(self, step: _Arrays, rule: str) -> _Verdict:
        head = re.fullmatch(r"(\w+)\[([\w,]*)\] = (.*)", rule, re.S)
        axes, name = [each for each in head[2].split(",") if each] if head else [], step["name"]
        kept = self.tensors[name]
        if not head or head[1] != name or len(axes) != kept.ndim:
            raise ValueError("the rule belongs to another tensor")
        tree = _Parser(head[3]).tree()
        for _, read, _ in _cells(tree):
            if read not in self.tensors and read not in self.kinds:
                raise _Open(f"it reads {read}, which is missing")
        # Softmax in 16 bits, and a fused kernel, compute with more digits than they store.
        known, found = [dict[str, Any]()], []
        if self.is_fused and tree[0] != "cell":
            known.append(self.errors)
        elif step.get("rounded") == "once":
            parts = {each: off for each, off in self.errors.items() if self.kinds[each] == "detail"}
            known.append(parts)
        for errors in known:
            for x, bound, most in self.remade(step, axes, tree, errors):
                same = (kept == x) | (np.isnan(kept) & np.isnan(x))
                off = np.where(same, 0.0, np.abs(np.subtract(kept, x, dtype=float)))
                # Numbers beyond the end of the type are infinite.
                off = np.where(
                    (np.abs(x) + bound >= most) & (kept == np.copysign(np.inf, x)), 0, off
                )
                wrong = ~(off <= bound) & ~same & ~np.isposinf(bound)
                found.append((wrong.sum(), x, bound, off, wrong))
                if not wrong.any():
                    return self.passed(step, tree, x, bound, off)
        count, x, bound, off, wrong = min(found, key=lambda each: int(each[0]))
        at = np.unravel_index(int(wrong.argmax()), wrong.shape)
        line = f"at [{','.join(map(str, at))}], one of {count}: {kept[at]:.9g}, its rule gives"
        line = f"{line} {x[at]:.9g}, off by {off[at]:.1e}, allowed {bound[at]:.1e}"
        return _Verdict(f"WRONG {line}: {rule}", False)

    def passed(self, step: _Arrays, tree: _Tree, x: Any, bound: Any, off: Any) -> _Verdict:
        """Returns the verdict on numbers within their bounds. Bounds that admit any number, and rules
        that only repeat their own tensor, check nothing."""
        name, kept = step["name"], self.tensors[step["name"]]
        self.errors[name] = np.where(np.isfinite(bound), bound, 0.0)
        reads = {word for _, word, _ in _cells(tree)}
        size = [np.abs(self.tensors[each]) for each in {*reads, name}]
        largest = max([np.max(each[np.isfinite(each)], initial=0.0) for each in size])
        is_loose = (kept != x) & (16 * bound > np.abs(x))
        is_loose |= np.isnan(kept) & (name in reads)
        far, most = max(zip(off.flat, bound.flat), default=(0.0, 0.0))
        line = f"largest difference {far:.1e}, allowed {most:.1e}"
        if is_loose.all() and is_loose.size and np.all(bound > largest):
            return _Verdict(f"not checked: any number fits its rule: {line}", False, False)
        if is_loose.all() and is_loose.size:
            return _Verdict(
                f"not checked: rounding errors may be 1/16 of its numbers: {line}", is_checked=False
            )
        if is_loose.any():
            count = f"{is_loose.sum()} of {is_loose.size} numbers not checked"
            line = f"but {count}, because rounding errors may be 1/16 of them: {line}"
        return _Verdict(f"ok, {line}")


def verify(path: str, tell: Callable[[str], None] = print) -> bool:
    """Checks each step of a walk, a page or a record against its rule. Prints one line per step, and
    the number of checked steps at the end. Returns False if a number or a missing rule is wrong.

    Errors  ValueError if nothing could be checked."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    walks, follows, steps, checked = _PAGE.findall(text) or [text], True, 0, 0
    walks = [json.loads(each) for each in walks]
    if not all(isinstance(walk, dict) and "steps" in walk for walk in walks):
        raise ValueError(f"{path}: no walk: write one with --format json, or a page")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 8000))
    for walk in map(_Walk, walks):
        for step in walk.steps:
            verdict = walk.held(step)
            tell(f"{step['name']} {verdict.line}")
            steps, checked = steps + verdict.is_step, checked + verdict.is_checked
            follows = follows and verdict.follows
    sys.setrecursionlimit(before)
    tell(f"{checked} of {steps} steps checked")
    if not checked:
        raise ValueError(f"{path}: nothing could be checked")
    return follows

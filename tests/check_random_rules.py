#!/usr/bin/python3
"""Compares random rules with an independent evaluator, central differences, PyTorch and NumPy.

    tests/check_random_rules.py [PROGRAM] [COUNT] [SEED]

Each rule replaces a step of a walk in float64. The walk's tensors must be those of
tests/rule_oracle.py, its gradients (--backward) the central differences of that evaluator, and the
programs of --code torch and --code numpy, with --backward too, must compute the same tensors. A rule
that the program refuses is a failure unless the evaluator refuses it too. Without PyTorch or NumPy
nothing is checked, and a line reports this.
"""

import contextlib
import io
import json
import random
import subprocess
import sys

try:
    import numpy as np
    import torch
except ImportError as error:
    sys.exit(f"SKIPPED: no rule was checked, as {error}")

from rule_oracle import Compiled, Refused, met

WALKS = [
    "--seq-len 4",
    "--seq-len 3 --embed-dim 5 --head-dim 3",
    "--seq-len 4 --mask causal",
    "--seq-len 3 --heads 2 --mask causal",
    "--seq-len 4 --heads 2 --batch 2 --embed-dim 4",
    "--seq-len 5 --heads 2 --embed-dim 6 --mask causal,window:3 --batch 2",
    "--seq-len 3 --memory-len 5 --head-dim 3",
    "--seq-len 4 --heads 4 --kv-heads 2 --embed-dim 8 --mask causal",
    "--seq-len 1 --embed-dim 3",
    "--ids 1,2,1,0 --embed-dim 4 --position-bias t5:4:8",
]
# The steps that get rules, and the tensors they may read, latest name first.
READS = {
    "query": ["x"], "key": ["x", "query"], "value": ["query", "key"],
    "scores": ["query", "keys", "values"],
    "scaled_scores": ["scores", "query", "keys", "values"],
    "mask": ["scores", "scaled_scores"], "masked_scores": ["scaled_scores", "scores", "mask"],
    "row_max": ["SCORES", "query"], "exponentials": ["SCORES", "row_max", "values"],
    "row_sum": ["exponentials", "SCORES"], "weights": ["SCORES", "exponentials", "row_sum", "mask"],
    "context": ["weights", "values", "SCORES", "query", "mask"],
    "positions": [], "buckets": ["ids"],
}
SHARED = ("batch", "head")
SCORES = ("scores", "scaled_scores", "biased_scores", "masked_scores")


class Maker:
    """Generates rules of the whole grammar that stay within their tensors."""

    def __init__(self, dice, outlines, last_scores):
        self.dice, self.outlines, self.last_scores = dice, outlines, last_scores
        self.letters, self.ranged = iter(()), set()
        self.products = dice.choice([0, 3, 30])  # relative probability

    def pick(self, *weighted):
        return self.dice.choices([one for one, _ in weighted], [w for _, w in weighted])[0]()

    def rule(self, step):
        axes, shape = self.outlines[step]
        open_axes = [i for i, axis in enumerate(axes) if axis not in SHARED]
        self.shared = {axes[i]: shape[i] for i in range(len(axes)) if axes[i] in SHARED}
        names = dict(zip(open_axes, "qkfg"))
        own, all_shown = [], False
        if len(open_axes) < len(axes) and self.dice.random() < 0.15:
            all_shown = True
            names.update({i: "bh"[SHARED.index(axes[i])] for i in range(len(axes))
                          if i not in open_axes})
        scope = {}
        for i in sorted(names):
            own.append(names[i])
            scope[names[i]] = (0, shape[i] - 1)
        self.all_shown = all_shown
        self.letters = iter("jmnruvwyz" + "acdeilop")
        self.tensors = []
        for name in READS[step]:
            name = self.last_scores if name == "SCORES" else name
            name = name if name in self.outlines else {"keys": "key", "values": "value"}.get(name)
            if name in self.outlines:
                self.tensors.append(name)
        depth = self.dice.choice([2, 3, 3, 4])
        if step == "mask":
            body = self.truth(depth, scope)
        elif step in ("positions", "buckets"):
            length = 12 if step == "positions" else 4
            body = self.index(length, scope, 2)
            body = f"floor(({body}) * 1)" if "/" in body else body
        else:
            body = self.number(depth, scope)
        return f"{step}[{','.join(own)}] = {body}"

    # Indices.

    def index(self, length, scope, depth=2):
        """Returns an index within 0..length-1."""
        fits = [name for name, (first, last) in scope.items()
                if first >= 0 and (last < length if name in self.ranged else last + 1 == length)]
        options = [(lambda: str(self.dice.randrange(length)), 1)]
        if fits:
            name = self.dice.choice(fits)
            options += [(lambda: name, 14),
                        (lambda: f"{length - 1} - {name}", 1),
                        (lambda: f"{name} / {self.dice.choice([2, 3])}", 1),
                        (lambda: f"if {name} > 0 then {name} - 1 else {name}", 1),
                        (lambda: f"max({name} - {self.dice.choice([1, 2])}, 0)", 1),
                        (lambda: f"min({name} + 1, {length - 1})", 1)]
        if depth > 0 and scope:
            inner = self.whole(scope, depth - 1)
            options += [(lambda: f"({inner}) % {length}", 2),
                        (lambda: f"min(max({inner}, 0), {length - 1})", 1),
                        (lambda: f"if {self.index_truth(scope)} then "
                                 f"{self.index(length, scope, depth - 1)} else "
                                 f"{self.index(length, scope, depth - 1)}", 1)]
        return self.pick(*options)

    def whole(self, scope, depth=1):
        name = self.dice.choice(list(scope))
        other = self.dice.choice(list(scope))
        number = self.dice.randint(1, 4)
        options = [(lambda: f"{name} + {number}", 2), (lambda: f"{name} - {number}", 2),
                   (lambda: f"{name} * {number} + {other}", 2), (lambda: f"{name} - {other}", 2),
                   (lambda: f"{name} * {other}", 1), (lambda: f"{name} / {number}", 1),
                   (lambda: f"floor({name} * 1.5)", 1), (lambda: f"abs({name} - {other})", 1),
                   (lambda: f"-{name}", 1), (lambda: f"floor(({name} + 1) / 2)", 1)]
        if depth > 0:
            options += [(lambda: f"({self.whole(scope, 0)}) * {number} - {name} / 2", 1),
                        (lambda: f"max({self.whole(scope, 0)}, {other})", 1),
                        (lambda: f"min({self.whole(scope, 0)}, {number})", 1)]
        return self.pick(*options)

    def index_truth(self, scope):
        sign = self.dice.choice(["<", "<=", ">", ">=", "==", "!="])
        left = self.dice.choice(list(scope))
        if self.dice.random() < 0.2:
            left = f"({left} + {self.dice.randint(0, 3)}) % 2"
        right = self.dice.choice([str(self.dice.randint(0, 4)), self.dice.choice(list(scope)),
                                  self.dice.choice(list(scope)) + " + 1"])
        return f"{left} {sign} {right}"

    # Booleans and numbers.

    def truth(self, depth, scope):
        options = [(lambda: self.index_truth(scope), 4)]
        if depth > 0:
            options += [
                (lambda: f"({self.truth(depth - 1, scope)}) and ({self.truth(depth - 1, scope)})", 1),
                (lambda: f"{self.index_truth(scope)} or {self.index_truth(scope)}", 1),
                (lambda: f"not ({self.truth(depth - 1, scope)})", 1)]
            if self.readable(False):
                options.append((lambda: f"{self.number(depth - 1, scope)} "
                                        f"{self.dice.choice(['>', '<', '<=', '>='])} "
                                        f"{self.dice.choice(['0', '0.1', '-0.2'])}", 2))
        if "mask" in self.tensors:
            options.append((lambda: self.cell("mask", scope), 2))
        if self.dice.random() < 0.03:
            return self.dice.choice(["1 < 2", "2 == 3", "Tk > 3"])
        return self.pick(*options)

    def readable(self, masks):
        return [name for name in self.tensors if (name == "mask") == masks]

    def cell(self, name, scope, plain=None):
        axes, shape = self.outlines[name]
        parts = []
        for axis, length in zip(axes, shape):
            if axis in SHARED and not self.all_shown and self.shared.get(axis) in (length,):
                continue
            if axis in SHARED and axis[0] in scope and self.dice.random() < 0.7:
                same = scope[axis[0]][1] == length - 1
                parts.append(axis[0] if same else f"{axis[0]} % {length}")
            else:
                parts.append(self.index(length, scope))
        if plain is not None:
            wide = [i for i in range(len(parts)) if axes[len(axes) - len(parts) + i] not in SHARED]
            parts[self.dice.choice(wide)] = plain
        return f"{name}[{','.join(parts)}]"

    def literal(self):
        return self.pick((lambda: self.dice.choice(["1", "2", "0.5", "3", "0.1", "1e-3"]), 6),
                         (lambda: self.dice.choice(["Tk", "D", "H", "scale", "pi", "Tq"]), 2),
                         (lambda: self.dice.choice(
                             ["abs(-0.5)", "floor(2 * 7 / 4)", "relu(-2)", "relu(2)", "half(0.1)",
                              "max(1, Tk)", "min(0.3, D)", "sigmoid(0.3)", "tanh(1)", "cos(pi / 3)",
                              "7 % 3", "-7 % 3", "2 ^ 0.5", "log(Tk)", "sqrt(D)", "exp(-1)",
                              "(if Tk > 3 then 0.1 else 0.3)", "sin(2) * 2", "1 / 3"]), 2))

    def number(self, depth, scope):
        cells = self.readable(False)
        if depth <= 0 or self.dice.random() < 0.1:
            if cells and self.dice.random() < 0.8:
                return self.cell(self.dice.choice(cells), scope)
            return self.literal()
        inner = lambda: self.number(depth - 1, scope)
        return self.pick(
            (lambda: f"{inner()} {self.dice.choice('+-')} {self.held(depth, scope)}", 4),
            (lambda: f"{self.held(depth, scope)} * {self.held(depth, scope)}", 3),
            (lambda: f"{self.held(depth, scope)} / (1 + abs({inner()}))", 2),
            (lambda: f"{self.held(depth, scope)} / {self.dice.choice(['2', 'Tk', '0.3'])}", 1),
            (lambda: f"({inner()}) ^ {self.dice.choice(['2', '3'])}", 1),
            (lambda: f"(abs({inner()}) + 0.3) ^ {self.dice.choice(['0.5', '-1', '2', '1.5'])}", 1),
            (lambda: f"(abs({inner()}) + 0.3) % {self.dice.choice(['0.7', '2'])}", 0.5),
            (lambda: f"-{self.held(depth, scope)}", 0.5),
            (lambda: self.function(inner()), 3),
            (lambda: f"{self.dice.choice(['max', 'min'])}({inner()}, {inner()})", 1),
            (lambda: f"(if {self.truth(1, scope)} then {inner()} else {inner()})", 3),
            (lambda: self.guarded(depth, scope), 1),
            (lambda: f"({self.reduction(depth, scope)})", 5),
            (lambda: f"({self.product(scope)})", self.products),
            (lambda: self.counted(scope), 1 if scope else 0))

    def held(self, depth, scope):
        text = self.number(depth - 1, scope)
        return text if text[0] == "(" == text.count("(") or text.isalnum() else f"({text})"

    def guarded(self, depth, scope):
        """Generates an if with one side that is outside its tensor when it is not taken."""
        cells = self.readable(False)
        if not cells or not scope:
            return self.literal()
        name = self.dice.choice(list(scope))
        cell = self.cell(self.dice.choice(cells), scope)
        back = self.dice.choice([1, 2])
        shifted = cell.replace(f"[{name},", f"[{name} - {back},").replace(
            f",{name}]", f",{name} - {back}]")
        return (f"(if {name} >= {back} then {shifted} else {self.number(depth - 2, scope)})")

    def function(self, inner):
        return self.pick((lambda: f"{self.dice.choice(['tanh', 'sin', 'cos', 'sigmoid', 'abs'])}"
                                  f"({inner})", 4),
                         (lambda: f"relu({inner})", 1), (lambda: f"exp(tanh({inner}))", 2),
                         (lambda: f"log(abs({inner}) + 0.3)", 1),
                         (lambda: f"sqrt(abs({inner}) + 0.2)", 1),
                         (lambda: f"floor({inner} * 2)", 0.3))

    def counted(self, scope):
        name, other = self.dice.choice(list(scope)), self.dice.choice(list(scope))
        return self.pick((lambda: f"{name}", 1), (lambda: f"abs({name} - {other})", 1),
                         (lambda: f"({name} + 1) / 2", 1), (lambda: f"0.9 ^ {name}", 1),
                         (lambda: f"{name} % 2", 1), (lambda: f"sin({name} / 3)", 1),
                         (lambda: f"floor({name} / 2)", 1), (lambda: f"exp(-{name})", 1))

    def reduction(self, depth, scope):
        word = self.dice.choice(["sum", "sum", "mean", "max", "min"])
        letter = next(self.letters, None)
        if letter is None or depth < 1:
            return self.literal()
        cells = self.readable(False)
        if cells and self.dice.random() < 0.5:
            name = self.dice.choice(cells)
            axes, shape = self.outlines[name]
            if axes[-1] in SHARED:
                return self.literal()
            length = self.dice.choice([n for a, n in zip(axes, shape) if a not in SHARED])
            inside = {**scope, letter: (0, length - 1)}
            read = self.plain_cell(name, inside, letter, length)
            body = self.pick((lambda: read, 2),
                             (lambda: f"{read} * {self.held(depth - 1, inside)}", 4),
                             (lambda: f"{read} + {self.held(depth - 1, inside)}", 2),
                             (lambda: f"exp({read}) - {self.held(depth - 1, inside)}", 1))
            return f"{word} {letter}: {body}"
        first, end, span = self.range(scope)
        inside = {**scope, letter: span}
        self.ranged.add(letter)
        body = self.number(depth - 1, inside)
        return f"{word} {letter} in {first}..{end}: {body}"

    def product(self, scope):
        """Generates a sum that can be a matrix product, with other terms next to it."""
        rows = {}
        for name in self.readable(False):
            axes, shape = self.outlines[name]
            for axis, length in zip(axes, shape):
                if axis not in SHARED:
                    rows.setdefault(length, []).append(name)
        letter = next(self.letters, None)
        if letter is None or not rows:
            return self.literal()
        length = self.dice.choice(list(rows))
        inside = {**scope, letter: (0, length - 1)}
        cells = [self.plain_cell(self.dice.choice(rows[length]), inside, letter, length)
                 for _ in range(4)]
        held = [self.pick((lambda: one, 4), (lambda: f"({one} {self.dice.choice('+-')} {other})", 2),
                          (lambda: f"abs({one})", 1), (lambda: f"({one} + 0.5)", 1))
                for one, other in (cells[:2], cells[2:])]
        return f"sum {letter}: {held[0]} * {held[1]}"

    def plain_cell(self, name, scope, letter, length):
        axes, shape = self.outlines[name]
        cell = self.cell(name, {key: s for key, s in scope.items() if key != letter})
        parts = split_indices(cell)
        places = [i for i in range(-len(parts), 0)
                  if shape[i] == length and axes[i] not in SHARED]
        parts[self.dice.choice(places)] = letter
        return f"{name}[{','.join(parts)}]"

    def range(self, scope):
        """Returns the first index, the end, and the span between them."""
        low, high = self.dice.choice([(0, 3), (0, 2), (-1, 2), (1, 4), (2, 2), (3, 1), (0, 6)])
        options = [(lambda: (str(low), str(high), (low, max(high - 1, low))), 3)]
        if scope:
            name = self.dice.choice(list(scope))
            first, last = scope[name]
            n = max(last, 0) + 1
            options += [
                (lambda: ("0", f"{name} + 1", (0, max(last, 0))), 2),
                (lambda: (name, str(n), (first, max(n - 1, first))), 1),
                (lambda: (f"{name} + 1", f"{n}", (first + 1, max(n - 1, first + 1))), 1),
                (lambda: (f"max({name} - 1, 0)", f"min({name} + 2, {n})", (0, n)), 2),
                (lambda: (f"{name} - 1", f"{name} + 2", (first - 1, last + 1)), 1),
                (lambda: (f"floor({name} / 2)", f"{n}", (min(first, 0), max(n - 1, 0))), 1),
                (lambda: (f"{name} / 2", f"{name} + 1", (min(first, 0), max(last, 0))), 1),
                (lambda: ("2", name, (2, max(last - 1, 2))), 1),
                (lambda: ("0", f"2 * {name}", (0, max(2 * last - 1, 0))), 1),
                (lambda: (f"{name} % 2", "3", (0, 2)), 1),
                (lambda: (f"if {name} > 1 then 1 else 0", "3", (0, 2)), 1)]
        return self.pick(*options)


def split_indices(cell):
    inside, parts, deep = cell[cell.index("[") + 1:-1], [""], 0
    for c in inside:
        deep += (c in "([") - (c in ")]")
        if c == "," and deep == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, timeout=60)


def array_of(step):
    kinds = {"bool": bool, "int64": np.int64}
    return np.array(json_numbers(step["data"]), dtype=kinds.get(step["dtype"], np.float64)).reshape(
        step["shape"])


def json_numbers(data):
    if isinstance(data, list):
        return [json_numbers(each) for each in data]
    return {None: np.nan, "inf": np.inf, "-inf": -np.inf, "nan": np.nan}.get(data, data) \
        if data is None or isinstance(data, str) else data


def off_by(a, b):
    """Returns the largest difference relative to the largest number; nothing if both are equal."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return f"shape {a.shape}, not {b.shape}"
    if a.dtype == bool or b.dtype == bool:
        return "" if np.array_equal(a, b) else "other truths"
    a, b = a.astype(float), b.astype(float)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "nan or inf on one side"
    scale = max(1, np.abs(b[finite]).max(initial=0))
    most = np.abs(a - b)[finite].max(initial=0) / scale
    return f"off by {most:.2g}" if most > 1e-9 else ""


class Walk:
    """Returns a walk with a rule, by the program and by the independent evaluator."""

    def __init__(self, document, rule, settings):
        self.steps = {step["name"]: step for step in document["steps"]}
        self.tensors = {name: array_of(step) for name, step in self.steps.items()}
        self.outlines = {name: (step["axes"], step["shape"]) for name, step in self.steps.items()}
        latest = {"keys": "repeated_key", "values": "repeated_value"}
        latest = {name: step for name, step in latest.items() if step in self.steps}
        before = list(self.steps)[:list(self.steps).index(rule.split("[")[0])]
        latest["scores"] = next((name for name in reversed(before) if name in SCORES), "scores")
        self.rules = {}
        for name, step in self.steps.items():
            if step.get("rule") and not name.startswith("d_") and name != "row_dot":
                self.rules[name] = Compiled(step["rule"], self.outlines)
        self.step = rule.split("[")[0]
        self.rules[self.step] = Compiled(rule, self.outlines, settings, latest)

    def loss(self, changed):
        made = {name: changed.get(name, value) for name, value in self.tensors.items()
                if name not in self.rules}
        for name in self.steps:
            if name in self.rules:
                made[name] = self.rules[name](made)
        return made["loss"].item()

    def wrong_gradients(self, dice):
        wrong, unsure = {}, 0
        for name, tensor in self.tensors.items():
            if name in self.rules or "d_" + name not in self.tensors or tensor.dtype != float:
                continue
            direction = np.array([dice.gauss(0, 1) for _ in range(tensor.size)]).reshape(
                tensor.shape)
            told = (self.tensors["d_" + name] * direction).sum()
            here = self.loss({})
            quotients = []
            for small in (1e-5, 1e-6):
                up = self.loss({name: tensor + small * direction})
                down = self.loss({name: tensor - small * direction})
                quotients.append((up - down) / (2 * small))
                sides = ((up - here) / small, (here - down) / small)
            scale = max(1, abs(quotients[1]), abs(told))
            smooth = abs(sides[0] - sides[1]) < 1e-2 * scale and abs(
                quotients[0] - quotients[1]) < 1e-4 * scale
            if not np.isfinite(here) or not smooth:
                unsure += 1
            elif not abs(told - quotients[1]) < 1e-4 * scale:
                wrong["d_" + name] = f"{told:.6g}, central difference {quotients[1]:.6g}"
        return wrong, unsure


def executed(code):
    torch.set_default_dtype(torch.float32)
    space = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        exec(compile(code, "program", "exec"), space)
    return {name: value.detach().numpy() if isinstance(value, torch.Tensor) else value
            for name, value in space.items() if isinstance(value, (torch.Tensor, np.ndarray))}


def code_faults(common, tensors, needed):
    """Runs the programs of --code in both languages, with and without gradients, and returns what
    differs from these tensors."""
    found = []
    for language in ("torch", "numpy"):
        for back in ([], ["--backward"]):
            name = " ".join([language, *back])
            code = run(*common, *back, "--code", language)
            try:
                made = executed(code.stdout)
            except Exception as error:  # noqa: BLE001: any error of a program is a finding
                found.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
                continue
            if needed not in made:
                found.append(f"{name}: {code.stderr.strip()[:200]}")
            for tensor in made.keys() & tensors.keys():
                if difference := off_by(made[tensor], tensors[tensor]):
                    found.append(f"{name}: {tensor} {difference}")
    return found


def settings_of(walk, document):
    config = document["config"]
    del walk, config
    scores = next(s for s in document["steps"] if s["name"] == "scores")
    query = next(s for s in document["steps"] if s["name"] == "query")
    heads = dict(zip(scores["axes"], scores["shape"])).get("head", 1)
    features = query["shape"][-1]
    return {"Tq": scores["shape"][-2], "Tk": scores["shape"][-1], "D": features, "H": heads,
            "scale": float(np.sqrt(features)), "pi": float(np.pi)}


def check(program, flags, rule, settings, dice):
    """Returns the faults of a rule, and the number of gradients that could not be judged."""
    common = [program, *flags, "--rule", rule, "-q"]
    told = run(*common, "--backward", "--format", "json")
    if told.returncode != 0:
        return ["refused: " + told.stderr.strip().replace("\n", " | ")[:300]], 0
    walk = Walk(json.loads(told.stdout), rule, settings)
    wrong = []
    with np.errstate(all="ignore"):
        met["infinity"] = False
        try:
            ours = walk.rules[walk.step](walk.tensors)
        except Refused as refused:
            return [f"we refuse: {refused}"], 0
        difference = off_by(walk.tensors[walk.step], ours)
        if difference:
            return [f"walk: {walk.step} {difference}"], 0
        infinite = met["infinity"]
        gradients, unsure = walk.wrong_gradients(dice)
    # Rows divided by 0: their gradient is nan in one order of the same
    # products and 0 in another.
    infinite = infinite or not all(
        np.isfinite(tensor).all() for name, tensor in walk.tensors.items()
        if name not in SCORES and not name.startswith("d_"))
    for language in ("torch", "numpy"):
        for back in ([], ["--backward"]):
            name = " ".join([language, *back])
            code = run(*common, *back, "--code", language)
            if code.returncode != 0:
                wrong.append(f"{name}: rc {code.returncode} {code.stderr.strip()[:200]}")
                continue
            try:
                made = executed(code.stdout)
            except Exception as error:  # noqa: BLE001: any error of a program is a finding
                wrong.append(f"{name}: {type(error).__name__}: {str(error)[:120]}")
                continue
            for tensor in list(gradients):
                if np.isnan(walk.tensors[tensor]).any() and np.isnan(made.get(tensor, 0)).any():
                    del gradients[tensor]  # PyTorch's own backward pass has inf * 0 too
                    unsure += 1
            for tensor, value in walk.tensors.items():
                if tensor not in made or tensor == "row_dot":
                    continue
                if gradients and tensor.startswith("d_"):
                    continue  # already told
                finite = np.isfinite(made[tensor]).all() and np.isfinite(value).all()
                if infinite and tensor.startswith("d_") and not finite:
                    unsure += 1
                    continue
                difference = off_by(made[tensor], value)
                if difference:
                    wrong.append(f"{name}: {tensor} {difference}")
                    break
    return [f"{name}: {text}" for name, text in gradients.items()] + wrong, unsure


def main(program="build/dev/app/attn-explain", count="1000", seed="1"):
    failed = unsure = 0
    plans = []
    for walk in WALKS:
        flags = (walk + " --dtype float64").split()
        document = json.loads(run(program, *flags, "-q", "--format", "json").stdout)
        plans.append((flags, document, settings_of(walk, document)))
    for number in range(int(count)):
        dice = random.Random(f"{seed} {number}")
        flags, document, settings = dice.choice(plans)
        outlines = {s["name"]: (s["axes"], s["shape"]) for s in document["steps"]}
        outlines.setdefault("row_max", None)
        steps = [name for name in READS
                 if name in outlines and outlines[name] and (name != "value" or 1)]
        step = dice.choice([name for name in steps if name in outlines])
        order = [s["name"] for s in document["steps"]]
        last = next(n for n in ("masked_scores", "biased_scores", "scaled_scores") if n in order)
        readable = {n: o for n, o in outlines.items() if o and order.index(n) < order.index(step)
                    or n == step}
        readable = {n: o for n, o in readable.items()
                    if not (n in ("key", "value") and f"repeated_{n}" in readable
                            and step not in ("key", "value"))}
        maker = Maker(dice, {n: o for n, o in readable.items()}, last)
        if "repeated_key" in readable:
            maker.outlines = {**readable, "keys": readable["repeated_key"],
                              "values": readable["repeated_value"]}
        rule = maker.rule(step)
        try:
            wrong, missing = check(program, flags, rule, settings, dice)
        except Exception as error:  # noqa: BLE001: an error of this script
            wrong, missing = [f"CHECK: {type(error).__name__}: {error}"], 0
        unsure += missing
        if wrong:
            failed += 1
            print(f"{number}: attn-explain {' '.join(flags)} --backward --rule '{rule}'")
            for line in wrong:
                print("    " + line)
    print(f"{failed} of {count} rules fail; {unsure} gradients at a kink or not finite were not "
          "judged")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

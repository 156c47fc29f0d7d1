"""An independent evaluator of rules, in NumPy's float64, for tests/check_random_rules.py.

Parses a rule by the grammar in app/rules.md and compiles it to a Python function of one cell of the
result; it shares only the notation with the program.
"""

import math
import re

import numpy as np

WORD = re.compile(r"\s*(?:(\d+\.(?!\.)\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|"
                  r"\d+(?:[eE][-+]?\d+)?)|([A-Za-z_][A-Za-z_0-9]*)|"
                  r"(<=|>=|==|!=|\.\.|\*\*|//|[][(),:=+*/%^<>-]))")
CHAINS = {"queries": "query", "keys": "key", "values": "value", "contexts": "context"}
F = np.float64


met = {"infinity": False}  # 0 times it is nan in gradients of PyTorch


class Refused(Exception):
    """An error of a rule: an index outside a tensor, an index divided by 0."""


def words_of(text):
    words, at = [], 0
    while text[at:].strip():
        found = WORD.match(text, at)
        if not found:
            raise ValueError(f"no rule holds {text[at:]!r}")
        number, name, sign = found.groups()
        words.append(("number", float(number)) if number else ("name", name) if name
                     else ("sign", sign))
        at = found.end()
    return words + [("end", "")]


class Parser:
    """Parses to trees (kind, ...), as in ("sum", index, first, end, body)."""

    def __init__(self, text):
        self.words, self.at = words_of(text), 0

    def word(self):
        return self.words[self.at][1]

    def take(self, wanted=None):
        word = self.word()
        if wanted is not None and word != wanted:
            raise ValueError(f"{wanted} expected, not {word}")
        self.at += 1
        return word

    def rule(self):
        step, indices = self.take(), []
        self.take("[")
        while self.word() != "]":
            if indices:
                self.take(",")
            indices.append(self.take())
        self.take("]")
        self.take("=")
        value = self.expression()
        if self.words[self.at][0] != "end":
            raise ValueError(f"the rule ends before {self.word()}")
        return step, indices, value

    def chain(self, signs, operand):
        left = operand()
        while self.word() in signs:
            left = ("two", self.take(), left, operand())
        return left

    def expression(self):
        return self.chain(["or"], lambda: self.chain(["and"], self.negation))

    def negation(self):
        if self.word() != "not":
            return self.comparison()
        self.take()
        return ("one", "not", self.negation())

    def comparison(self):
        left = self.sum()
        if self.word() in ("<", "<=", ">", ">=", "==", "!="):
            return ("two", self.take(), left, self.sum())
        return left

    def sum(self):
        return self.chain(["+", "-"], lambda: self.chain(["*", "/", "//", "%"], self.sign))

    def sign(self):
        if self.word() != "-":
            return self.power()
        self.take()
        return ("one", "-", self.sign())

    def power(self):
        base = self.primary()
        if self.word() not in ("^", "**"):
            return base
        self.take()
        return ("two", "^", base, self.sign())

    def primary(self):
        kind, word = self.words[self.at]
        following = self.words[self.at + 1]
        self.at += 1
        if kind == "number":
            return ("number", word)
        if word == "(":
            inner = self.expression()
            self.take(")")
            return inner
        if word in ("inf", "nan"):
            return ("number", float(word))
        if word == "if":
            condition = self.expression()
            self.take("then")
            yes = self.expression()
            self.take("else")
            return ("if", condition, yes, self.expression())
        if word in ("sum", "mean", "max", "min") and following[0] == "name":
            index, first, end = self.take(), None, None
            if self.word() == "in":
                self.take()
                first = self.sum()
                self.take("..")
                end = self.sum()
            self.take(":")
            return ("reduce", word, index, first, end, self.expression())
        if kind != "name":
            raise ValueError(f"no expression begins with {word!r}")
        if self.word() not in ("[", "("):
            return ("name", word)
        closing = "]" if self.take() == "[" else ")"
        parts = []
        while self.word() != closing:
            if parts:
                self.take(",")
            parts.append(self.expression())
        self.take(closing)
        return ("cell" if closing == "]" else "call", word, parts)


def half(x):
    return F(np.float16(x))


FUNCTIONS = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "cos": np.cos, "sin": np.sin,
    "abs": np.abs, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "floor": np.floor, "half": half,
    "relu": lambda x: F(0) if x < 0 else x, "max": np.maximum, "min": np.minimum,
    "erf": lambda x: F(math.erf(x)),
}


def power(a, b):
    return np.power(F(a), F(b))


def remainder(a, b):
    return a - np.floor(a / b) * b


def divided(a, b):
    if b == 0:
        raise Refused("an index divided by 0")
    return a // b


def modulo(a, b):
    if b == 0:
        raise Refused("an index divided by 0")
    return a % b


def reduced(word, first, end, body):
    values = [body(i) for i in range(int(first), int(end))]
    if word == "sum":
        return sum(values, F(0))
    if word == "mean":
        return sum(values, F(0)) / F(max(int(end) - int(first), 0))
    join = np.maximum if word == "max" else np.minimum
    result = F(-np.inf if word == "max" else np.inf)
    for value in values:
        result = join(result, value)
    met["infinity"] |= not values
    return result


def cell(tensor, places):
    for place, length in zip(places, tensor.shape):
        if not 0 <= place < length:
            raise Refused(f"there is no {place} of {length}")
    met["infinity"] |= bool(np.isinf(tensor[places]))
    return tensor[places]


class Compiled:
    """Compiles a rule to a function of its tensors. `outlines`: name -> (axes, shape)."""

    def __init__(self, text, outlines, settings=None, latest=None):
        self.step, indices, value = Parser(text).rule()
        self.outlines, self.settings, self.latest = outlines, settings or {}, latest or {}
        axes, self.shape = outlines[self.step]
        taken = set(re.findall(r"[A-Za-z_]+", text))
        self.axes = axes
        front = []
        for axis in axes[:len(axes) - len(indices)]:
            letter = axis[0] + "_"
            while letter in taken:
                letter += "_"
            front.append(letter)
        self.front = front
        self.own = front + indices
        self.reads = []
        body = self.value(value, set(self.own))
        arguments = ", ".join(self.own)
        names = {"F": F, "FUNCTIONS": FUNCTIONS, "power": power, "remainder": remainder,
                 "divided": divided, "modulo": modulo, "reduced": reduced, "cell": cell,
                 "math": math}
        source = f"def make(T):\n    return lambda {arguments}: {body}\n"
        exec(source, names)
        self.make = names["make"]

    def called(self, name):
        return self.latest.get(name, CHAINS.get(name, name))

    def length_of(self, tree, index):
        """Returns the length of the first axis that an index addresses alone."""
        if tree[0] == "cell":
            name = self.called(tree[1])
            axes, shape = self.outlines[name]
            left_out = len(axes) - len(tree[2])
            for place, part in enumerate(tree[2]):
                if part == ("name", index):
                    return shape[left_out + place]
        for part in tree[1:]:
            for each in part if isinstance(part, list) else [part]:
                if isinstance(each, tuple):
                    found = self.length_of(each, index)
                    if found:
                        return found
        return 0

    def name(self, word, bound, whole):
        if word in bound:
            return word if whole else f"F({word})"
        number = self.settings[word]
        return str(int(number)) if whole else f"F({number!r})"

    def place(self, name, axes, shape, left_out, axis):
        """Returns the index of an axis that is omitted."""
        if shape[axis] == 1:
            return "0"
        for own, letter in zip(self.axes, self.front):
            if own == axes[axis]:
                return letter
        raise ValueError(f"{name} leaves {axes[axis]} open")

    def cell(self, tree, bound):
        name = self.called(tree[1])
        self.reads.append(name)
        axes, shape = self.outlines[name]
        left_out = len(axes) - len(tree[2])
        places = [self.place(name, axes, shape, left_out, axis) for axis in range(left_out)]
        for axis, part in enumerate(tree[2], left_out):
            plain = part[0] == "name" and part[1] in bound
            places.append("0" if plain and shape[axis] == 1 else self.whole(part, bound))
        inside = "".join(place + ", " for place in places)
        return f"cell(T[{name!r}], ({inside}))"

    def value(self, tree, bound):
        kind = tree[0]
        if kind == "number":
            return f"F({tree[1]!r})" if math.isfinite(tree[1]) else f"F('{tree[1]}')"
        if kind == "name":
            return self.name(tree[1], bound, False)
        if kind == "cell":
            return self.cell(tree, bound)
        if kind == "call":
            parts = ", ".join(self.value(part, bound) for part in tree[2])
            return f"FUNCTIONS[{tree[1]!r}]({parts})"
        if kind == "one":
            return f"({tree[1]} {self.value(tree[2], bound)})"
        if kind == "two":
            a, b = self.value(tree[2], bound), self.value(tree[3], bound)
            if tree[1] == "^":
                return f"power({a}, {b})"
            if tree[1] == "%":
                return f"remainder({a}, {b})"
            return f"({a} {tree[1]} {b})"
        if kind == "if":
            return (f"({self.value(tree[2], bound)} if {self.value(tree[1], bound)} else "
                    f"{self.value(tree[3], bound)})")
        _, word, index, first, end, body = tree
        if first is None:
            limits = f"0, {self.length_of(body, index)}"
        else:
            limits = f"{self.whole(first, bound)}, {self.whole(end, bound)}"
        return f"reduced({word!r}, {limits}, lambda {index}: {self.value(body, bound | {index})})"

    def whole(self, tree, bound):
        """Compiles an index: integers, whose division rounds down."""
        kind = tree[0]
        if kind == "number":
            return str(int(tree[1]))
        if kind == "name":
            return self.name(tree[1], bound, True)
        if kind == "cell":
            return f"int({self.cell(tree, bound)})"
        if kind == "call":
            if tree[1] == "floor":
                return f"int(math.floor({self.value(tree[2][0], bound)}))"
            return f"{tree[1]}({', '.join(self.whole(part, bound) for part in tree[2])})"
        if kind == "one":
            return f"({tree[1]} {self.whole(tree[2], bound)})"
        if kind == "two":
            a, b = self.whole(tree[2], bound), self.whole(tree[3], bound)
            name = {"/": "divided", "//": "divided", "%": "modulo"}.get(tree[1])
            return f"{name}({a}, {b})" if name else f"({a} {tree[1]} {b})"
        return (f"({self.whole(tree[2], bound)} if {self.whole(tree[1], bound)} else "
                f"{self.whole(tree[3], bound)})")

    def __call__(self, tensors):
        function = self.make(tensors)
        values = [function(*place) for place in np.ndindex(*self.shape)]
        return np.array(values).reshape(self.shape)

#!/usr/bin/python3
"""Compares the rule of each step in the JSON with its numbers, with an independent evaluator of the
notation, cell by cell in Python's floats.

    tests/check_step_rules.py [PROGRAM]

Every computed step of some fifty walks must have a rule that names only earlier tensors, indices and
numbers, and gives the step's numbers to 1e-9.
"""

import json
import math
import re
import shlex
import struct
import subprocess
import sys

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "build/dev/app/attn-explain"

WALKS = """
--seq-len 4
--heads 2 --output-projection
--heads 2 --batch 2 --mask causal --bias --output-projection --output-bias
--heads 4 --kv-heads 2 --mask causal --rope half --output-projection
--heads 4 --kv-heads 2 --rope half --qk-norm head
--heads 2 --rope interleaved --rotary-dim 2 --mask window:2,causal
--heads 2 --rope half --rotary-dim 2 --past 3 --mask causal
--past 2 --seq-len 3 --mask causal,window:3
--heads 4 --position-bias alibi --mask causal
--heads 3 --position-bias alibi
--heads 2 --position-bias t5 --scale none --seq-len 7
--heads 2 --position-bias t5 --scale none --mask causal --seq-len 7
--position-bias t5 --seq-len 40 --embed-dim 2
--softcap 2 --heads 2
--heads 2 --sink zero --mask causal
--heads 2 --sink randn --mask causal --softcap 5
--heads 2 --softmax-axis query
--heads 2 --weights-by sigmoid --mask causal --output-projection
--weights-by sigmoid --memory-len 7 --seq-len 3 --batch 2
--heads 2 --softmax-axis head
--heads 2 --batch 2 --softmax-axis batch
--scale embed-dim --heads 2
--scale 0.3
--heads 2 --projection fused
--heads 2 --projection fused-by-head --bias
--heads 2 --projection stacked --bias
--heads 2 --projection per-head
--heads 2 --projection none
--heads 2 --memory-len 3 --output-projection
--heads 2 --memory-len 3 --projection mha --bias
--heads 2 --weight-layout in-out --output-projection
--heads 2 --x-norm rms
--heads 2 --x-norm layer
--heads 2 --qk-norm all
--heads 2 --qk-norm l2
--position-embedding sinusoidal --embed-dim 5 --head-dim 4
--position-embedding learned
--rope half --positions 0,1,4,5,9,2
--rope half --rope-scaling linear:4
--rope half --rope-scaling llama3:8:1:4:8192 --head-dim 8
--rope half --rope-scaling yarn:32:4096 --head-dim 8
--rope half --rope-scaling dynamic:2:4 --head-dim 8
--mask chunk:2,causal --seq-len 5
--mask prefix:2
--mask documents:2+4 --heads 2
--mask causal --empty-row zero --causal-align end
--lengths 3,4 --batch 2 --mask padding --heads 2
--mla 3 --heads 2 --rope interleaved
--mla 3 --mla-query-rank 2 --heads 2 --rope half --mla-absorbed
--differential --heads 4
--dropout 0.3 --heads 2 --mask causal
--dropout 0.3 --dropout-place output --output-projection
--differential --heads 4 --kv-heads 2 --mask causal
--variant fused --seq-len 7
--variant fused --seq-len 6 --heads 2 --mask causal --dropout 0.3
--variant fused --heads 4 --kv-heads 2 --mask causal --sink randn --seq-len 6
--variant fused --heads 2 --softcap 3 --position-bias alibi --seq-len 5
--variant vectorized --heads 2 --mask causal
--preset llama3 --heads 4 --kv-heads 2 --embed-dim 16
--preset gpt-oss --heads 4 --kv-heads 2 --embed-dim 16
--preset gemma2 --heads 4 --kv-heads 2 --embed-dim 16
--preset deepseek --heads 2 --mla 3
--mla 3 --batch 2 --heads 2 --variant vectorized
"""

TOKEN = re.compile(r"\s*(\d+(?=\.\.)|\d*\.?\d+(?:[eE][-+]?\d+)?|\w+|<=|>=|==|!=|\.\.|.)")


def half(x):
    try:
        return struct.unpack("e", struct.pack("e", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


FUNCTIONS = {
    "exp": lambda x: math.inf if x >= 700 else math.exp(x),
    "log": lambda x: math.log(x) if x > 0 else -math.inf,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan, "tanh": math.tanh, "cos": math.cos,
    "sin": math.sin, "abs": abs, "sigmoid": lambda x: 0.0 if x < -700 else 1 / (1 + math.exp(-x)),
    "half": half, "relu": lambda x: max(x, 0), "floor": lambda x: math.floor(x), "min": min, "max": max}


def divide(a, b):
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a)
    return a / b


class Reader:
    """Turns a rule into a function of the indices of a cell."""

    def __init__(self, text, tensors):
        self.words = [w for w in TOKEN.findall(text) if w.strip()]
        self.at = 0
        self.tensors = tensors

    def peek(self):
        return self.words[self.at] if self.at < len(self.words) else ""

    def take(self, wanted=None):
        word = self.peek()
        assert wanted is None or word == wanted, f"{wanted} expected, not {word}"
        self.at += 1
        return word

    def rule(self):
        name = self.take()
        self.take("[")
        indices = []
        while self.peek() != "]":
            indices.append(self.take())
            if self.peek() == ",":
                self.take()
        self.take("]")
        self.take("=")
        body = self.expression()
        assert not self.peek(), "rest: " + self.peek()
        return name, indices, body

    def expression(self):
        left = self.conjunction()
        while self.peek() == "or":
            self.take()
            left = (lambda a, b: lambda e: a(e) or b(e))(left, self.conjunction())
        return left

    def conjunction(self):
        left = self.negation()
        while self.peek() == "and":
            self.take()
            left = (lambda a, b: lambda e: a(e) and b(e))(left, self.negation())
        return left

    def negation(self):
        if self.peek() == "not":
            self.take()
            return (lambda a: lambda e: not a(e))(self.negation())
        return self.comparison()

    def comparison(self):
        left = self.sum()
        by = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
              ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b}
        if self.peek() not in by:
            return left
        how = by[self.take()]
        return (lambda a, b: lambda e: how(a(e), b(e)))(left, self.sum())

    def sum(self):
        left = self.product()
        while self.peek() in "+-" and self.peek():
            sign = 1 if self.take() == "+" else -1
            left = (lambda a, b, s: lambda e: a(e) + s * b(e))(left, self.product(), sign)
        return left

    def product(self):
        left = self.sign()
        while self.peek() in "*/%" and self.peek():
            word = self.take()
            how = {"*": lambda a, b: a * b, "/": divide, "%": lambda a, b: a % b}[word]
            left = (lambda a, b, h: lambda e: h(a(e), b(e)))(left, self.sign(), how)
        return left

    def sign(self):
        if self.peek() == "-":
            self.take()
            return (lambda a: lambda e: -a(e))(self.sign())
        base = self.primary()
        if self.peek() == "^":
            self.take()
            return (lambda a, b: lambda e: a(e) ** b(e))(base, self.sign())
        return base

    def primary(self):
        word = self.take()
        if word == "(":
            inner = self.expression()
            self.take(")")
            return inner
        if word == "if":
            test = self.expression()
            self.take("then")
            yes = self.expression()
            self.take("else")
            no = self.expression()
            return lambda e: yes(e) if test(e) else no(e)
        if word in ("sum", "mean", "max", "min") and self.peek() not in ("(", "["):
            return self.reduction(word)
        if word == "inf":
            return lambda e: math.inf
        if word[0].isdigit() or word[0] == ".":
            number = float(word) if not word.isdigit() else int(word)
            return lambda e: number
        if self.peek() == "[":
            return self.cell(word)
        if self.peek() == "(":
            self.take()
            parts = [self.expression()]
            while self.peek() == ",":
                self.take()
                parts.append(self.expression())
            self.take(")")
            return lambda e: FUNCTIONS[word](*[p(e) for p in parts])
        return lambda e: e[word]

    def reduction(self, word):
        index = self.take()
        first = end = None
        if self.peek() == "in":
            self.take()
            first = self.sum()
            self.take("..")
            end = self.sum()
        self.take(":")
        self.lengths = getattr(self, "lengths", {})
        self.lengths.pop(index, None)
        body = self.expression()
        length = self.lengths.get(index)

        def run(e):
            low, high = (0, length) if first is None else (int(first(e)), int(end(e)))
            terms = [body({**e, index: i}) for i in range(low, high)]
            if word in ("max", "min"):
                pick = max if word == "max" else min
                return math.nan if any(t != t for t in terms) else pick(
                    terms, default=-math.inf if word == "max" else math.inf)
            total = 0.0
            for term in terms:
                total += term
            return total if word == "sum" else total / len(terms)
        return run

    def cell(self, name):
        tensor = self.tensors[name]  # a KeyError: no earlier tensor
        self.take("[")
        parts = []
        while True:
            start = self.at
            parts.append(self.index())
            if self.at == start + 1 and not self.words[start].isdigit():
                self.lengths = getattr(self, "lengths", {})
                self.lengths.setdefault(self.words[start], tensor["shape"][len(parts) - 1])
            if self.take() == "]":
                break
        assert len(parts) == len(tensor["shape"]), f"{name}: an index for each axis"
        data = tensor["data"]

        def read(e):
            cell = data
            for part in parts:
                i = part(e)
                assert i == int(i) and i >= 0, f"index {i} of {name}"
                cell = cell[int(i)]
            return number(cell)
        return read

    def index(self):
        """Parses an index, in which division rounds down."""
        words, depth, start = [], 0, self.at
        while depth > 0 or self.words[self.at] not in (",", "]"):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(self.words[self.at], 0)
            self.at += 1
        end, self.at = self.at, start
        inner = Reader("", self.tensors)
        inner.words = self.words[start:end]
        product = inner.product

        def whole():
            left = inner.sign()
            while inner.peek() and inner.peek() in "*/%":
                how = {"*": lambda a, b: a * b, "/": lambda a, b: a // b,
                       "%": lambda a, b: a % b}[inner.take()]
                left = (lambda a, b, h: lambda e: h(a(e), b(e)))(left, inner.sign(), how)
            return left
        inner.product = whole
        result = inner.expression()
        self.at = end
        return result


def number(cell):
    return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}.get(cell, cell) if isinstance(
        cell, str) else math.nan if cell is None else cell


def cells(data, at=()):
    if isinstance(data, list):
        for i, part in enumerate(data):
            yield from cells(part, at + (i,))
    else:
        yield at, number(data)


def close(made, printed):
    if made != made or printed != printed:
        return made != made and printed != printed
    if math.isinf(made) or math.isinf(printed):
        return made == printed
    return abs(made - printed) <= 1e-9 * max(1, abs(printed))


def fault_of(step, tensors):
    """Returns the fault of a step's rule; nothing if it gives the numbers."""
    try:
        made, indices, body = Reader(step["rule"], tensors).rule()
        assert made == step["name"] and len(indices) == len(step["shape"])
        wrong = [(at, body(dict(zip(indices, at))), is_) for at, is_ in cells(step["data"])
                 if not close(body(dict(zip(indices, at))), is_)]
        return f"{step['rule']}: {len(wrong)} cells, {wrong[0]}" if wrong else None
    except Exception as error:  # pylint: disable=broad-except
        return f"{step['rule']}: {type(error).__name__} {error}"


def must_have_rule(name):
    return not re.match(r"(w|b|g)_|ids|memory_ids|embedding|memory_embedding|past_|lambda_[qk]|sink$|"
                        r"position_table|token_embedding|relative_attention_bias|keep|x$|memory$", name)


def check(walk):
    run = subprocess.run([PROGRAM, *shlex.split(walk), "--detail", "--dtype", "float64", "--format",
                          "json"], capture_output=True, text=True)
    if run.returncode != 0:
        return 0, [run.stderr.strip()]
    document = json.loads(run.stdout)
    tensors, faults, checked = {}, [], 0
    for step in document["steps"]:
        name = step["name"]
        if "rule" in step:
            fault = fault_of(step, tensors)
            if fault:
                faults.append(fault)
            checked += 1
        elif must_have_rule(name):
            faults.append(name + " has no rule")
        tensors[name] = step
    return checked, faults


def main():
    all_checked, failed = 0, 0
    for walk in WALKS.strip().splitlines():
        checked, faults = check(walk)
        all_checked += checked
        failed += len(faults)
        for fault in faults:
            print(f"{walk}\n    {fault}")
    print(f"{all_checked} rules of steps, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

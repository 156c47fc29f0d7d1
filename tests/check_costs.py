#!/usr/bin/python3
"""Compares the polynomials of `attentions NAME --cost` with counts of executed operations, at twelve
sizes.

    tests/check_costs.py [PROGRAM] [NAME ...]

Each rule of a walk is executed as loops: over the indices of the result, then over those of each
sum, as many times as its longest range in that walk. Both sides of an `if` are executed, and the one
with more operations counts. Executions that differ only in indices on which an operation does not
depend are one, and so are those of equal expressions over equal ranges, as in a softmax. The counts
must equal the polynomials, which the program states once, at its own sizes.
"""

import itertools
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "app/python"))
from attn_verify import _Parser as Parser, _COMPARES  # noqa: E402

EXACT = ("abs", "relu", "min", "max", "floor", "sign", "stop", "half")
# 12 and 24 tokens: multiples of all settings that divide indices.
SIZES = [(12, h, c, b) for h, c in [(2, 8), (2, 12), (4, 16)] for b in [1, 2, 3]]
SIZES += [(24, 2, 4, 1), (24, 2, 8, 1), (24, 4, 8, 1)]


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(" ".join(words) + ": " + done.stderr)
    return json.loads(done.stdout)


class Counted:
    """The operations of one rule."""

    def __init__(self, rule, shape, shapes):
        self.shapes = shapes
        cell, _, right = rule.partition("=")
        letters = cell.partition("[")[2].rstrip("] ").replace(" ", "").split(",")
        self.letters = [letter for letter in letters if letter]
        self.ranges = dict(zip(self.letters, shape))
        self.done, self.longest, self.texts = {}, {}, {}
        self.spans = {name: (["number", 0], length) for name, length in self.ranges.items()}
        self.tree = self.numbered(Parser(right.strip()).tree(), [0])
        for _ in range(2):  # first the longest range of each sum, then all with that range
            self.done = {}
            for place in itertools.product(*(range(n) for n in shape)):
                env = dict(zip(self.letters, place))
                self.execute(self.tree, env, {letter: {letter} for letter in self.letters})

    def numbered(self, tree, count):
        """Makes each node an object of its own, as equal tuples are one."""
        if isinstance(tree, tuple):
            return [tree[0], *(self.numbered(part, count) for part in tree[1:])]
        return [self.numbered(part, count) for part in tree] if isinstance(tree, list) else tree

    def value(self, tree, env):
        kind = tree[0]
        if kind == "number":
            return tree[1]
        if kind == "name":
            return env[tree[1]]
        if kind == "if":
            return self.value(tree[2 if self.value(tree[1], env) else 3], env)
        if kind == "call":
            parts = [self.value(part, env) for part in tree[2]]
            return {"min": min, "max": max}[tree[1]](parts)
        x, y = (self.value(part, env) for part in tree[1:3])
        if kind in _COMPARES:
            return bool(_COMPARES[kind](x, y))
        if kind in ("/", "//", "%"):
            return x % y if kind == "%" else x // y
        return {"+": x + y, "-": x - y, "*": x * y}[kind]

    def lengths(self, tree, index):
        """The lengths of the axes that an index runs over alone."""
        found = []
        if isinstance(tree, list):
            if tree[:1] == ["cell"]:
                found = [
                    self.shapes[tree[1]][i - len(tree[2])]
                    for i, place in enumerate(tree[2])
                    if place == ["name", index]
                ]
            for part in tree:
                found += self.lengths(part, index)
        return found

    def names(self, tree):
        if isinstance(tree, list) and tree and tree[0] == "name":
            return {tree[1]}
        return set().union(*map(self.names, tree)) if isinstance(tree, list) else set()

    def reads(self, tree):
        return isinstance(tree, list) and (tree[:1] == ["cell"] or any(map(self.reads, tree)))

    def alike(self, tree, letters, spans):
        """A text that equal expressions share: indices by their order and their ranges."""
        if not isinstance(tree, list):
            return repr(tree)
        if tree[:1] == ["name"]:
            name = tree[1]
            if name not in letters:
                letters[name] = len(letters)
                first, length = spans.get(name, (["number", 0], name))
                letters[name] = f"#{len(letters)}:{self.alike(first, letters, spans)}+{length}"
            return str(letters[name])
        if tree[:1] == ["over"]:
            _, word, index, span, body = tree
            ends = [self.alike(each, letters, spans) for each in span or ()]
            inner = {**letters, index: f"#{len(letters)}"}
            ends.append("" if span else str(max(self.lengths(body, index), default=0)))
            return f"{word}({','.join(ends)},{self.alike(body, inner, spans)})"
        return "(" + ",".join(self.alike(part, letters, spans) for part in tree) + ")"

    def note(self, kind, tree, body, env, follows):
        names = set().union(*(follows[name] for name in self.names(body) if name in follows))
        key = tuple(env[name] for name in sorted(names))
        self.done.setdefault((kind, id(tree)), set()).add(key)
        self.texts[id(tree)] = self.alike(tree, {}, self.spans)

    def execute(self, tree, env, follows):
        kind = tree[0]
        if kind in ("number", "name", "cell"):
            return
        if kind == "over":
            _, word, index, span, body = tree
            first, end = span or (["number", 0], ["number", max(self.lengths(body, index))])
            begin = self.value(first, env)
            length = max(self.longest.get(id(tree), 0), self.value(end, env) - begin)
            self.longest[id(tree)] = length
            on = set().union(*(follows[name] for name in self.names([first, end]))) | {index}
            self.spans[index] = (first, length)
            for i in range(begin, begin + length):
                inner, inner_follows = {**env, index: i}, {**follows, index: on}
                # The place in the range: two ranges of one length have equal numbers of places.
                self.execute(body, inner, inner_follows)
                if word == "prod" and self.reads(body):
                    self.note("products", tree, body, inner, inner_follows)
            if word == "mean" and self.reads(body):
                self.note("functions", tree, [first, end, self.without(body, index)], env, follows)
            return
        parts = tree[2] if kind == "call" else tree[1:]
        for part in parts:
            self.execute(part, env, follows)
        if not self.reads(tree):
            return
        if kind == "*" and self.reads(tree[1]) and self.reads(tree[2]):
            self.note("products", tree, tree, env, follows)
        if kind in ("/", "^") or (kind == "call" and tree[1] not in EXACT):
            self.note("functions", tree, tree, env, follows)

    def without(self, tree, index):
        if isinstance(tree, list):
            return (
                ["number", 0] if tree == ["name", index] else [self.without(p, index) for p in tree]
            )
        return tree

    def total(self, kind, tree=None, seen=None):
        tree = tree if tree is not None else self.tree
        seen = seen if seen is not None else set()
        own = len(self.done.get((kind, id(tree)), ()))
        if own:
            if self.texts[id(tree)] in seen:
                return 0
            seen.add(self.texts[id(tree)])
        if tree[0] in ("number", "name", "cell"):
            return own
        if tree[0] == "over":
            return own + self.total(kind, tree[4], seen)
        if tree[0] == "if":
            both = lambda side: sum(
                self.total(each, side, set(seen)) for each in ("products", "functions")
            )
            own += self.total(kind, tree[1], seen)
            side = tree[2] if both(tree[2]) >= both(tree[3]) else tree[3]
            return own + self.total(kind, side, seen)
        return own + sum(
            self.total(kind, part, seen) for part in (tree[2] if tree[0] == "call" else tree[1:])
        )


def at(polynomial, sizes):
    total, sign = 0, 1
    for word in (
        polynomial.replace(" / ", "/").replace(" - ", " -|").replace(" + ", " +|").split("|")
    ):
        end = word[-1:] if word[-1:] in "+-" else ""
        product = 1.0
        for factor in word.rstrip("+-").split():
            over, *under = factor.split("/")
            for letter, divides in [(over, False)] + [(each, True) for each in under]:
                base, _, power = letter.partition("^")
                number = float(base) if base[0].isdigit() else sizes[base]
                product *= (number ** int(power or 1)) ** (-1 if divides else 1)
        total += sign * product
        sign = -1 if end == "-" else 1
    return total


def check(program, name, form, stated, has_heads):
    faults, steps, sizes_here = [], 0, {}
    for tokens, heads, embed_dim, batch in SIZES:
        flags = f"--seq-len {tokens} --embed-dim {embed_dim}"
        flags += f" --heads {heads}" if has_heads else ""
        flags += f" --batch {batch}" if batch > 1 else ""
        begins = run(program, "attentions", name, "--cost", "--json", *flags.split())
        sizes = {"B": 1, **begins["sizes"]}
        walk = ["--attention", name] if name != "standard" else []
        form_flags = ["--form", form] if form else []
        walked = run(program, *walk, *form_flags, "--json", *flags.split())
        made = {step["name"]: step for step in walked["steps"]}
        for step in stated:
            section = made.get(step["name"])
            is_counted = section and section.get("rule") and section["kind"] == "computed"
            if not is_counted or not section["dtype"].startswith("float"):  # indices do not count
                continue
            counted = Counted(
                section["rule"], section["shape"], {n: s["shape"] for n, s in made.items()}
            )
            for kind in ("products", "functions"):
                steps += 1
                said, count = at(step[kind], sizes), counted.total(kind)
                if abs(said - count) > 1e-6 * max(count, 1):
                    faults.append(
                        f"{name} {form} {step['name']} {flags}: {kind} {step[kind]} = {said}, run {count}"
                    )
    return faults, steps


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/dev/app/attn-explain"
    names = sys.argv[2:] or ["standard"] + [
        each["name"] for each in run(program, "attentions", "--json")
    ]
    faults, steps = [], 0
    for name in names:
        heads = ["--heads", "2"] if name == "standard" else []
        cost = run(program, "attentions", name, "--cost", "--json", "--batch", "3", *heads)
        for form in cost["forms"]:
            found, count = check(program, name, form["form"], form["steps"], "H" in cost["sizes"])
            faults += found
            steps += count
            print(f"{name} {form['form']}: {count} counts, {len(found)} differ", flush=True)
    print("\n".join(faults[:40]))
    print(f"{steps} counts, {len(faults)} differ from the polynomials")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

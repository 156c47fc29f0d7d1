#!/usr/bin/python3
"""Compares random steps that read their own earlier rows with an independent evaluator and with the
programs that --code writes, which are run.

    tests/check_recurrences.py [PROGRAM] [COUNT] [SEED]

Each step is in its own attention file, with axes in any order. The walk must have the numbers of
tests/rule_oracle.py, row by row; so must --code numpy and --code torch, and with --backward every
gradient of the walk must be that of PyTorch's autograd.
"""

import json
import random
import sys
import tempfile

from check_random_rules import array_of, code_faults, np, off_by, run
from rule_oracle import Compiled

WALKS = {  # flags: the length of each letter
    "--seq-len 3 --embed-dim 8 --heads 2": {"h": 2, "q": 3, "k": 3, "t": 3, "f": 4},
    "--seq-len 4 --embed-dim 6 --heads 3 --batch 2": {"h": 3, "q": 4, "k": 4, "t": 4, "f": 2},
    "--seq-len 2 --embed-dim 3 --mask causal": {"q": 2, "k": 2, "t": 2, "f": 3},
}


class Maker:
    def __init__(self, dice, lengths):
        self.dice, self.parameters = dice, []
        self.lengths = dict(lengths, n=dice.choice([2, 3]), m=dice.choice([1, 3]))
        tokens = dice.sample("qkt", dice.choice([1, 1, 2]))
        others = [letter for letter in "hfnm" if letter in self.lengths]
        self.letters = tokens + dice.sample(others, dice.randint(0, len(others)))
        if len(self.letters) < 2:
            self.letters.append("f")
        dice.shuffle(self.letters)
        self.along = dice.choice([x for x in self.letters if self.lengths[x] > 1])

    def parameter(self, letters):
        name = "abcdegijlorsuvyz"[len(self.parameters)] * 2
        self.parameters.append(f"parameter {name}[{','.join(letters)}] ~ uniform(-1, 1)")
        return f"{name}[{','.join(letters)}]"

    def term(self):
        """Generates a tensor of the walk, or a parameter with some of the axes, in any order."""
        some = self.dice.sample(self.letters, self.dice.randint(1, len(self.letters)))
        if self.dice.random() < 0.5:
            return self.parameter(some)
        token = next((x for x in self.letters if x in "qkt"), "1")
        head = "h," if "h" in self.letters else "0," if "h" in self.lengths else ""
        feature = "f" if "f" in self.letters else "1"
        return f"{self.dice.choice(['key', 'value'])}[{head}{token},{feature}]"

    def own(self, place):
        """Generates the step itself at a place along its axis."""
        turned = self.dice.choice(self.letters) if self.dice.random() < 0.3 else ""
        parts = [place if x == self.along
                 else f"({x} + 1) % {self.lengths[x]}" if x == turned else x for x in self.letters]
        return f"made[{','.join(parts)}]"

    def mixed(self, place):
        """Generates a row of the step times a matrix."""
        others = [x for x in self.letters if x != self.along and x not in "qkt"]
        if not others:
            return self.own(place)
        mixed = self.dice.choice(others)
        parts = [place if x == self.along else "w" if x == mixed else x for x in self.letters]
        matrix = self.parameter([mixed, mixed.replace(mixed, "p")]).replace("p]", "w]")
        self.parameters[-1] = self.parameters[-1].replace(",p]", f",{mixed}{mixed}]")
        self.lengths[mixed * 2] = self.lengths[mixed]
        return f"(sum w: made[{','.join(parts)}] * {matrix})"

    def rule(self):
        x, dice = self.along, self.dice
        last = self.lengths[x] - 1
        self.backwards = dice.random() < 0.2
        first, before = (f"{x} == {last}", f"{x} + 1") if self.backwards else (
            f"{x} == 0", f"{x} - 1")
        read = dice.choice([self.own, self.own, self.mixed])(before)
        factor = dice.choice(["0.5", self.term(), f"sigmoid({self.term()})"])
        more = dice.choice(["", f" + {self.term()}", f" - {self.term()} * {self.term()}"])
        forms = [f"if {first} then {self.term()} else {factor} * {read}{more}",
                 f"(if {first} then 0 else {factor} * {read}){more or ' + 1'}",
                 f"{self.term()} + {factor} * (if {first} then 0.3 else tanh({read}))"]
        if not self.backwards:
            other = dice.choice(self.letters)
            forms += [f"{self.term()} - 0.5 * (sum r in 0..{x}: {self.own('r')} * {self.term()})",
                      f"if {x} > 0 and {other} < 2 then {factor} * {read} else {self.term()}",
                      f"if {x} < 2 then {self.term()} else {self.own(before)} * {factor} - "
                      f"0.5 * {self.own(f'{x} - 2')}"]
        return f"made[{','.join(self.letters)}] = {dice.choice(forms)}"

    def file(self, rule):
        axes = [f"axis {x} < {length}" for x, length in self.lengths.items()
                if x in "nm" or len(x) == 2]
        used = [p for p in self.parameters if p.split()[1].split("[")[0] + "[" in rule]
        named = "".join(used) + rule.split("=")[0]
        axes = [a for a in axes if a.split()[1] in named.replace("parameter", "").replace("made", "")
                .replace("uniform", "")]
        return "\n".join(["attention recurrence", *axes, *used, f"step {rule}",
                          "  extends contexts", "  after context", ""])


def oracle(document, rule, along, backwards):
    """Computes the step with the independent evaluator, in the order of one axis."""
    tensors = {step["name"]: array_of(step) for step in document["steps"]}
    outlines = {step["name"]: (step["axes"], step["shape"]) for step in document["steps"]}
    compiled = Compiled(rule, outlines)
    shape = outlines["made"][1]
    axis = len(shape) - len(rule.split("]")[0].split(",")) + rule.split("]")[0].split("[")[1].split(
        ",").index(along)
    tensors["made"] = np.full(shape, np.nan)
    made = compiled.make(tensors)
    for row in (range(shape[axis])[::-1] if backwards else range(shape[axis])):
        for place in np.ndindex(*shape):
            if place[axis] == row:
                tensors["made"][place] = made(*place)
    return tensors["made"]


def check(program, flags, rule, maker, path):
    common = [program, "--attention", path, *flags, "-q"]
    told = run(*common, "--backward", "--format", "json")
    if told.returncode != 0:
        return [told.stderr.strip()[:400]]
    document = json.loads(told.stdout)
    tensors = {step["name"]: array_of(step) for step in document["steps"]}
    wrong = off_by(tensors["made"], oracle(document, rule, maker.along, maker.backwards))
    found = [f"walk: {wrong}"] if wrong else []
    return found + code_faults(common, tensors, "made")


def main(program="build/dev/app/attn-explain", count="200", seed="1"):
    failed = 0
    for number in range(int(count)):
        dice = random.Random(f"{seed} {number}")
        walk = dice.choice(list(WALKS))
        maker = Maker(dice, WALKS[walk])
        rule = maker.rule()
        text = maker.file(rule)
        with tempfile.NamedTemporaryFile("w", suffix=".attn") as file:
            file.write(text)
            file.flush()
            flags = (walk + " --no-merge --dtype float64").split()
            wrong = check(program, flags, rule, maker, file.name)
        if wrong:
            failed += 1
            print(f"{number}: {walk}\n{text}" + "".join(f"    {line}\n" for line in wrong))
    print(f"{failed} of {count} recurrences fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

#!/usr/bin/python3
"""Computes every answer of the tour, and every number in its prose, with PyTorch and NumPy.

    tests/check_tour.py [PROGRAM]

The program only writes its pages and answers (`tour -o FILE.md`). Here PyTorch numbers the words, draws
the tables and computes the steps, in float64 after the draws, and reads the trained model from its own
file. A number in the prose without a line below is a failure: a new number needs a line that derives
it. `answers` prints the table of answers for tests/app/tour_test.cpp.
"""

import math
import re
import struct
import subprocess
import sys
import tempfile
import zlib

from oracles import torch
import check_examples
from check_stories import MODELS, Stories

SENTENCE = "life is short eat dessert first"


def softmax(scores, axis=-1):
    return torch.softmax(scores, axis)


class Walk:
    """Computes attention over words, or over a drawn x, step by step."""

    def __init__(self, *texts, heads=1, memory=None, causal=False, positions=None):
        torch.manual_seed(42)
        width = 4 * heads
        self.x = self.words(texts or (SENTENCE,), width)
        source = self.words((memory,), width) if memory else self.x
        draw = lambda: torch.nn.Linear(width, width, bias=False).weight.data.double()
        self.w_query, self.w_key, self.w_value = draw(), draw(), draw()
        split = lambda rows: rows.unflatten(-1, (heads, 4)).transpose(-3, -2).squeeze(-3)
        self.query = split(self.x @ self.w_query.T)
        self.key = split(source @ self.w_key.T)
        self.value = split(source @ self.w_value.T)
        turned = lambda rows: rows if positions is None else self.turned(rows, positions)
        self.scores = turned(self.query) @ turned(self.key).transpose(-2, -1)
        self.scaled = self.scores / math.sqrt(4)
        if causal:
            self.scaled = self.scaled.masked_fill(torch.ones_like(self.scaled).triu(1) > 0, -math.inf)
        self.weights = softmax(self.scaled)
        self.context = self.weights @ self.value
        if heads > 1:
            self.merged = self.context.transpose(-3, -2).flatten(-2)
            self.output = self.merged @ draw().T

    @staticmethod
    def words(texts, width):
        generator = lambda word: torch.Generator().manual_seed(zlib.crc32(f"42 {word}".encode()))
        vector = lambda word: torch.randn(width, generator=generator(word)).double()
        rows = torch.stack([torch.stack([vector(word) for word in text.lower().split()]) for text in texts])
        return rows if len(texts) > 1 else rows[0]

    @staticmethod
    def turned(rows, positions):
        angle = torch.tensor(positions).double()[:, None] * 10000.0 ** (-torch.arange(0, 4, 2).double() / 4)
        a, b = rows[..., :2], rows[..., 2:]
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


class Example:
    """Computes an example of data/examples from its file."""

    def __init__(self, name):
        tables, _, flags = check_examples.read(check_examples.EXAMPLES / f"{name}.txt")
        self.words, x = tables["x"]
        weights, context = check_examples.walk(tables, flags)
        self.weights, self.context = torch.tensor(weights), torch.tensor(context)
        self.query, self.key = (torch.tensor(x @ tables[part][1].T) for part in ("w_query", "w_key"))
        self.scores = self.query @ self.key.T
        self.asks = tables["w_query"][0]

    def best(self, row):
        return self.words[int(row.argmax())]


def drawn(tokens, features):
    """Query, key and value without a projection."""
    torch.manual_seed(42)
    return [torch.randn(tokens, features).double() for _ in range(3)]


def state_of_retention(walk):
    """Returns the state after each word, for one head that keeps 31/32 of it."""
    state, states = torch.zeros(4, 4).double(), []
    for key, value in zip(walk.key, walk.value):
        state = state * 31 / 32 + key[:, None] * value[None, :]
        states.append(state)
    return torch.stack(states)


class Trained:
    """The model of stories in float64, with a trainable first layer."""

    LEARNS = ("wq", "wk", "wv", "wo")

    def __init__(self):
        self.file = Stories()
        self.first = {name: torch.tensor(getattr(self.file, name)[0]).requires_grad_() for name in self.LEARNS}
        data, place, self.scores = (MODELS / "tok512.bin").read_bytes(), 4, []
        for _ in self.file.pieces:
            score, size = struct.unpack_from("<fi", data, place)
            self.scores.append(score)
            place += 8 + size

    def ids(self, text):
        """Merges pairs of neighbours to tokens, the best pair first."""
        pieces = self.file.pieces
        ids = [pieces.index(letter) for letter in " " + text]
        while True:
            pairs = [pieces[a] + pieces[b] for a, b in zip(ids, ids[1:])]
            known = [(self.scores[pieces.index(pair)], -i, pieces.index(pair)) for i, pair in enumerate(pairs) if pair in pieces]
            if not known:
                return [1] + ids
            _, at, best = max(known)
            ids[-at:2 - at] = [best]

    def forward(self, ids):
        """Returns the x and the weights of each layer, and the logits after the last token."""
        of = self.file
        tensor = lambda name, n: self.first[name] if n == 0 and name in self.first else torch.tensor(getattr(of, name)[n])
        rms = lambda x, gain: x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * torch.tensor(gain)
        d, count = of.head_dim, len(ids)
        angle = torch.arange(count).double()[:, None] * 1e4 ** (-torch.arange(0, d, 2).double() / d)

        def turned(rows):
            a, b = rows[..., 0::2], rows[..., 1::2]
            return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)

        x, xs, all_weights = torch.tensor(of.embedding)[ids], [], []
        for n in range(of.layers):
            xs.append(x)
            y = rms(x, of.attention_norm[n])
            split = lambda name: (y @ tensor(name, n).T).reshape(count, -1, d).transpose(0, 1)
            shared = lambda rows: rows.repeat_interleave(of.heads // of.kv_heads, 0)
            scores = turned(split("wq")) @ shared(turned(split("wk"))).transpose(1, 2) / math.sqrt(d)
            weights = softmax(scores.masked_fill(torch.ones(count, count).triu(1) > 0, -math.inf))
            all_weights.append(weights)
            x = x + (weights @ shared(split("wv"))).transpose(0, 1).reshape(count, -1) @ tensor("wo", n).T
            y = rms(x, of.mlp_norm[n])
            inner = torch.nn.functional.silu(y @ tensor("w1", n).T) * (y @ tensor("w3", n).T)
            x = x + inner @ tensor("w2", n).T
        return xs, all_weights, (rms(x, of.norm) @ torch.tensor(of.embedding).T)[-1]

    def loss(self, text, word):
        return -torch.log_softmax(self.forward(self.ids(text))[2], -1)[self.file.pieces.index(word)]

    def learned(self, text, word, rate):
        """Returns the loss after one step, and the first layer's parameters then."""
        before = self.loss(text, word)
        gradients = torch.autograd.grad(before, list(self.first.values()))
        changed = {name: (old - rate * d).detach() for (name, old), d in zip(self.first.items(), gradients)}
        kept, self.first = self.first, changed
        after = self.loss(text, word)
        self.first = kept
        return before.item(), after.item(), changed


def parallel_retention(walk):
    """The context of the same head with a weight for each pair of words."""
    distance = torch.arange(6)[:, None] - torch.arange(6)[None, :]
    return (walk.scaled * (31 / 32) ** distance.double()).tril() @ walk.value


def word_of(row, text=SENTENCE, most=True):
    return text.split()[int(row.argmax() if most else row.argmin())]


def second_engine():
    """Returns the answers in order, and for each page its numbers in prose, each with its truth, and other claims."""
    one, two = Walk(), Walk(heads=2)
    dog, heads = Example("adjective"), Example("heads")
    alike = torch.tensor(check_examples.read(check_examples.EXAMPLES / "alike.txt")[0]["x"][1]).double()
    finds = softmax(alike @ alike.T)[1]
    mirror = dog.query @ dog.query.T
    banks = Walk("the river bank", "the money bank")
    causal = Walk(causal=True)
    cross = Walk("the black cat", memory="le chat noir dort")
    dogs = [Walk("dog bites dog", positions=p) for p in (None, [0, 1, 2], [7, 8, 9])]
    scaled = one.scaled.clone().requires_grad_()
    softmax(scaled)[2, 3].backward()
    states, model = state_of_retention(one), Trained()
    size = lambda words: torch.zeros(words, words).numel()
    once = model.forward(model.ids("Once upon a time"))[1][1]
    before, after, _ = model.learned("Lily likes to", " play", 0.01)
    deviation = lambda words, features: (drawn(words, features)[0] @ drawn(words, features)[1].T).std(unbiased=False).item()
    spread = lambda features: deviation(300, features)
    answers = [
        banks.context[1, 0, 0], one.x[3, 0], (softmax(alike @ alike.T) @ alike)[0, 0], dog.query[3, dog.asks.index("noun")], dog.best(dog.scores[0]), mirror[3, 0],
        softmax(torch.ones(4))[0], math.sqrt(256), math.sqrt(16), dog.best(dog.weights[0, 3]), heads.best(heads.weights[1, 2]),
        two.output[3, 7], int((causal.weights[3] > 0).sum()),
        word_of(cross.weights[2], "le chat noir dort"), dogs[2].weights[0, 0], size(64) / size(16),
        torch.zeros(8, 2).numel() / torch.zeros(2, 2).numel(), states[4, 0, 0],
        word_of(once[3, 3], "<s> Once upon a time"), model.forward(model.ids("Tom and"))[0][1][-1, 0],
        softmax(dog.scores * 0.25)[2, 1], model.learned("Lily likes to", " play", 0.02)[2]["wv"][0, 0], word_of(scaled.grad[2], most=False),
        softmax(one.scaled, 0)[0].sum(), one.value[3, 0]]
    of_six = [(said, f"{deviation(6, width):.3g}" == said) for said, width in (("2.27", 4), ("7.42", 64), ("39.6", 1024))]
    # A number that is only an input, or counts items of its own sentence, has no computation.
    hidden_first = softmax(drawn(4, 64)[0] @ drawn(4, 64)[1].T)[0]
    prose = {
        0: [("Twenty-five", len(answers) == 25)],
        1: [("two", len(banks.x) == 2 and torch.equal(*banks.x[:, 2]) and torch.equal(*banks.x[:, 0])
             and not torch.allclose(*banks.context[:, 2], atol=1e-2))],
        3: ["two"],
        4: ["Three", "three", "11", "three"],
        5: ["two", "two", ("five", len(dog.scores[0]) == 5)],
        7: [("0", bool((one.weights >= 0).all())), ("1", torch.allclose(one.weights.sum(-1), torch.ones(6).double())), "four"],
        8: ["64", "64", ("8", abs(spread(64) / spread(1) - 8) < 0.8 and bool(hidden_first.max() > 0.9999)),
            ("64", abs(spread(64) / 8 - 1) < 0.1 and abs(spread(16) / 4 - 1) < 0.1), "256"],
        9: [(str(root), abs(spread(width) / root - 1) < 0.1) for root, width in ((2, 4), (8, 64), (32, 1024))]
        + ["4", "64", "1,024", ("six", len(of_six) == 3)] + of_six + [("1", all(abs(spread(width) / math.sqrt(width) - 1) < 0.1 for width in (4, 64, 1024))), "16"],
        11: [("two", len(heads.weights) == 2), ("two", len({heads.best(head[2]) for head in heads.weights}) == 2)],
        12: ["0", ("3", torch.equal(two.merged[:, :4], two.context[0])), "4", ("7", torch.equal(two.merged[:, 4:], two.context[1])), "2"],
        13: [("0", bool((causal.weights[2, 3:] == 0).all() and (causal.weights[2, :3] > one.weights[2, :3]).all())),
             ("1", abs(causal.weights[2].sum() - 1) < 1e-12)],
        16: [("four", size(6) == 4 * size(3)), "3", ("9", size(3) == 9), "6", ("36", size(6) == 36), "16", "64"],
        17: ["4", "2", "4", "2", "three"],
        19: [("five", model.file.layers == 5), ("8", model.file.heads == 8), "0", "3", "1"],
        20: ["1"],
        21: ["1", "1", "0"],
        22: ["0", "0.01", ("32", round(100 * math.exp(-before)) == 32), ("66", round(100 * math.exp(-after)) == 66), "four"],
        23: [("0", abs(scaled.grad[2].sum()) < 1e-12 and int((scaled.grad[2] > 0).sum()) == 1), "0", "1", "0"],
        25: ["0", "0"],
    }
    said = {
        "page 3: 'cat' gives most to itself and to 'mouse'": finds.argsort(descending=True)[:2].tolist() == [1, 5],
        "page 21: the scale halves the scores once more": dog.query.shape[-1] == 4,
        "page 6: 'dog' looks at 'big', 'big' does not look back": dog.scores[2, 1] > 0 == dog.scores[1, 2],
        "page 6: with one vector for both the table is symmetric": torch.equal(mirror, mirror.T),
        "page 10: the context of 'dog' is nearly the size of 'big'": abs(dog.context[0, 2, 0] - 3) < 0.25,
        "page 15: both dogs have the same row and column": torch.equal(dogs[0].weights[0], dogs[0].weights[2])
        and torch.equal(dogs[0].weights[:, 0], dogs[0].weights[:, 2]),
        "page 15: only distances count": torch.allclose(dogs[1].weights, dogs[2].weights),
        "page 18: both forms make one context": torch.allclose(states[3].T @ one.query[3] / 2, parallel_retention(one)[3]),
        "page 19: each token looks at the one before it": all(int(once[3, q].argmax()) == q - 1 for q in range(2, 5)),
    }
    return [answer if isinstance(answer, str) else float(answer) for answer in answers], prose, said


NUMBERS = re.compile(r"(?<![\w.-])(?:\d+(?:[.,]\d+)?|twenty-five|two|three|four|five|six|seven|eight)(?![\w-])", re.I)


def numbers_in(page):
    """Returns the numbers of the prose, without commands and their output."""
    prose = re.sub(r"```.*?```", "", page, flags=re.S)
    return NUMBERS.findall(re.sub(r"`[^`]*`", "", prose).split("\n", 1)[1])


def faults(pages, printed):
    answers, prose, said = second_engine()
    for number, (ours, told) in enumerate(zip(answers, printed), 1):
        same = ours == told.strip("'") if isinstance(ours, str) else abs(ours - float(told)) < 6e-5
        if not same:
            yield f"page {number}: the answer is {ours}, not {told}"
    for number, page in enumerate(pages):
        claims = [(claim, True) if isinstance(claim, str) else claim for claim in prose.get(number, [])]
        if [word for word, _ in claims] != numbers_in(page):
            yield f"page {number}: its numbers are {numbers_in(page)}, not {[word for word, _ in claims]}"
        yield from (f"page {number}: {word} is not so" for word, is_so in claims if not is_so)
    yield from (f"{claim}: not so" for claim, is_so in said.items() if not is_so)


def main():
    if sys.argv[1:] == ["answers"]:
        for answer in second_engine()[0]:
            print(answer if isinstance(answer, str) else f"{answer:.4f}")
        return 0
    program = sys.argv[1] if len(sys.argv) > 1 else "build/dev/app/attn-explain"
    with tempfile.NamedTemporaryFile(suffix=".md") as file:
        subprocess.run([program, "tour", "-o", file.name], check=True)
        document = open(file.name).read()
    pages = re.split(r"^## ", document.split("\n## Answers")[0], flags=re.M)
    printed = re.findall(r"^\d+\. (\S+)", document.split("\n## Answers")[1], flags=re.M)
    assert len(printed) == 25 and len(pages) == 26, "pages and answers"
    found = list(faults(pages, printed))
    print("\n".join(found) or f"{len(printed)} answers and all numbers in the prose of {len(pages) - 1} pages are right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

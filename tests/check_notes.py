#!/usr/bin/python3
"""Recomputes the statements of notes on walks from the numbers next to them, with NumPy alone.

    tests/check_notes.py PROGRAM

Reads each walk as JSON. Every sentence that names a number, a token or a fact about rows is matched
with the list below and recomputed; the last line counts them by kind.
"""

import json
import re
import shlex
import subprocess
import sys

import numpy as np

WALKS = """
--heads 2
--heads 2 --mask causal --output-projection
--text 'the cat sat on the mat' --heads 2 --mask causal
--ids 0,0,1 --pad-id 0 --mask padding,causal
--ids 0,0,1 --pad-id 0 --mask padding,causal --empty-row zero
--ids 0,0,1 --pad-id 0 --mask padding,causal --sink zero
--ids 0,0,0,1 --pad-id 0 --mask padding,causal --sink randn --heads 2
--ids '1,2,0,0;1,2,3,4' --pad-id 0 --mask padding --heads 2
--ids '1,2,0,0;0,0,3,4' --pad-id 0 --mask padding,causal --heads 2
--batch 2 --seq-len 3 --lengths 3,0 --mask padding
--batch 2 --seq-len 3 --lengths 0,3 --mask padding --heads 2
--batch 2 --seq-len 3 --lengths 0,3 --mask padding --heads 2 --empty-row zero
--batch 2 --seq-len 3 --lengths 2,0 --mask padding --sink randn
--batch 2 --seq-len 5 --lengths 5,5 --mask padding,causal --heads 2
--batch 3 --seq-len 4 --lengths 4,2,4 --mask padding,window:2,causal
--seq-len 5 --mask window:9,causal
--seq-len 5 --mask window:2,causal
--seq-len 5 --mask window:1,causal
--seq-len 5 --mask window:1
--seq-len 5 --mask window:3 --heads 2
--seq-len 5 --mask chunk:2
--seq-len 5 --mask chunk:9,causal
--seq-len 7 --mask chunk:3,causal,window:2
--seq-len 6 --mask prefix:3
--seq-len 6 --mask prefix:9
--seq-len 9 --mask documents:3+4+2
--seq-len 9 --mask documents:9,causal
--seq-len 3 --sink zero
--seq-len 4 --sink randn --heads 3 --mask causal
--seq-len 4 --sink zero --heads 2 --mask window:2,causal
--preset mistral
--preset llama3
--preset gpt-oss
--preset gemma2
--preset olmo2
--preset bert
--preset t5
--preset phi3
--preset deepseek
--preset gpt2
--mla 8 --heads 2 --mask causal
--mla 8 --heads 2 --mask causal --mla-absorbed
--differential --heads 2
--differential 3 --heads 2 --mask causal --batch 2 --seq-len 4
--past 3 --mask causal --seq-len 3 --heads 2 --rope half
--past 3 --seq-len 2 --mask window:2,causal
--prefill 2 --mask causal --seq-len 5 --heads 2
--position-bias alibi --heads 3 --mask causal
--position-bias t5:8:16 --heads 2 --mask causal --seq-len 7
--memory-len 3 --heads 2
--text 'a b c' --memory-text 'x y z w v' --mask causal
--text 'a b c' --memory-text 'x y z w v' --mask causal --causal-align end
--text 'a b c d e f' --memory-text 'x y z' --mask causal --causal-align end
--memory-ids 1,0,2,0 --mask padding --ids 1,2,3 --pad-id 0
--softmax-axis query
--softmax-axis query --mask causal --heads 2
--softmax-axis head --heads 3 --mask causal
--softmax-axis batch --batch 3 --seq-len 2 --mask causal
--softmax-axis query --lengths 2,0 --batch 2 --seq-len 3 --mask padding
--heads 4 --kv-heads 2 --rope interleaved --mask causal
--qk-norm l2 --scale 8 --heads 2
--softcap 0.1 --heads 2
--scale 0
--scale -2
--scale 60
--scale 1e38
--projection none
--projection mha --embed-dim 8 --heads 2
--seq-len 1
--seq-len 1 --sink zero
--random rand --seq-len 3 --embed-dim 1
--text 'a a a b' --mask causal
--text 'same same same same' --heads 2
--model-file stories --text 'Once upon a time' --layer 0
--model-file stories --text 'Once upon a time there was a girl' --layer 4
--model-file tests/models/fixtures/gpt2 --ids 2,1,0
--ids '1,2;3,4' --memory-len 3
--text 'x y' --text 'x y z' --mask padding,window:1
--dtype float64 --heads 2 --mask causal
--rng numpy --heads 2 --mask causal
""".strip().split(
    "\n"
)

NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?|nan)"
CHAINS = {"scores": ["scores", "scaled_scores", "capped_scores", "biased_scores", "masked_scores"]}


def array(step):
    words = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
    flat = lambda a: [flat(b) for b in a] if isinstance(a, list) else words.get(a, a)
    return np.array(flat(step["data"]), dtype=float)


def near(said, value):
    """True if a number is the value as printed: four decimals or four digits."""
    said = float(said)
    if np.isnan(said) or np.isnan(value):
        return np.isnan(said) and np.isnan(value)
    return abs(said - value) <= max(
        0.51e-4,
        0.51e-3 * abs(value) if abs(value) < 1e-3 else 0,
        1e-3 * abs(value) if abs(value) >= 1e6 else 0,
    )


class Walk:
    def __init__(self, answer):
        self.config = answer["config"]
        self.steps = {step["name"]: step for step in answer["steps"]}
        self.order = list(self.steps)
        self.past = int(self.config.get("past") or 0)

    def has(self, name):
        return name in self.steps

    def matrices(self, name):
        """Returns the tensor as (matrices, rows, columns), and the indices of its outer axes."""
        step = self.steps[name]
        whole = array(step)
        rows = whole.reshape((-1,) + whole.shape[-2:]) if whole.ndim > 1 else whole[None, None]
        return rows

    def before(self, name, chain):
        mine = [step for step in chain if self.has(step)]
        return mine[mine.index(name) - 1]

    def latest_scores(self):
        return [step for step in CHAINS["scores"] if self.has(step)][-1]

    def group(self, name, sentence):
        """Returns the matrix named by `in sequence 1, head 0`; the first one without these words."""
        step = self.steps[name]
        front = list(zip(step["axes"], step["shape"]))[:-2]
        place = 0
        for axis, length in front:
            word = "sequence" if axis == "batch" else axis
            found = re.search(rf"\b{word} (\d+)", sentence)
            place = place * length + (int(found.group(1)) if found else 0)
        return place


def check(walk, name, sentence):
    """Returns True or False for a known sentence, None for others."""
    step = walk.steps[name]
    scores = walk.matrices(walk.latest_scores()) if walk.has("scores") else None

    def said(pattern):
        return re.fullmatch(pattern, sentence)

    where = r"(?: in (?:(?:sequence|head) \d+(?:, )?)+)?"
    start = r"(?:In (?:(?:sequence|head) \d+, )+)?"
    g = walk.group(name, sentence) if len(step["shape"]) >= 2 else 0

    if m := said(rf"{start}.+ has the longest (?:query|key) \({NUMBER}\): .*"):
        lengths = np.sqrt((walk.matrices(name)[g] ** 2).sum(-1))
        return near(m[1], lengths.max()) and (lengths > lengths.max() * (1 - 1e-9)).sum() == 1
    if m := said(rf"The (?:largest|only score){where} is {NUMBER}(?::|, first at) .*"):
        found = walk.matrices(name)[g]
        return near(m[1], np.nanmax(np.where(np.isneginf(found), np.nan, found)))
    if m := said(rf"The largest{where} goes from {NUMBER} to {NUMBER}\."):
        before = walk.matrices(walk.before(name, CHAINS["scores"]))[g]
        after = walk.matrices(name)[g]
        place = np.nanargmax(before)
        return near(m[1], before.flat[place]) and near(m[2], after.flat[place])
    if m := said(rf"The largest score left{where} is {NUMBER}(?::|, first at) .*"):
        return near(m[1], walk.matrices(name)[g][~np.isneginf(walk.matrices(name)[g])].max())
    if m := said(
        rf"(Among queries with a choice, t|T)he largest weight{where} is {NUMBER}: .* attends "
        rf"most to .*?(?: and equally to (\d+) others?)?(?: \(an even share would be "
        rf"{NUMBER}\))?\."
    ):
        weights, seen = walk.matrices(name)[g], ~np.isneginf(scores[g])
        choice = [
            q
            for q in range(len(weights))
            if seen[q].sum() > 1
            and not np.isnan(weights[q]).any()
            and np.ptp(weights[q][seen[q]]) > 1e-6
        ]
        best = max(choice, key=lambda q: weights[q].max())
        forced = any(seen[q].sum() == 1 for q in range(len(weights)))
        return (
            near(m[2], weights[best].max())
            and forced == m[1].startswith("Among")
            and (m[4] is None or near(m[4], 1 / seen[best].sum()))
        )
    if m := said(rf"The largest weight{where} is {NUMBER}(?::|, first at) .* to .*\."):
        return near(m[1], np.nanmax(walk.matrices(name)[g]))
    if m := said(rf"(?:The largest of all is |Elsewhere the largest weight is ){NUMBER}: .*\."):
        weights = walk.matrices(name)
        several = np.where((~np.isneginf(scores)).sum(-1, keepdims=True) > 1, weights, np.nan)
        return near(m[1], np.nanmax(several)) and near(m[1], np.nanmax(several[g]))
    if m := said(rf"{start}[Tt]he largest share is {NUMBER}: .+ takes it from .*\."):
        weights = walk.matrices([n for n in ("differential_weights", "weights") if walk.has(n)][0])
        seen = ~np.isneginf(scores[0])
        several = [
            np.ptp(row[see]) > 1e-6 if see.sum() > 1 else False
            for row, see in zip(weights[0], seen)
        ]
        return near(m[1], np.nanmax(weights[0][several]))
    if m := said(
        r"(Each row|The row)( that sees a key| without nan)? sums to (1|less than 1|1 at most)"
        rf"(?:: it shows how .*|\.|, because the sink takes the rest: that of .* sums to {NUMBER}\.)"
    ):
        weights = walk.matrices(name)
        rows = weights.reshape(-1, weights.shape[-1])
        seen = (~np.isneginf(scores)).sum(-1).reshape(-1)
        if m[2] == " that sees a key":
            rows = rows[seen > 0]
        if m[2] == " without nan":
            rows = rows[~np.isnan(rows).any(-1)]
        sums = rows.sum(-1)
        if m[3] == "1":
            return bool(len(rows)) and bool(np.all(np.abs(sums - 1) < 1e-5))
        return bool(np.all(sums <= 1 + 1e-5)) and (m[3] != "less than 1" or bool(np.all(sums < 1)))
    if m := said(
        r"Each row( of a query that sees a key| of a query without nan)? is an average of .*"
    ):
        weights = walk.matrices("weights")
        rows = weights.reshape(-1, weights.shape[-1])
        seen = (~np.isneginf(scores)).sum(-1).reshape(-1)
        rows = rows[seen > 0] if m[1] else rows
        return bool(np.all(np.abs(rows.sum(-1) - 1) < 1e-5))
    if m := said(
        rf"The exponentials of each .* add up to a number from 1, if one score dominates, to (the "
        rf"number of cells that are not hidden|\d+), if all are equal\."
    ):
        axis = step_axis(walk)
        whole = array(walk.steps[walk.latest_scores()])
        visible = (~np.isneginf(whole)).sum(axis)
        known = ~np.isnan(array(step))
        sums = array(step)[known]
        room = 1 if walk.has("sink") else 0
        most = visible if m[1].startswith("the") else int(m[1])
        return (
            bool(np.all(visible <= most))
            and bool(np.all(sums >= 1 - 1e-5))
            and bool(np.all(array(step)[known] <= (most + room + 1e-4 + 0 * visible)[known]))
            and (m[1].startswith("the") or visible.min() == visible.max() == most)
        )
    if m := said(r"True means hidden: (\d+) of (\d+) cells(?:, (.*))?\."):
        mask = array(step)
        return (
            mask.sum() == int(m[1]) and mask.size == int(m[2]) and reasons(walk, mask, m[3] or "")
        )
    if said(r"Nothing is hidden: every query may see every key\."):
        return array(step).sum() == 0
    if m := said(rf"{start}(.+?) sees? (.+)\.") if name == "mask" else None:
        return sees(walk, g, sentence)
    if m := said(rf"(.+) sees? no key(.*)\."):
        hidden = np.isneginf(scores[0]).all(-1)
        rest = m[2]
        others = re.search(r"and (\d+) other", m[1])
        count = 1 + (int(others[1]) if others else 0)
        outcome = walk.matrices("weights")[0][hidden]
        good = {
            ": the sink": walk.has("sink") and bool(np.all(outcome == 0)),
            ": the weig": walk.config["empty_row"] == "zero" and not walk.has("sink"),
            ": such a r": walk.config["empty_row"] == "zero" and not walk.has("sink"),
            ": softmax ": bool(np.all(np.isnan(outcome))),
            ": all its ": bool(np.all(np.isnan(outcome))),
        }[rest[:10]]
        return hidden.sum() == count and good
    if m := said(r"(.+) sees? only .+, so that weight is 1\."):
        return bool(((~np.isneginf(scores[0])).sum(-1) == 1).sum() == 1)
    if m := said(r"(.+) and (\d+) others? see a single key each: that weight is 1\."):
        return bool(((~np.isneginf(scores[0])).sum(-1) == 1).sum() == int(m[2]) + 1)
    if m := said(rf"It takes most{where} from .*: {NUMBER}\."):
        return near(m[1], array(step).reshape(-1, array(step).shape[-1])[0].max())
    if m := said(r"(\d+) of the (\d+) positions? holds? padding .*"):
        ids = array(step)
        return (ids == int(walk.config["input"]["pad_id"])).sum() == int(m[1]) and ids.size == int(
            m[2]
        )
    if said(r"It is -inf if every cell is hidden\."):
        return bool(np.isneginf(array(step)).any())
    if said(r"A nan among them makes the sum nan\."):
        return bool(np.isnan(array(step)).any())
    if m := said(rf"Every score is (divided|multiplied) by {NUMBER}.*"):
        before = walk.matrices(walk.before(name, CHAINS["scores"]))
        factor = 1 / float(m[2]) if m[1] == "divided" else float(m[2])
        return bool(np.allclose(walk.matrices(name), before * factor, rtol=1e-3, equal_nan=True))
    return None


def step_axis(walk):
    axes = walk.steps[walk.latest_scores()]["axes"]
    return axes.index(walk.config["softmax_axis"])


def reasons(walk, mask, text):
    """True if each named kind hides a cell, and each kind that hides one is named."""
    named = {
        "causal": r"come after the query|come later|later keys",
        "window": r"back\b|window",
        "chunk": "chunk",
        "documents": "document",
        "padding": "padding",
    }
    queries, keys = walk.matrices(walk.latest_scores()).shape[-2:]
    start = keys - queries if walk.config["causal_align"] == "end" or walk.past else 0
    place = np.arange(queries)[:, None] + start
    key = np.arange(keys)[None, :]
    for word in walk.config["mask"].split(","):
        kind, _, number = word.partition(":")
        hides = {
            "causal": lambda: key > place,
            "window": lambda: place - key >= int(number),
            "chunk": lambda: key // int(number) != place // int(number),
        }.get(kind)
        if hides is not None and bool(hides().any()) != bool(re.search(named[kind], text)):
            return False
    return True


def sees(walk, group, sentence):
    """The counts in `'a' sees only itself, 'b' sees 2 of the 5 keys` are the minimum and the maximum."""
    mask = walk.matrices("mask")
    keys = walk.matrices(walk.latest_scores()).shape[-1]
    visible = keys - np.broadcast_to(mask[group], mask[group].shape[:-1] + (keys,)).sum(-1)
    counts = []
    for part in re.findall(
        r" sees (no key|only|a single|all \d+|\d+ of the \d+|itself|'|id|position|" r"memory)",
        sentence,
    ):
        number = re.match(r"(?:all )?(\d+)", part)
        counts.append(int(number[1]) if number else 0 if part == "no key" else 1)
    return bool(counts) and min(counts) == visible.min() and max(counts) == visible.max()


def main():
    program = sys.argv[1]
    kinds, false, unknown = {}, [], {}
    for flags in WALKS:
        run = subprocess.run(
            [program, *shlex.split(flags), "--format", "json"], capture_output=True, text=True
        )
        if run.returncode != 0:
            sys.exit(f"{flags}: {run.stderr}")
        walk = Walk(json.loads(run.stdout))
        for name in walk.order:
            note = walk.steps[name].get("note") or ""
            for sentence in re.split(r"(?<=\.)\s+(?=[A-Z'\d])", note):
                if not sentence:
                    continue
                shape = re.sub(r"'[^']*'", "W", re.sub(NUMBER, "#", sentence))
                try:
                    true = check(walk, name, sentence)
                except Exception as error:  # a sentence in an unexpected form
                    true = False
                    sentence += f" ({error!r})"
                if true is None:
                    unknown[shape] = (name, sentence)
                    continue
                kinds[name] = kinds.get(name, 0) + 1
                if not true:
                    false.append(f"{flags} | {name} | {sentence}")
    if "-v" in sys.argv:
        for name, sentence in unknown.values():
            print("not checked:", name, "|", sentence)
    for line in false:
        print("FALSE:", line)
    print(
        f"{sum(kinds.values())} sentences of {len(WALKS)} walks recomputed: {len(false)} false; "
        + ", ".join(f"{name} {count}" for name, count in sorted(kinds.items()))
    )
    sys.exit(bool(false))


main()

#!/usr/bin/python3
"""Compares the rule of every mistake with its numbers, as check_step_rules.py does for right walks.

    tests/check_mistake_rules.py [PROGRAM] [OLDER_PROGRAM]

Makes every mistake in the walks where it can show. Each step with a rule in the JSON must follow from
the tensors before it, to 1e-9. With a second program, both must print the same numbers.
"""

import json
import shlex
import subprocess
import sys

import check_step_rules as rules

OLDER = sys.argv[2] if len(sys.argv) > 2 else None

WALKS = """
--heads 2 --batch 2 --mask causal --bias --output-projection --output-bias --text 'a b c d|d c b a'
--heads 4 --kv-heads 2 --rope half --output-projection --head-dim 4 --embed-dim 16
--heads 8 --kv-heads 4 --embed-dim 8 --head-dim 2 --projection fused --seq-len 3
--heads 2 --rope interleaved --rotary-dim 2 --mask window:2,causal --past 3 --seq-len 3 --positions 3,4,5
--heads 2 --rope half --rotary-dim 2 --seq-len 4
--heads 3 --position-bias alibi --scale 0.3
--heads 2 --position-bias alibi --mask causal --softcap 2
--heads 2 --position-bias t5 --scale none --seq-len 5
--heads 2 --sink zero --mask causal --seq-len 4 --batch 2
--heads 4 --kv-heads 2 --sink randn --softcap 5 --seq-len 3
--sink randn --seq-len 3
--weights-by sigmoid --heads 2 --mask causal --seq-len 3
--heads 2 --projection fused --bias --seq-len 4
--heads 2 --projection fused-by-head --bias --seq-len 3
--heads 2 --projection stacked --bias --seq-len 3
--heads 2 --memory-len 3 --output-projection --seq-len 3
--heads 2 --memory-len 3 --rope half --projection mha --bias --seq-len 3
--heads 2 --weight-layout in-out --output-projection --seq-len 3
--heads 2 --qk-norm all --seq-len 3 --rope half
--heads 2 --qk-norm head --seq-len 3 --rope half --positions 2,3,4
--position-embedding sinusoidal --embed-dim 5 --head-dim 4 --seq-len 4
--position-embedding learned --positions 1,2,3 --seq-len 3
--rope half --rope-scaling yarn:32:4096 --head-dim 8 --seq-len 3
--mask chunk:2,causal --seq-len 5
--mask prefix:2 --seq-len 4
--mask documents:2+4 --heads 2
--lengths 3,4 --batch 2 --mask padding,causal --heads 2 --output-projection
--lengths 3,4 --batch 2 --mask padding --heads 2
--mla 3 --heads 2 --rope interleaved --seq-len 3
--mla 3 --mla-query-rank 2 --heads 2 --rope half --mla-absorbed --seq-len 3
--differential --heads 4 --seq-len 3
--dropout 0.2 --heads 2 --seq-len 3 --mask causal
--preset gpt-oss --heads 4 --kv-heads 2 --embed-dim 16 --seq-len 4
--preset gemma2 --heads 4 --kv-heads 2 --embed-dim 16 --seq-len 4
"""


def run(program, arguments):
    made = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return made.stdout, made.stderr


def catalogue():
    ids = [each["id"] for each in json.loads(run(rules.PROGRAM, ["bugs", "--json"])[0])]
    harmless = run(rules.PROGRAM, ["bugs"])[0].split("harmless differences")[1]
    return ids + [line.split()[0] for line in harmless.splitlines() if line.startswith("  ")]


def same(one, other):
    """Returns the steps whose numbers differ."""
    wrong = []
    for a, b in zip(one["steps"], other["steps"]):
        if a["name"] != b["name"] or a["shape"] != b["shape"]:
            return wrong + [f"{a['name']} {a['shape']} is {b['name']} {b['shape']}"]
        for (at, x), (_, y) in zip(rules.cells(a["data"]), rules.cells(b["data"])):
            if not rules.close(x, y):
                wrong.append(f"{a['name']} {at}: {x} is {y}")
                break
    return wrong


def main():
    failed = checked = made = 0
    shown, silent = set(), set()
    for walk in WALKS.strip().splitlines():
        for mistake in catalogue():
            flags = [*shlex.split(walk), "--detail", "--dtype", "float64", "--format", "json"]
            flags += ["--backward"] * mistake.startswith("grad-")
            text, error = run(rules.PROGRAM, [*flags, "--bug", mistake])
            if not text:
                if "has no effect here" not in error and "it is a way to write" not in error:
                    print(f"{walk} --bug {mistake}\n    {error.strip()}")
                    failed += 1
                continue
            made += 1
            shown.add(mistake)
            document = json.loads(text)
            faults = []
            tensors = {}
            for step in document["steps"]:
                if "rule" in step:
                    checked += 1
                    fault = rules.fault_of(step, tensors)
                    if fault:
                        faults.append(fault)
                elif rules.must_have_rule(step["name"]):
                    silent.add(mistake)
                tensors[step["name"]] = step
            if OLDER:
                older = run(OLDER, [*flags, "--bug", mistake])[0]
                faults += ["other numbers: " + each for each in same(document, json.loads(older))] \
                    if older else ["the older program does not make it"]
            for fault in faults:
                print(f"{walk} --bug {mistake}\n    {fault[:600]}")
            failed += len(faults)
    print(f"{made} walks with one of {len(shown)} mistakes, {checked} rules, {failed} failed; "
          f"without a rule: {' '.join(sorted(silent))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Confirms the answers of the quiz with PyTorch, from the walks in `quiz --json`.

    tests/check_quiz.py [PROGRAM] [COUNT] [SEED]

Computes numbers with PyTorch's own operators in float64 and its autograd, shapes and places with its
views and cats, masks by comparing positions. check_step_rules.py evaluates lines of rules: only the
wrong line does not give PyTorch's numbers, and only the right choice does. For the question which
mistake made the numbers, they must differ from those of the right walk.
"""

import json
import math
import re
import shlex
import subprocess
import sys

import torch

import check_step_rules as rules

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "build/dev/app/attn-explain"
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 300
SEED = sys.argv[3] if len(sys.argv) > 3 else "1"
torch.set_default_dtype(torch.float64)


def flag(flags, name, default):
    return type(default)(flags[flags.index(name) + 1]) if name in flags else default


def hidden(flags, queries, keys):
    """Returns the mask, true for hidden cells; queries come after the past."""
    past = flag(flags, "--past", 0)
    mask = flag(flags, "--mask", "")
    q = torch.arange(queries)[:, None] + past
    k = torch.arange(keys)[None, :]
    number = int((re.findall(r":(\d+)", mask) or [0])[0])
    if "prefix" in mask:
        return (k > q) & (k >= number)
    result = k > q if "causal" in mask else torch.zeros(queries, keys, dtype=torch.bool)
    if "window" in mask:
        result |= q - k >= number
    if "chunk" in mask:
        result |= q // number != k // number
    return result


def written_walk(question, flags):
    """Computes the steps of a walk from its stated query, key and value."""
    steps = {}
    for name, tensor in question["given"].items():
        steps[name] = torch.tensor(tensor["numbers"]).reshape(tensor["shape"]).requires_grad_()
    query, key = steps["query"], steps["key"]
    if "--rope" in flags:
        angle = torch.arange(query.shape[-2])[:, None].double()
        turn = lambda x: torch.cat(
            [
                x[..., :1] * angle.cos() - x[..., 1:] * angle.sin(),
                x[..., :1] * angle.sin() + x[..., 1:] * angle.cos(),
            ],
            -1,
        )
        query, key = turn(query), turn(key)
        steps["rotated_query"] = query
    latest = steps["scores"] = query @ key.transpose(-2, -1)
    if flag(flags, "--scale", "") != "none":
        latest = steps["scaled_scores"] = latest / math.sqrt(query.shape[-1])
    if "--mask" in flags:
        latest = steps["masked_scores"] = latest.masked_fill(
            hidden(flags, *latest.shape[-2:]), -math.inf
        )
    steps["weights"] = torch.softmax(latest, -1)
    steps["context"] = steps["weights"] @ steps["value"]
    if "--backward" in flags:
        for tensor in steps.values():
            tensor.retain_grad()
        steps["context"].sum().backward()
        steps |= {"d_" + name: tensor.grad for name, tensor in steps.items()}
    return steps


def state_of(question):
    """Computes the state of retention's first head from the stated keys and values."""
    key, value = (
        torch.tensor(question["given"][name]["numbers"]).reshape(1, 3, 2)
        for name in ("key", "value")
    )
    states = [torch.zeros(1, 2, 2)]
    for t in range(3):
        states.append(states[-1] * 31 / 32 + key[:, t, :, None] * value[:, t, None, :])
    return {"state": torch.stack(states[1:], 1), "key": key, "value": value}


def is_of_form(question):
    """A recurrence reads its own previous row, chunks use //, a parallel form does neither."""
    lines = "\n".join(question["shown"])
    reads_before = any(
        re.search(rf"\b{line.split('[')[0]}\[[^\]]*t - 1", line.partition(" = ")[2])
        for line in question["shown"]
    )
    form = "recurrent" if reads_before else "chunked" if "//" in lines else "parallel"
    return question["answer"][3:] == form


def shown_text(tensor):
    """Formats numbers as the quiz does."""
    if tensor.dim() > 0:
        return "[" + ", ".join(map(shown_text, tensor)) + "]"
    number = tensor.item()
    whole = lambda n: abs(n - round(n)) < 1e-9
    if not math.isfinite(number):
        return f"{number}"
    if whole(number * 4):
        return f"{round(number * 4) / 4 + 0.0:g}"
    power = math.exp(abs(number))
    if power < 30 and whole(power):
        return f"{'-' if number < 0 else ''}ln {round(power):g}"
    return f"{number:.4g}"


def shape_of(step, flags):
    batch, tokens, width = (
        flag(flags, "--batch", 0),
        flag(flags, "--seq-len", 4),
        flag(flags, "--embed-dim", 0),
    )
    heads, past = flag(flags, "--heads", 1), flag(flags, "--past", 0)
    size = flag(flags, "--head-dim", 0) or width // heads
    x = torch.zeros(batch or 1, tokens, heads * size)
    split = (
        lambda count: x[..., : count * size].view(batch or 1, tokens, count, size).transpose(1, 2)
    )
    query, key = split(heads), split(flag(flags, "--kv-heads", heads))
    present = torch.cat([key[:, :, :1].expand(-1, -1, past, -1), key], 2)
    scores = query @ present.repeat_interleave(heads // key.shape[1], 1).transpose(-2, -1)
    made = {
        "query": query,
        "key": key,
        "present_key": present,
        "scores": scores,
        "weights": scores,
        "context": query,
        "merged": x,
        "output": x,
    }[step]
    return tuple(made.shape if "--batch" in flags else made.shape[1:])


def origin_of(step, cell, flags):
    """Returns the source cell of a cell of merged, repeated_key or present_value, by numbered views."""
    heads, tokens, size = (
        flag(flags, "--heads", 1),
        flag(flags, "--seq-len", 4),
        flag(flags, "--head-dim", 4),
    )
    if step == "merged":
        source = torch.arange(heads * tokens * size).view(heads, tokens, size)
        made = source.transpose(0, 1).reshape(tokens, heads * size)
    elif step == "repeated_key":
        groups = flag(flags, "--kv-heads", 1)
        source = torch.arange(groups * tokens * size).view(groups, tokens, size)
        made = source.repeat_interleave(heads // groups, 0)
    else:
        source = torch.arange(heads * tokens * size).view(heads, tokens, size)
        made = torch.cat([torch.full((heads, flag(flags, "--past", 0), size), -1), source], 1)
    return tuple((source == made[cell]).nonzero()[0].tolist())


def makes_its_step(rule, steps):
    """True if a rule gives PyTorch's numbers."""
    name = rule.split("[")[0]
    tensors = {
        key: {"name": key, "shape": list(tensor.shape), "data": tensor.tolist()}
        for key, tensor in steps.items()
    }
    return rules.fault_of({**tensors[name], "rule": rule}, tensors) is None


def confirm_rule(question, flags, step):
    steps = written_walk(question, flags)
    latest = steps.get("masked_scores", steps["scaled_scores"])
    steps["row_max"] = latest.max(-1).values
    steps["exponentials"] = (latest - steps["row_max"][:, None]).exp()
    steps["row_sum"] = steps["exponentials"].sum(-1)
    steps["mask"] = hidden(flags, *latest.shape)
    if question["choices"]:
        right = [
            each["text"] for each in question["choices"] if makes_its_step(each["text"], steps)
        ]
        return [question["answer"][3:]] == right and right[0].startswith(step + "[")
    wrong = [
        line.split("  ")
        for line in question["shown"]
        if not makes_its_step(line.split("  ")[1], steps)
    ]
    return [question["answer"].split(";")[0]] == [number for number, _ in wrong]


def confirm(question):
    """True if PyTorch gives the same answer."""
    flags = shlex.split(question["flags"])
    step, _, indices = question["cell"].partition("[")
    cell = tuple(int(i) for i in indices.rstrip("]").split(",") if i)
    answer = question["answer"]
    if "Which form of the attention" in question["question"]:
        return is_of_form(question)
    if question["topic"] == "rule":
        return confirm_rule(question, flags, step)
    if question["topic"] == "mistake":
        steps = written_walk(question, flags)
        lines = [
            f"{name} = {shown_text(steps[name])}"
            for name in (
                "query",
                "key",
                "value",
                "scores",
                "scaled_scores",
                "masked_scores",
                "weights",
                "context",
            )
            if name in steps
        ]
        return lines != question["shown"] and lines[:3] == question["shown"][:3]
    if "shape of" in question["question"]:
        return str(shape_of(step, flags)) == answer
    if "Which cell" in question["question"]:
        return (
            str(origin_of(step, cell, flags)).replace(" ", "")
            == "(" + answer.split("[")[1][:-1] + ")"
        )
    if step == "mask":
        text = flag(flags, "--text", "").split()
        queries = len(text) or flag(flags, "--seq-len", 4)
        row = hidden(flags, queries, queries + flag(flags, "--past", 0))[cell[0]]
        wanted = [
            k
            for k, is_hidden in enumerate(row.tolist())
            if is_hidden == ("not see" in question["question"])
        ]
        return wanted == [int(each.split()[0]) for each in answer.split(", ")]
    if step == "angles":
        number = torch.tensor(cell[0] * flag(flags, "--rope-theta", 10000.0) ** (-2 * cell[1] / 4))
    elif step == "state":
        number = state_of(question)[step][cell]
    else:
        number = written_walk(question, flags)[step][cell]
    if question["choices"]:
        return answer[3:] == shown_text(number) and answer in [
            f"{chr(97 + i)}) {each['text']}"
            for i, each in enumerate(question["choices"])
            if not each["mistake"]
        ]
    lines = {line.split(" = ")[0]: line.split(" = ")[1] for line in question["shown"]}
    steps = (
        state_of(question) if step == "state" else written_walk(question, flags) if lines else {}
    )
    return math.isclose(number, question["number"], rel_tol=1e-9, abs_tol=1e-12) and all(
        shown_text(steps[name]) == text for name, text in lines.items()
    )


def main():
    listed = subprocess.run(
        [PROGRAM, "quiz", "--json", "--count", str(COUNT), "--seed", SEED],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    questions = json.loads(listed)
    verdicts = [confirm(question) for question in questions]
    for question, verdict in zip(questions, verdicts):
        if not verdict:
            print(
                "wrong answer:",
                question["topic"],
                question["question"],
                question["answer"],
                question["flags"],
            )
    print(f"{verdicts.count(True)} of {len(verdicts)} answers confirmed")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

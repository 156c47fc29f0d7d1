#!/usr/bin/env python3
"""Runs the program with each allocation failing in turn; takes a few minutes.

    tests/check_starved.py build/dev/tests/attn_starved [FIRST STEP]

For N = FIRST, FIRST + STEP, ... (1, 1) the Nth allocation of each command fails, alone and with all
later ones. Each run must end with exit code 2 and one line, "not enough memory", and must write
either no file or complete files.
"""
import os
import shlex
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
FIRST, STEP = (int(n) for n in (sys.argv[2:] + ["1", "1"])[:2]) if len(sys.argv) > 3 else (1, 1)
COMMANDS = open(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "starved_commands.txt")).read().splitlines()
failed = runs = 0


def written(folder):
    """Returns the files that a command has left, by name."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if os.path.relpath(path, folder).startswith((".", "out")):
                found[path] = open(path, "rb").read()
    return found


def clear(folder):
    for name in os.listdir(folder):
        if name.startswith((".", "out")):
            subprocess.run(["rm", "-r", os.path.join(folder, name)], check=True)


def starved(words, limit, folder, whole):
    """Returns whether an allocation failed."""
    global failed, runs
    clear(folder)
    mark = os.path.join(folder, "mark")
    if os.path.exists(mark):
        os.remove(mark)
    result = subprocess.run([PROGRAM, *words], cwd=folder, stdin=subprocess.DEVNULL,
                            capture_output=True, timeout=60,
                            env={**os.environ, "ATTN_FAIL_ALLOCATION": limit, "ATTN_FAILED": mark})
    if not os.path.exists(mark):
        return False
    runs += 1
    lines = [line for line in result.stderr.decode().splitlines() if ": note: " not in line]
    left = written(folder)
    if (result.returncode != 2 or len(lines) != 1 or "not enough memory" not in lines[0]
            or left and left != whole):
        failed += 1
        print("FAILED:", limit, shlex.join(words), result.returncode, lines, list(left), flush=True)
    return True


with tempfile.TemporaryDirectory() as folder:
    for line in COMMANDS:
        words = shlex.split(line)
        if words[0] == "!":  # read by other commands
            subprocess.run([PROGRAM, *words[1:]], cwd=folder, check=True, capture_output=True)
            continue
        clear(folder)
        subprocess.run([PROGRAM, *words], cwd=folder, stdin=subprocess.DEVNULL,
                       capture_output=True)
        whole = written(folder)
        n = FIRST
        while (starved(words, str(n), folder, whole)
               and starved(words, f"{n}+", folder, whole)):
            n += STEP
        print(f"{n // STEP} moments: {line}", flush=True)
print(f"{runs} runs, {failed} failed")
sys.exit(1 if failed else 0)

#!/usr/bin/env python3
"""Runs the Python that README.md shows and compares what it prints with the program.

    tests/check_readme.py build/dev/app/attn-explain

Checks two claims: the eight lines print the weights and the context of the default walk, and what
a walk prints with --format torch is valid Python. Needs PyTorch; without it nothing is checked,
which is said aloud.
"""

import contextlib
import io
import pathlib
import re
import subprocess
import sys


def walk(program, *flags):
    return subprocess.run([program, *flags], check=True, capture_output=True, text=True).stdout


def main():
    program = sys.argv[1]
    try:
        from torch import inf, nan, tensor
    except ImportError:
        print("PyTorch is not installed: nothing was checked")
        return
    readme = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
    code = re.search(r"```python\n(.*?)```", readme, re.S).group(1)
    assert code.count("\n") == 8, "README.md promises eight lines"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    ours = walk(program, "--only", "weights,context", "-q")
    numbers = re.compile(r"-?\d+\.\d+")
    assert numbers.findall(printed.getvalue()) == numbers.findall(ours), printed.getvalue() + ours

    names = {"tensor": tensor, "inf": inf, "nan": nan}
    for flags in (["--detail"], ["--mask", "causal", "--causal-align", "end", "--memory-len", "2"]):
        exec(walk(program, *flags), names)
    print("README.md holds")


main()

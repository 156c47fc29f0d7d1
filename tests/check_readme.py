#!/usr/bin/env python3
"""Runs the Python code on README.md and app/README.md and compares it with the program.

    tests/check_readme.py build/dev/app/attn-explain

Checks three claims: the eight lines print the weights and the context of the default walk, the output
of --format torch is valid Python, and diagnose calls the lines for a probe right. Without PyTorch and
NumPy nothing is checked, and a line reports this.
"""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def walk(program, *flags):
    return subprocess.run([program, *flags], check=True, capture_output=True, text=True).stdout


def python_in(page):
    return re.search(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S).group(1)


def main():
    program = os.path.abspath(sys.argv[1])
    try:
        from torch import inf, nan, tensor
        import numpy  # for the lines of app/README.md
    except ImportError:
        print("PyTorch or NumPy is not installed: nothing was checked")
        return
    code = python_in("README.md")
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

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        walk(program, "probe", "-o", "probe.npz")
        exec(python_in("app/README.md"), {})
        walk(program, "diagnose", "mine.npz", "--given", "probe.npz")
    print("README.md and app/README.md are right")


main()

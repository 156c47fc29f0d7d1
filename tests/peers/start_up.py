#!/usr/bin/env python3
"""Times whole processes, in turns, and prints a table of ratios.

    tests/peers/start_up.py [--build build/dev] [--rounds 201] [--without-torch]

The baseline is the smallest program with our libraries: it prints one small matrix product. PyTorch
runs the code that attn-explain writes for the same walk or notebook.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from run import python

NOTEBOOKS = ("000", "001", "002", "003")
YARDSTICK = "minimal program, same libraries"


def milliseconds(command, environment, nowhere):
    """Returns the wall time of one process, or None if it fails."""
    throw_away = [(os.POSIX_SPAWN_DUP2, nowhere, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2)]
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, environment, file_actions=throw_away)
    _, status = os.waitpid(child, 0)
    return (time.perf_counter() - start) * 1e3 if status == 0 else None


def installed(build, folder):
    """Copies the programs as an installation does: a file fresh from the linker is in small pieces in
    memory, which costs 0.2 ms of page faults."""
    build = pathlib.Path(build)
    programs = (build / "tests" / "empty_program", build / "tests" / "minimal_program",
                build / "app" / "attn-explain")
    for program in programs:
        if not program.exists():
            sys.exit(f"{program} is missing: cmake --build {build} --target start_up")
    return [shutil.copy(program, folder) for program in programs]


def ours(empty, minimal, program):
    commands = {
        "empty program": [empty],
        YARDSTICK: [minimal],
        "--version": [program, "--version"],
        "default walk": [program],
        "default walk, --format json": [program, "--format", "json"],
    }
    for notebook in NOTEBOOKS:
        commands["notebook " + notebook] = [program, "notebook", notebook]
    return commands


def under_torch(program, folder):
    """Writes Python programs with the code of the walk and of each notebook."""
    commands = {}
    for name in ("default walk",) + tuple("notebook " + number for number in NOTEBOOKS):
        arguments = [] if name == "default walk" else name.split()
        text = subprocess.run([program, *arguments, "--format", "ipynb"], check=True,
                              capture_output=True, text=True).stdout
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        path = pathlib.Path(folder) / (name.replace(" ", "-") + ".py")
        path.write_text("\n".join("".join(cell["source"]) for cell in cells))
        commands[name] = [python(), str(path)]
    return commands


def measure(commands, rounds, environment):
    times = {name: [] for name in commands}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for _ in range(rounds):
        for name, command in commands.items():
            time_of_one = milliseconds(command, environment, nowhere)
            if time_of_one is not None:
                times[name].append(time_of_one)
    os.close(nowhere)
    return {name: list_of_times for name, list_of_times in times.items() if list_of_times}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/dev", help="the build folder (build/dev)")
    parser.add_argument("--rounds", type=int, default=201)
    parser.add_argument("--without-torch", action="store_true")
    arguments = parser.parse_args()

    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("OPENBLAS_", "OMP_"))}
    with tempfile.TemporaryDirectory() as folder:
        programs = installed(arguments.build, folder)
        times = measure(ours(*programs), arguments.rounds, environment)
        slow = {}
        if not arguments.without_torch:
            slow = measure(under_torch(programs[-1], folder), 5, environment)

    yardstick = statistics.median(times[YARDSTICK])
    print(f"medians of {arguments.rounds} rounds in turns{'':9} ms   best   x minimal")
    for name, of_one in times.items():
        median = statistics.median(of_one)
        print(f"  {name:33} {median:7.2f} {min(of_one):6.2f} {median / yardstick:8.2f}")
    if slow:
        print("\nthe same under PyTorch and NumPy, medians of 5 rounds     ms   x ours")
    elif not arguments.without_torch:
        print("\nPyTorch is not installed: apt-get install python3-torch")
    for name, of_one in slow.items():
        median = statistics.median(of_one)
        print(f"  {name:48} {median:7.0f} {median / statistics.median(times[name]):8.0f}")


if __name__ == "__main__":
    main()

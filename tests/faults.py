#!/usr/bin/env python3
"""Tests the program under full disks, limits, signals and folders of other users.

    tests/faults.py build/dev/app/attn-explain [folders file_sizes full_disks memory signals]

In every case a target is complete or absent (an old one stays), no temporary file is left, an error
is one line on standard error with exit code 2, and nothing takes longer than 20 seconds. Needs only
Python's standard library.
"""
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
TIMEOUT = 20
LARGE = ["--seq-len", "1500", "--embed-dim", "16", "--heads", "2", "--seed", "1"]
KINDS = {
    "torch": ["--threshold", "100000000", "-o"],
    "plain": ["--format", "plain", "-o"],
    "markdown": ["--format", "markdown", "--threshold", "100000000", "-o"],
    "json": ["--format", "json", "-o"],
    "csv": ["--format", "csv", "--only", "scores", "-o"],
    "npz": ["--format", "npz", "-o"],
    "safetensors": ["--format", "safetensors", "-o"],
    "save-dir": ["--save-dir"],
}
ENDING_SIGNALS = ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "PIPE", "XCPU", "VTALRM",
                  "PROF", "ABRT", "SEGV", "BUS", "FPE", "ILL", "TRAP", "SYS"]

failures = []
count = 0


def check(right, what):
    global count
    count += 1
    if not right:
        failures.append(what)
        print("FAILED:", what, flush=True)


def limited(**limits):
    def apply():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
    return apply


def run(arguments, what, folder, expected=(2,), limits=None, **options):
    """Runs a command; checks its exit code, one line if that is 2, and the time limit."""
    try:
        result = subprocess.run([PROGRAM, *arguments], cwd=folder, timeout=TIMEOUT,
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                stdout=options.pop("stdout", subprocess.DEVNULL),
                                preexec_fn=limited(**(limits or {})), **options)
    except subprocess.TimeoutExpired:
        check(False, f"{what}: took more than {TIMEOUT} s")
        return None
    check(result.returncode in expected, f"{what}: exit code {result.returncode}")
    lines = [line for line in result.stderr.decode(errors="replace").splitlines()
             if not line.startswith("attn-explain: note: ")]
    if result.returncode == 2:
        check(len(lines) == 1 and lines[0].startswith("attn-explain: error: "),
              f"{what}: said {lines}")
    return result


def parts(folder):
    return [name for name in os.listdir(folder) if ".part" in name]


def with_old(folder, kind):
    """Writes an existing target: a small walk of the same kind."""
    target = os.path.join(folder, "target")
    subprocess.run([PROGRAM, *KINDS[kind], target], check=True, stderr=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    return target


def snapshot(target):
    if not os.path.isdir(target):
        return open(target, "rb").read() if os.path.exists(target) else None
    return {name: open(os.path.join(target, name), "rb").read() for name in os.listdir(target)}


def signals():
    for kind, flags in KINDS.items():
        for name in ENDING_SIGNALS + ["KILL"]:
            what = f"SIG{name} while {kind} is written"
            with tempfile.TemporaryDirectory() as folder:
                target = with_old(folder, kind)
                before = snapshot(target)
                process = subprocess.Popen([PROGRAM, *LARGE, *flags, target],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                           preexec_fn=limited())
                start = time.monotonic()
                while not parts(folder) and process.poll() is None:
                    if time.monotonic() - start > TIMEOUT:
                        break
                    time.sleep(0.001)
                process.send_signal(getattr(signal, "SIG" + name))
                process.wait(timeout=TIMEOUT)
                if process.returncode == 0:
                    continue  # it ended before the signal
                check(process.returncode == -getattr(signal, "SIG" + name),
                      f"{what}: ended with {process.returncode}")
                check(snapshot(target) == before, f"{what}: the old target is not what it was")
                check(name == "KILL" or not parts(folder), f"{what}: left {parts(folder)}")


def full_disks():
    with tempfile.TemporaryDirectory() as folder:
        for kind, flags in KINDS.items():
            if kind == "save-dir":
                continue
            run([*LARGE, *flags, "/dev/full"], f"{kind} to /dev/full", folder)
            with open("/dev/full", "wb") as full:
                run([*LARGE, *flags, "-"], f"{kind} to a full standard output", folder, stdout=full)
    # A separate disk needs a user namespace.
    script = ('mount -t tmpfs -o size=300k none "$1" && cd "$1" && shift && "$@"; code=$?; '
              'ls -A >&3; exit $code')
    for kind, flags in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            reader, writer = os.pipe()
            result = subprocess.run(
                ["unshare", "-Urm", "sh", "-c", f"exec 3>&{writer}; " + script, "sh", folder,
                 PROGRAM, *LARGE, *flags, "target"], pass_fds=[writer], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT)
            os.close(writer)
            left = os.read(reader, 4096).decode()
            os.close(reader)
            if b"unshare" in result.stderr or b"mount" in result.stderr:
                print("no small disk can be made here: left out")
                return
            check(result.returncode == 2, f"{kind} on a full disk: exit code {result.returncode}")
            check(b"No space left" in result.stderr, f"{kind} on a full disk: {result.stderr}")
            check(left == "", f"{kind} on a full disk: left {left}")


def file_sizes():
    for kind, flags in KINDS.items():
        for size in (0, 1, 4096, 100_000):
            with tempfile.TemporaryDirectory() as folder:
                run([*LARGE, *flags, "target"], f"{kind} with files of at most {size} bytes",
                    folder, limits={"FSIZE": size})
                check(os.listdir(folder) == [], f"{kind}, {size} bytes: left {os.listdir(folder)}")


def memory():
    commands = [[], ["--heads", "2", "--variant", "fused"], ["--variant", "vectorized"],
                ["--seq-len", "300"], ["--seq-len", "2000", "--variant", "vectorized", "--only", "scores"],
                ["why", "weights[0,1]"], ["lint"], ["compare", "", "--scale none"], ["bugs"],
                ["notebook", "000"], ["diagnose", "walk.npz"], ["--x", "walk.json:x"],
                ["--format", "json"], ["--format", "ipynb"]]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("walk.npz", "walk.json"):
            run(["--format", name[5:], "-o", name], "making " + name, folder, expected=(0,))
        for megabytes in (36, 48, 64, 100, 130, 165, 170, 200, 300, 500, 900):
            for command in commands:
                run(command, f"{command} in {megabytes} MB", folder, expected=(0, 1, 2),
                    limits={"AS": megabytes * 1024 * 1024})


def folders():
    with tempfile.TemporaryDirectory() as folder:
        own = os.path.join(folder, "own")
        run(["--save-dir", own], "a new folder", folder, expected=(0,))
        run(["--save-dir", own], "a folder of ours", folder, expected=(0,))
        for name in ("01_measured.npy", "notes.txt"):
            path = os.path.join(own, name)
            open(path, "w").write("mine")
            before = snapshot(own)
            run(["--save-dir", own], f"a folder with {name}", folder)
            check(snapshot(own) == before, f"a folder with {name} has changed")
            os.remove(path)
        os.mkdir(os.path.join(folder, "d"))
        run(["-o", "d"], "a folder in place of a file", folder)
        run(["-o", "no/such/file"], "a folder that is missing", folder)
        if os.geteuid() != 0:
            for mode in (0o555, 0o000):
                os.chmod(os.path.join(folder, "d"), mode)
                run(["-o", "d/file"], f"a folder of mode {mode:o}", folder)
                run(["--save-dir", "d/walk"], f"a folder of mode {mode:o}", folder)
            run(["compare", "", "d"], "a folder that may not be read", folder)
            os.chmod(os.path.join(folder, "d"), 0o755)
        check(not parts(folder), f"folders: left {parts(folder)}")


for each in (folders, file_sizes, full_disks, memory, signals):
    if sys.argv[2:] and each.__name__ not in sys.argv[2:]:
        continue
    start = time.monotonic()
    each()
    print(f"{each.__name__}: {time.monotonic() - start:.0f} s", flush=True)
print(f"{count} checks, {len(failures)} failed")
sys.exit(1 if failures else 0)

#!/usr/bin/env python3
"""Times attn-explain and its peers on the same shapes, in turns, and prints a table of ratios.

    tests/peers/run.py [--build build/dev] [--rounds 5] [--shape 12,1024,64] [--mask none]
                       [--threads 1] [--node-modules DIR] [--quick]

README.md in this folder describes how to install the peers. Missing ones are listed.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = ["12,1024,64", "8,4096,64", "1,16384,64"]
LARGEST_ERROR = 2e-6  # tolerance for the context, whose numbers are of order 1
OURS = ("fused", "vectorized")
UNFUSED = ("onnxruntime unfused", "onednn", "numpy", "torch naive")
FASTEST_OF = ("onnxruntime mha", "torch sdpa") + UNFUSED


def python():
    """Debian's Python: another one on the path may lack its packages."""
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def candidates(build, node_modules):
    """Name, command, and how to install it."""
    programs = pathlib.Path(build) / "tests"
    script = lambda name: str(HERE / name)
    make = f"cmake --build {build} --target peers"
    debian = "apt-get install libopenblas0 "
    return [
        ("fused", [str(programs / "peer_ours"), "fused"], make),
        ("vectorized", [str(programs / "peer_ours"), "vectorized"], make),
        ("onnxruntime mha", ["node", script("onnxruntime_peer.mjs"), "mha"],
         "npm install --ignore-scripts onnxruntime-node"),
        ("onnxruntime unfused", ["node", script("onnxruntime_peer.mjs"), "unfused"],
         "npm install --ignore-scripts onnxruntime-node"),
        ("onednn", [str(programs / "peer_onednn")], "apt-get install libdnnl-dev; " + make),
        ("numpy", [python(), script("numpy_peer.py")], debian + "python3-numpy"),
        ("torch sdpa", [python(), script("torch_peer.py"), "sdpa"], debian + "python3-torch"),
        ("torch naive", [python(), script("torch_peer.py"), "naive"], debian + "python3-torch"),
        ("first try", [str(programs / "peer_first_try")], make),
        ("plain loops", [str(programs / "peer_plain_loops")], make),
    ]


class Peer:
    """A process that answers one request per line."""

    def __init__(self, name, command, environment):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment)

    def ask(self, request):
        """Returns its answer, a number, or None if it cannot answer."""
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
            words = self.process.stdout.readline().split()
        except BrokenPipeError:
            return None
        return float(words[1]) if len(words) == 2 and words[0] != "cannot" else None

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def environment(node_modules):
    """Returns the environment without variables that select another BLAS kernel."""
    result = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS_", "OMP_", "MKL_"))}
    result["PEERS_NODE_MODULES"] = str(pathlib.Path(node_modules).resolve())
    result["PYTHONPATH"] = str(HERE)
    return result


def start_peers(arguments):
    peers = []
    for name, command, install in candidates(arguments.build, arguments.node_modules):
        if shutil.which(command[0]) is None:
            print(f"{name}: not here ({install})")
            continue
        peer = Peer(name, command, environment(arguments.node_modules))
        errors = [peer.ask(f"check 2 65 8 {mask} 1") for mask in ("none", "causal")]
        known = [error for error in errors if error is not None]
        if not known:
            print(f"{name}: not here ({install})")
        elif not max(known) < LARGEST_ERROR:
            print(f"{name}: wrong by {max(known)}, left out")
        else:
            peers.append(peer)
    return peers


def useful_operations(groups, length, dim, mask):
    cells = length * (length + 1) / 2 if mask == "causal" else length * length
    return 4 * groups * dim * cells


def measured_peak(arguments):
    """GFLOP/s of multiply-adds on registers alone, one thread, as attn-explain measures it."""
    program = pathlib.Path(arguments.build) / "tests" / "peer_ours"
    answer = subprocess.run([program, "peak"], capture_output=True, text=True,
                            env=environment(arguments.node_modules))
    return float(answer.stdout) if answer.returncode == 0 and answer.stdout else float("nan")


def compare(arguments, peers, shape, mask, threads):
    groups, length, dim = (int(word) for word in shape.split(","))
    request = f"time {groups} {length} {dim} {mask} {threads}"
    seconds = {peer.name: [] for peer in peers}
    peaks = []
    for _ in range(arguments.rounds):
        peaks.append(measured_peak(arguments))
        for peer in peers:
            answer = peer.ask(request)
            if answer is not None:
                seconds[peer.name].append(answer)
    times = {name: statistics.median(values) for name, values in seconds.items() if values}
    peak = statistics.median(peaks) * threads
    print(f"\n({shape}) {mask}, {threads} thread{'s' * (threads > 1)}; "
          f"peak {peak:.0f} GFLOP/s; medians of {arguments.rounds} rounds in turns")
    for name, time in sorted(times.items(), key=lambda item: item[1]):
        rate = useful_operations(groups, length, dim, mask) / time * 1e-9
        print(f"  {name:20} {time * 1e3:10.2f} ms {rate:8.1f} GFLOP/s {rate / peak:7.3f} of peak")
    print_ratios(times)
    return times


def print_ratios(times):
    def ratio(words, ours, others):
        others = [name for name in others if name in times]
        if ours in times and others:
            fastest = min(others, key=times.get)
            print(f"  {words}: {times[fastest] / times[ours]:.2f} times ({fastest})")

    ratio("fused over the fastest peer", "fused", FASTEST_OF)
    ratio("vectorized over the fastest unfused peer", "vectorized", UNFUSED)
    ratio("vectorized over xtensor-blas at first", "vectorized", ("first try",))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/dev", help="the build folder (build/dev)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shape", action="append", help="heads,tokens,features; repeatable")
    parser.add_argument("--mask", action="append", choices=("none", "causal"))
    parser.add_argument("--threads", action="append", type=int)
    parser.add_argument("--node-modules", default=".", help="the folder that holds node_modules")
    parser.add_argument("--without", action="append", default=[], help="leave a peer out")
    parser.add_argument("--quick", action="store_true", help="one small shape, two rounds")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.shape = 2, arguments.shape or ["4,256,64"]
    peers = [peer for peer in start_peers(arguments) if peer.name not in arguments.without]
    if not any(peer.name in OURS for peer in peers):
        sys.exit(f"build ours first: cmake --build {arguments.build} --target peers")
    for shape in arguments.shape or SHAPES:
        for mask in arguments.mask or ("none", "causal"):
            base = {}
            for threads in arguments.threads or (1, 2):
                times = compare(arguments, peers, shape, mask, threads)
                for name in OURS:
                    if threads > 1 and name in base and name in times:
                        print(f"  {name}: {base[name] / times[name]:.2f} times one thread")
                if threads == 1:
                    base = times
    for peer in peers:
        peer.end()


if __name__ == "__main__":
    main()

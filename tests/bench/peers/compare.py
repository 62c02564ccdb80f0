# SPDX-License-Identifier: Apache-2.0
"""Loads each artifact with gantry and its peers, in one process per turn, alternating, and prints the medians.

    compare.py LOAD_PROGRAM ARTIFACT...      (tests/bench/peers/run prepares the arguments)

If a peer refuses a file its error is printed, because the peers read different generations of files.
"""
import json
import os
import statistics
import subprocess
import sys

TURNS = 5

# For each peer: the module to import, and the expression that loads a file. A process loads 20 times and prints the median.
PEERS = {
    "tvm-ffi": ("tvm_ffi", "tvm_ffi.load_module(path)"),
    "tvm": ("tvm.runtime", "tvm.runtime.load_module(path)"),
    "onnxruntime": ("onnxruntime", "onnxruntime.InferenceSession(path)"),
}
PEER = """
import gc, json, statistics, sys, time
import {module}
path = sys.argv[1]
times = []
for i in range(20):
    begun = time.perf_counter_ns()
    loaded = {load}
    times.append(time.perf_counter_ns() - begun)
    del loaded
    gc.collect()
print(json.dumps({{"load_ns": statistics.median(times)}}))
"""


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def turn(words):
    """Runs one process; returns nanoseconds, or an error text."""
    ended = subprocess.run(words, capture_output=True, text=True)
    if ended.returncode != 0:
        return last_line(ended.stderr if "Traceback" in ended.stderr else ended.stderr or ended.stdout)
    return float(json.loads(ended.stdout)["load_ns"])


def loader(program, name):
    if name == "gantry":
        return lambda path: turn([program, path])
    module, load = PEERS[name]
    code = PEER.format(module=module, load=load)
    return lambda path: turn([sys.executable, "-c", code, path])


def installed(name):
    return subprocess.run([sys.executable, "-c", "import " + PEERS[name][0]], capture_output=True).returncode == 0


def main():
    program, artifacts = sys.argv[1], sys.argv[2:]
    sides = ["gantry"] + [name for name in PEERS if installed(name)]
    print("| artifact | " + " | ".join(sides) + " |\n|---" + "|---" * len(sides) + "|")
    for path in artifacts:
        seen = {side: [] for side in sides}
        for _ in range(TURNS):
            for side in sides:
                seen[side].append(loader(program, side)(path))
        cells = []
        for side in sides:
            times = [value for value in seen[side] if isinstance(value, float)]
            words = [value for value in seen[side] if not isinstance(value, float)]
            cells.append("%.0f us" % (statistics.median(times) / 1e3) if times else "refuses: " + words[0][:90])
        print("| %s | %s |" % (os.path.basename(path), " | ".join(cells)), flush=True)


if __name__ == "__main__":
    main()

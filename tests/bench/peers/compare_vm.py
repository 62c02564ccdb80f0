# SPDX-License-Identifier: Apache-2.0
"""Runs Relax artifacts with gantry and with Apache TVM's runtime, alternating processes, and prints times and ratios.

    compare_vm.py GANTRY_PROGRAM TVM_PROGRAM DIRECTORY      (tests/bench/peers/run prepares the arguments)
"""
import json
import os
import statistics
import subprocess
import sys

TURNS = 7

INPUTS = {"cnn": "float32[1,1,8,8]", "resnet14": "float32[1,3,20,20]"}
SLOPES = {
    "an instruction, vm.builtin.null_value": "instr_null{}",
    "an instruction, vm.builtin.copy(register)": "instr_copy{}",
    "an instruction, vm.builtin.copy(immediate)": "instr_copyi{}",
    "an addition of one element: three instructions and a kernel": "chain{}_llvm",
}


def measure(programs, words):
    """Returns, for each program, the medians over all turns."""
    seen = [[] for _ in programs]
    for _ in range(TURNS):
        for program, times in zip(programs, seen):
            ended = subprocess.run([program] + words, capture_output=True, text=True, check=True)
            times.append(json.loads(ended.stdout))
    return [{key: statistics.median(time[key] for time in times) for key in times[0]} for times in seen]


def row(what, limit, gantry, tvm):
    verdict = "met" if gantry / tvm <= limit else "MISSED"
    print("| %s | %.1f | %.2f | %s | %.0f ns | %.0f ns |" % (what, limit, gantry / tvm, verdict, gantry, tvm), flush=True)


def main():
    programs, directory = sys.argv[1:3], sys.argv[3]
    print("| what | limit | gantry / TVM | verdict | gantry | TVM |\n|---|---|---|---|---|---|")
    for what, name in SLOPES.items():
        few, many = (measure(programs, [os.path.join(directory, name.format(count) + ".so"), "main", "float32[1]"])
                     for count in (10, 1000))
        slopes = [(b["steady"] - a["steady"]) / 990 for a, b in zip(few, many)]
        row(what, 0.5, *slopes)
    for name, given in INPUTS.items():
        times = measure(programs, [os.path.join(directory, name + "_llvm.so"), "main", given])
        row(name + ": load, creation and first output, less a steady run", 0.5, *(t["start"] - t["steady"] for t in times))
        row(name + ": the same for a second file of the process", 0.5, *(t["next"] - t["steady"] for t in times))
        row(name + ": steady run", 1.0, *(t["steady"] for t in times))
    row("small language model, decode step", 0.8,
        *(t["steady"] for t in measure(programs, [os.path.join(directory, "lm_paged_llvm.so"), "decode"])))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Throughput of 8 processes with one runtime each, and of one process with two threads, on the same two CPUs.

    tests/bench/peers/processes.py [MODEL]      resnet20_llvm, resnet20_c; needs the Python package

Four sides take turns in each round: one process whose pool has two threads, with one run at a time and with two;
8 processes with one thread each, as the serving adapters divide the CPUs, and with two, as by default. Prints the
time of one run of each side, the minimum of all rounds, and the ratios of the throughputs. GANTRY_ROUNDS (9) of
GANTRY_SECONDS (2) for each side. All processes exist during all rounds, and sleep while another side runs. Needs an
idle machine: beside other load, more processes get a larger part of the CPUs. The CPU time of a run shows that.
"""

import os
import pathlib
import subprocess
import sys
import threading
import time

DATA = pathlib.Path(__file__).parents[2] / "golden" / "data" / "tvm-0.12"
ROUNDS = int(os.environ.get("GANTRY_ROUNDS", 9))
SECONDS = float(os.environ.get("GANTRY_SECONDS", 2))
PROCESSES, CPUS = 8, 2


def serve(model, threads, executors):
    """Load a model, then for each line "START END" of the input print the number of runs between these times, and the
    CPU time."""
    import gantry
    import numpy

    loaded = gantry.Runtime(threads=threads).load(DATA / f"{model}.so", executors=executors)
    images = numpy.load(DATA / f"{model.partition('_')[0]}.input.npz")["data"]
    loaded(data=images[0])
    print("ready", flush=True)
    for line in sys.stdin:
        start, end = map(float, line.split())
        counts, cpu = [0.0] * executors, time.process_time()

        def work(i):
            time.sleep(max(0, start - time.monotonic()))
            while True:
                began = time.monotonic()
                loaded(data=images[0])
                ended = time.monotonic()
                if ended >= end:
                    # A part of the run that is going on at the end counts.
                    counts[i] += max(0, (end - began) / (ended - began))
                    return
                counts[i] += 1

        workers = [threading.Thread(target=work, args=(i,)) for i in range(executors)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        print(sum(counts), time.process_time() - cpu, flush=True)


class Side:
    """Processes that run a model at the same time."""

    def __init__(self, model, processes, threads, executors):
        command = [sys.executable, __file__, "--serve", model, str(threads), str(executors)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.processes = [subprocess.Popen(command, **pipes) for _ in range(processes)]

    def read(self):
        return [process.stdout.readline().strip() for process in self.processes]

    def seconds(self):
        """Return the time of one run, that of the round by the number of runs of all processes, and its CPU time."""
        start = time.monotonic() + 0.1
        for process in self.processes:
            print(start, start + SECONDS, file=process.stdin, flush=True)
        counts, cpu = zip(*(map(float, line.split()) for line in self.read()))
        return SECONDS / sum(counts), sum(cpu) / sum(counts)

    def stop(self):
        for process in self.processes:
            process.stdin.close()
            process.wait()


def compare(model):
    one = "1 process, 2 threads"
    sides = {
        one: Side(model, 1, CPUS, 1),
        f"{one}, 2 runs at a time": Side(model, 1, CPUS, CPUS),
        f"{PROCESSES} processes, 1 thread": Side(model, PROCESSES, 1, 1),
        f"{PROCESSES} processes, 2 threads": Side(model, PROCESSES, CPUS, 1),
    }
    try:
        assert all(side.read() == ["ready"] * len(side.processes) for side in sides.values())
        best = dict.fromkeys(sides, (float("inf"), float("inf")))
        for _ in range(ROUNDS):
            for name, side in sides.items():
                best[name] = tuple(map(min, best[name], side.seconds()))
    finally:
        for side in sides.values():
            side.stop()
    for name, (seconds, cpu) in best.items():
        ratio = best[one][0] / seconds
        print(f"{model}: {name}: {seconds * 1e3:.3f} ms a run, throughput {ratio:.2f}, CPU {cpu * 1e3:.3f} ms a run")


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2], *map(int, sys.argv[3:]))
    cpus = sorted(os.sched_getaffinity(0))[:CPUS]
    if len(cpus) < CPUS:
        return f"{CPUS} CPUs are necessary, this process may use {len(cpus)}"
    os.sched_setaffinity(0, cpus)
    for model in sys.argv[1:] or ["resnet20_llvm", "resnet20_c"]:
        compare(model)


if __name__ == "__main__":
    sys.exit(main())

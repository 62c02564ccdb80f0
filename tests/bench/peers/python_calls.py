#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of one C function from Python: gantry and apache-tvm-ffi, which load the same library.

    python -m venv --system-site-packages /tmp/peer && /tmp/peer/bin/pip install apache-tvm-ffi
    /tmp/peer/bin/pip install .
    /tmp/peer/bin/python tests/bench/peers/python_calls.py

Prints nanoseconds above an empty function of Python, minima of many rounds, and the ratio. Both sides take
turns in each round. gantry releases the GIL.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import gantry
import numpy

SOURCE = r"""
#include <stdint.h>
typedef struct { int32_t kind; uint32_t pad; int64_t v; } any_t;
int __tvm_ffi_increment(void* self, const any_t* args, int32_t count, any_t* result) {
  (void)self;
  if (count != 1) return -1;
  result->kind = 1; result->pad = 0; result->v = args[0].v + 1;
  return 0;
}
int __tvm_ffi_take(void* self, const any_t* args, int32_t count, any_t* result) {
  (void)self; (void)args;
  result->kind = 0; result->pad = 0; result->v = 0;
  return count == 1 ? 0 : -1;
}
"""
ROUNDS, CALLS = 60, 5000


def seconds(function, argument):
    start = time.perf_counter()
    for _ in range(CALLS):
        function(argument)
    return time.perf_counter() - start


def nanoseconds(functions, argument):
    """Minima for each function, above an empty one."""
    functions = {"empty": lambda value: None, **functions}
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(ROUNDS):
        for name, function in functions.items():
            best[name] = min(best[name], seconds(function, argument))
    empty = best.pop("empty")
    return {name: (value - empty) / CALLS * 1e9 for name, value in best.items()}


def main():
    with tempfile.TemporaryDirectory() as directory:
        library = pathlib.Path(directory, "calls.so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=SOURCE, text=True, check=True)
        modules = {"gantry": gantry.default_runtime().load_module(library)}
        try:
            import tvm_ffi

            modules["tvm_ffi"] = tvm_ffi.load_module(str(library))
        except ImportError:
            print("tvm_ffi is not installed", file=sys.stderr)
        print(f"python {sys.version.split()[0]}, numpy {numpy.__version__}")
        for title, name, argument in (
            ("one integer", "increment", 41),
            ("one numpy array, float32[1024]", "take", numpy.zeros(1024, "float32")),
        ):
            found = nanoseconds({key: module[name] for key, module in modules.items()}, argument)
            texts = [f"{key} {value:.0f} ns" for key, value in found.items()]
            if "tvm_ffi" in found:
                texts.append(f"ratio {found['gantry'] / found['tvm_ffi']:.2f}")
            print(f"{title}: {', '.join(texts)}")


if __name__ == "__main__":
    main()

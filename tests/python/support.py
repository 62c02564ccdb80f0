# SPDX-License-Identifier: Apache-2.0
"""Artifacts of the tests, and other processes."""

import pathlib
import subprocess
import sys
import textwrap

import gantry
import numpy

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "data"
TVM = GOLDEN / "tvm-0.12"
RELAX = GOLDEN / "relax"
DIGITS = TVM / "digits_mlp_c.so"


def images() -> numpy.ndarray:
    return numpy.load(TVM / "digits_mlp.input.npz")["x"]


def expected_digits() -> numpy.ndarray:
    return numpy.load(TVM / "digits_mlp_c.expected.npz")["output"]


def aligned(array: numpy.ndarray) -> numpy.ndarray:
    """Returns a copy in memory that models use in place."""
    made = gantry.empty(array.shape, array.dtype)
    made[...] = array
    return made


def not_aligned(array: numpy.ndarray) -> numpy.ndarray:
    """Returns a copy at an address that is no multiple of 64."""
    memory = numpy.empty(array.size + 32, array.dtype)
    start = next(i for i in range(16) if memory[i:].ctypes.data % 64)
    made = memory[start : start + array.size].reshape(array.shape)
    made[...] = array
    return made


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess:
    """Runs a program in a new interpreter with the modules of this one."""
    import os

    where = os.pathsep.join([str(pathlib.Path(__file__).parent), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": where, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )

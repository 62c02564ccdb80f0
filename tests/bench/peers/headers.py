#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headers.py before|after: uses libraries with tvm-ffi's C++ headers in one process, with gantry's Python package in two
runtimes and with tvm-ffi's, which is imported before or after gantry has opened its libraries. Each must have its own types,
global functions and errors; tensors pass between them through DLPack, and functions through a call."""

import pathlib
import sys

import numpy

import gantry

DATA = pathlib.Path(__file__).resolve().parents[2] / "golden" / "data" / "tvm-ffi"
NAMES = ("type_and_method", "containers", "raise_error", "typed_function")


class Libraries:
    def __init__(self, load, headers):
        # After gantry, tvm-ffi must open other files: core/decisions/0005-binding-imports.md.
        self.of = {name: load(str(DATA / headers / f"{name}.so")) for name in NAMES}

    def __getitem__(self, name):
        return next(library[name] for library in self.of.values() if has(library, name))


def has(library, name):
    try:
        return library[name] is not None
    except (AttributeError, KeyError, RuntimeError, gantry.Error):
        return False


def use(libraries, error):
    counter = libraries["counter_new"](1, "first")
    steps = libraries["step_counter_new"](2, "second", 3)
    assert libraries["counter_add"](counter, 4) == 5
    assert libraries["total_by_name"](counter, steps) == 7
    assert libraries["is_step_counter"](steps) and not libraries["is_step_counter"](counter)
    assert libraries["call_method"](steps, "add", 3) == 5
    assert libraries["has_global"]("example.counter.total")
    assert dict(libraries["squares"](3).items())[2] == 4
    try:
        libraries["add_one"]("a text")
    except error as raised:
        assert "add_one" in str(raised) or "int" in str(raised)
    else:
        raise AssertionError("a text is no integer")
    assert libraries["add_one"](41) == 42
    return counter


def main(order):
    here = []
    if order == "before":
        here.append(__import__("tvm_ffi"))
    runtimes = [gantry.Runtime(), gantry.Runtime()]
    ours = [Libraries(runtime.load_module, "0.1.15") for runtime in runtimes]
    for libraries in ours:
        use(libraries, (gantry.Error, TypeError))
    tvm_ffi = here[0] if here else __import__("tvm_ffi")
    theirs = Libraries(tvm_ffi.load_module, "0.1.10")
    for _ in range(2):
        use(theirs, TypeError)
        for libraries in ours:
            use(libraries, (gantry.Error, TypeError))

    tvm_ffi.register_global_func("only.of.tvm_ffi", lambda: 1)
    runtimes[0].add_function("only.of.gantry", lambda: 1)
    assert theirs["has_global"]("only.of.tvm_ffi") and not theirs["has_global"]("only.of.gantry")
    for libraries, expected in zip(ours, (True, False)):
        assert libraries["has_global"]("only.of.gantry") == expected
        assert not libraries["has_global"]("only.of.tvm_ffi")

    # Tensors through DLPack, in both directions, in the same memory.
    doubled = runtimes[0].empty((4,), "float32")
    ours[0]["scale"](tvm_ffi.from_dlpack(numpy.arange(4, dtype="float32")), 2.0, doubled)
    tripled = numpy.zeros(4, "float32")
    theirs["scale"](tvm_ffi.from_dlpack(doubled), 3.0, tvm_ffi.from_dlpack(tripled))
    assert tripled.tolist() == [0, 6, 12, 18]

    # Functions through a call.
    runtimes[0].add_function("of.tvm_ffi", lambda n: theirs["add_one"](n))
    assert ours[0]["apply"](runtimes[0].function("of.tvm_ffi"), 1) == 2
    assert theirs["apply"](tvm_ffi.convert(lambda n: ours[1]["add_one"](n)), 1) == 2
    print(f"tvm-ffi {tvm_ffi.__version__} imported {order} gantry: types, functions, errors and tensors are apart")


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
"""Calls a function of a library from Python; tests/bench/instructions counts from one mark to the next."""

import gantry

module = gantry.default_runtime().load_module("models/ffi_calls.so")
mark, sum4 = module["gantry_bench_mark"], module["sum4"]
for _ in range(8):
    mark()
    for _ in range(100):
        if sum4(3, 4, 5.0, 6.0) != 18:
            raise ValueError("sum4 is wrong")
mark()

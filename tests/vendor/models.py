# SPDX-License-Identifier: Apache-2.0
"""Runs the models of a plugin in Python and compares their outputs with stated numbers.

    python models.py quasar|ort PLUGINS_DIRECTORY MODEL
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import gantry
import numpy


def floats(*values):
    return numpy.array(values, "f4")


def expect_error(reason, call):
    try:
        call()
    except gantry.Error as error:
        assert error.reason == reason, error
    else:
        raise AssertionError(f"no error, expected {reason}")


def check_quasar(runtime, path):
    # The weights of model/make.py; every number is exact.
    w, b = floats([1, 2, 3], [-1, 0, 2]), floats(1, -300)
    for device in ("quasar:0", "quasar:1"):
        model = runtime.load(path, device=[device, "cpu"])
        numpy.testing.assert_array_equal(model(x=floats(1, 10, 100)), floats(161, 0))
        inputs = [floats(i, 10 - i, 3 * i) for i in range(200)]
        with ThreadPoolExecutor(4) as threads:
            for x, y in zip(inputs, threads.map(lambda x: model(x=x), inputs)):
                numpy.testing.assert_array_equal(y, numpy.maximum(w @ x + b, 0) / 2)
        expect_error("ARGUMENT_SHAPE", lambda: model(x=floats(1, 2)))
    return f"2 devices, {1 + len(inputs)} runs on each"


def check_ort(runtime, path):
    model = runtime.load(path)
    x = numpy.arange(8, dtype="f4").reshape(2, 4)
    y, best = model(x=x)
    numpy.testing.assert_array_equal(y, floats([0, 5, 0.25], [3, 13, 5.25]))
    numpy.testing.assert_array_equal(best, [1, 1])
    assert best.dtype == numpy.int64
    one = model(x=floats([1, 0, 0, 0]))
    numpy.testing.assert_array_equal(one.y, floats([1, 0, 0.5]))
    numpy.testing.assert_array_equal(one.best, [0])
    # Results are memory of the library, which later runs do not write.
    numpy.testing.assert_array_equal(y, floats([0, 5, 0.25], [3, 13, 5.25]))
    filled = numpy.full((2, 3), 7, "f4")
    model.run({"x": x}, out={"y": filled})
    numpy.testing.assert_array_equal(filled, y)
    with ThreadPoolExecutor(4) as threads:
        for n, output in enumerate(threads.map(lambda n: model(x=numpy.ones((n + 1, 4), "f4")), range(50))):
            numpy.testing.assert_array_equal(output.y, numpy.tile(floats(1, 2, 1.25), (n + 1, 1)))
    expect_error("ARGUMENT_SHAPE", lambda: model(x=floats([1, 2])))
    return "53 runs"


name, plugins, path = sys.argv[1:]
print({"quasar": check_quasar, "ort": check_ort}[name](gantry.Runtime(plugins=[plugins]), path))

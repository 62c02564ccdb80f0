# SPDX-License-Identifier: Apache-2.0
"""Loads files that gantry writes in container layout two with Apache TVM, and compares what TVM computes.

    load_written.py GANTRY PLUGINS DATA WORK      (tests/bench/peers/written prepares the arguments)
"""
import json
import os
import shutil
import struct
import subprocess
import sys

import numpy
import tvm
from tvm import relax

HOST_CODE = """
#include <stdint.h>
typedef struct { int32_t type_index; uint32_t zero; int64_t value; } Any;
int __tvm_ffi_add(void* self, const Any* args, int32_t count, Any* result) {
  (void)self;
  if (count != 2) return -1;
  result->type_index = 1;
  result->zero = 0;
  result->value = args[0].value + args[1].value;
  return 0;
}
"""

RECIPE = """schema: "1.0"
sources: [add.c]
device_modules:
  - {type_key: const_loader, data: constants.bin}
"""


class Gantry:
    def __init__(self, program, plugins, work):
        self.words = [program, "--plugins", plugins, "--config", "/dev/null", "-q"]
        self.work = work
        self.count = 0

    def new_file(self):
        """A path that was not loaded before: the linker does not open a path twice."""
        self.count += 1
        return os.path.join(self.work, "written%d.so" % self.count)

    def run(self, *words):
        return subprocess.run(self.words + list(words), check=True, capture_output=True, text=True).stdout


def constants_of(payload):
    """Returns the arrays of a const_loader payload by name, read without gantry and without TVM."""
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, payload, at)
        at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def text():
        nonlocal at
        size = take("Q")
        at += size
        return payload[at - size:at].decode()

    names = [text() for _ in range(take("Q"))]
    arrays = {}
    count = take("Q")
    assert count == len(names)
    for name in names:
        take("QQii")
        dimensions = take("i")
        code, bits, lanes = take("BBH")
        assert (code, bits, lanes) == (2, 32, 1), "the golden constants are float32"
        shape = [take("q") for _ in range(dimensions)]
        size = take("q")
        arrays[name] = numpy.frombuffer(payload, "float32", size // 4, at).reshape(shape)
        at += size
    return arrays


def report(what, compared):
    print("| %s | %s |" % (what, compared), flush=True)


def outputs(path, inputs):
    machine = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
    return [machine["main"](tvm.runtime.tensor(each)).numpy() for each in inputs]


def compare_model(gantry, what, source, inputs, expected):
    """Writes a Relax model in several ways; TVM must compute with each what it computes with the original."""
    ways = {
        "carried through": ["--form", "library"],
        "aligned": ["--align"],
    }
    for way, options in ways.items():
        written = gantry.new_file()
        gantry.run("repack", source, "-o", written, *options)
        found = outputs(written, inputs)
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes(), (what, way)
        report("%s, %s" % (what, way), "%d outputs equal bit for bit" % len(found))


def compare_executables(gantry, data):
    """TVM loads every Relax artifact for the CPU after gantry has written it, and lists the same modules and functions."""
    count = 0
    for name in sorted(os.listdir(data)):
        if not name.endswith("_llvm.so"):
            continue
        source, written = os.path.join(data, name), gantry.new_file()
        shown = json.loads(gantry.run("inspect", source, "--json"))
        if shown["generation"] != "G5":
            continue
        gantry.run("repack", source, "-o", written)
        before, after = (tvm.runtime.load_module(path) for path in (source, written))
        assert before.kind == after.kind
        assert [each.kind for each in before.imports] == [each.kind for each in after.imports]
        if before.kind == "relax.VMExecutable":
            for function in ("as_text", "stats"):
                assert before.get_function(function)() == after.get_function(function)(), name
        count += 1
    report("Relax executables of TVM 0.25 to 0.27", "%d load; bytecode and constants listed alike" % count)


def compare_constants(gantry, data, work):
    """A const_loader module that TVM 0.12 wrote in layout one, in layout two."""
    extracted = os.path.join(work, "payloads")
    gantry.run("inspect", os.path.join(data, "tvm-0.12/digits_mlp_dnnl.so"), "--extract", extracted)
    payload = os.path.join(extracted, "1-const_loader.bin")
    with open(payload, "rb") as file:
        expected = constants_of(file.read())

    def check(what, module):
        found = {str(name): array.numpy() for name, array in module.get_function("get_const_var_tensor")().items()}
        fillers = [name for name in found if name.startswith("__gantry_fill_")]
        assert sorted(found) == sorted(list(expected) + fillers)
        for name, array in expected.items():
            assert numpy.array_equal(found[name], array), name
        report(what, "%d constants equal" % len(expected))

    def add(source, parent, *options):
        """Adds the module to another one; returns the path of the result."""
        written = gantry.new_file()
        gantry.run("repack", source, "--add", "const_loader=%s@%s" % (payload, parent), "-o", written, *options)
        return written

    model = os.path.join(data, "tvm-0.25/digits_mlp_relax_llvm.so")
    for what, options in {"added": [], "added and aligned": ["--align"]}.items():
        module = tvm.runtime.load_module(add(model, "0", *options))
        (constants,) = [each for each in module.imports if each.kind == "const_loader"]
        check("const_loader, %s to a Relax model" % what, constants)

    with open(os.path.join(work, "add.c"), "w") as file:
        file.write(HOST_CODE)
    with open(os.path.join(work, "add.yaml"), "w") as file:
        file.write(RECIPE)
    shutil.copy(payload, os.path.join(work, "constants.bin"))
    packed = gantry.new_file()
    gantry.run("pack", os.path.join(work, "add.yaml"), "--generation", "g5", "-o", packed)
    for what, path in {"packed from a recipe": packed, "packed, then repacked": add(packed, "_lib")}.items():
        module = tvm.runtime.load_module(path)
        assert module.get_function("add")(40, 2) == 42
        report("CPU code, " + what, "add(40, 2) is 42")
        for constants in module.imports:
            check("const_loader, " + what, constants)


def main():
    program, plugins, data, work = sys.argv[1:]
    gantry = Gantry(program, plugins, work)
    print("apache-tvm %s\n\n| written by gantry | compared |\n|---|---|" % tvm.__version__)
    digits = os.path.join(data, "tvm-0.25/digits_mlp_relax_llvm.so")
    inputs = list(numpy.load(os.path.join(data, "tvm-0.12/digits_mlp.input.npz"))["x"])
    stored = list(numpy.load(os.path.join(data, "tvm-0.25/digits_mlp_relax_llvm.expected.npz"))["output"])
    original = outputs(digits, inputs)
    assert all(numpy.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(original, stored))
    compare_model(gantry, "digits, Relax", digits, inputs, original)
    random = numpy.random.default_rng(1)
    for name, shape in {"cnn_llvm": (1, 1, 8, 8), "cnn_fused_llvm": (1, 1, 8, 8), "resnet14_llvm": (1, 3, 20, 20)}.items():
        source = os.path.join(data, "relax", name + ".so")
        inputs = [random.standard_normal(shape, dtype="float32") for _ in range(4)]
        compare_model(gantry, name + ", Relax", source, inputs, outputs(source, inputs))
    compare_executables(gantry, os.path.join(data, "relax"))
    compare_constants(gantry, data, work)


if __name__ == "__main__":
    main()

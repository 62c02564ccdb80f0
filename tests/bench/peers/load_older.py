# SPDX-License-Identifier: Apache-2.0
"""Loads what gantry writes in generation G2 with a TVM of v0.7, and compares what it computes.

    load_older.py GANTRY LIBDLR WORK      (tests/bench/peers/older prepares the arguments)

The peer is the run-time library of DLR 1.4.0, which contains the loader of v0.7, its graph runtime and its module of
constants, "metadata". Models have three files: library, graph and parameters.
"""
import ctypes
import json
import os
import shutil
import struct
import subprocess
import sys

HOST_CODE = """
#include <stdint.h>
typedef struct { int32_t type, id; } Device;
typedef struct {
  float* data; Device device; int32_t ndim; uint32_t dtype; int64_t *shape, *strides; uint64_t byte_offset;
} Tensor;
int add(Tensor** args, const int32_t* codes, int32_t count, void* result, int32_t* code) {
  (void)codes, (void)result, (void)code;
  if (count != 3) return -1;
  for (int i = 0; i < 4; ++i) args[2]->data[i] = args[0]->data[i] + args[1]->data[i];
  return 0;
}
"""

RECIPE = """schema: "1.0"
sources: [add.c]
device_modules:
  - {type_key: const_loader, data: constants.bin}
"""

GRAPH = {
    "nodes": [{"op": "null", "name": "x", "inputs": []},
              {"op": "null", "name": "w", "inputs": []},
              {"op": "tvm_op", "name": "add", "inputs": [[0, 0, 0], [1, 0, 0]],
               "attrs": {"func_name": "add", "num_inputs": "2", "num_outputs": "1", "flatten_data": "0"}}],
    "arg_nodes": [0, 1], "heads": [[2, 0, 0]], "node_row_ptr": [0, 1, 2, 3],
    "attrs": {"dltype": ["list_str", ["float32"] * 3], "shape": ["list_shape", [[4]] * 3],
              "storage_id": ["list_int", [0, 1, 2]]},
}


def texts(*all_texts):
    return struct.pack("<Q", len(all_texts)) + b"".join(struct.pack("<Q", len(text)) + text for text in all_texts)


def array(*values):
    head = struct.pack("<QQiiiBBHqq", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, len(values), 4 * len(values))
    return head + struct.pack("<%df" % len(values), *values)


def write(path, content):
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


class Peer:
    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.DLRGetLastError.restype = ctypes.c_char_p

    def check(self, code):
        if code != 0:
            raise RuntimeError(self.library.DLRGetLastError().decode())

    def run(self, model, values):
        """Loads the model in a directory and returns its output for one input."""
        handle = ctypes.c_void_p()
        self.check(self.library.CreateDLRModel(ctypes.byref(handle), model.encode(), 1, 0))
        floats = ctypes.c_float * len(values)
        self.check(self.library.SetDLRInput(ctypes.byref(handle), b"x", (ctypes.c_int64 * 1)(len(values)),
                                            floats(*values), 1))
        self.check(self.library.RunDLRModel(ctypes.byref(handle)))
        output = floats()
        self.check(self.library.GetDLROutput(ctypes.byref(handle), 0, output))
        self.check(self.library.DeleteDLRModel(ctypes.byref(handle)))
        return list(output)


def main():
    program, library, work = sys.argv[1:]
    at = lambda name: os.path.join(work, name)
    gantry = lambda *words: subprocess.run([program, "--config", "/dev/null", "-q", *words], check=True)
    write(at("add.c"), HOST_CODE)
    write(at("add.yaml"), RECIPE)
    write(at("constants.bin"), texts(b"c0", b"c1") + struct.pack("<Q", 2) + array(1, 2, 3) + array(4)
          + texts(b"other") + struct.pack("<Q", 1) + texts(b"c0", b"c1"))
    parameters = struct.pack("<QQ", 0xF7E58D4F05049CB7, 0) + texts(b"w") + struct.pack("<Q", 1) + array(10, 20, 30, 40)
    gantry("pack", at("add.yaml"), "-o", at("g3.so"))
    gantry("repack", at("g3.so"), "--generation", "g2", "--no-load", "-o", at("g2.so"))
    gantry("repack", at("g2.so"), "--align", "--no-load", "-o", at("aligned.so"))

    peer = Peer(library)
    print("| written by gantry | compared |\n|---|---|")
    for name in ("g2", "aligned"):
        model = at(name)
        os.mkdir(model)
        shutil.copy(at(name + ".so"), model)
        write(os.path.join(model, "model.json"), json.dumps(GRAPH))
        write(os.path.join(model, "model.params"), parameters)
        assert peer.run(model, [1, 2, 3, 4]) == [11, 22, 33, 44], name
        print("| CPU code, metadata, %s | 4 outputs equal |" % name)


if __name__ == "__main__":
    main()

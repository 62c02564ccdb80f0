# SPDX-License-Identifier: Apache-2.0
"""Writes the files of model.yaml and other.yaml into the directory of this file: images of kernels, a graph, weights, an input."""

import json
import os
import struct

import numpy

CPU, EXT_DEV = 1, 12  # for compilers an accelerator without a number of its own is ext_dev


def image(architecture, kernels):
    records = (struct.pack("<Q", len(name)) + name.encode() + struct.pack("<If", *code) for name, *code in kernels)
    return struct.pack("<II", architecture, len(kernels)) + b"".join(records)


class Graph:
    """A graph of JSON, as exporters write it: one storage and one device for each node."""

    def __init__(self):
        self.nodes, self.shapes, self.devices = [], [], []

    def add(self, node, shape, device):
        self.nodes.append(node)
        self.shapes.append(shape)
        self.devices.append(device)
        return len(self.nodes) - 1

    def variable(self, name, shape, device):
        return self.add({"op": "null", "name": name, "inputs": []}, shape, device)

    def operator(self, function, name, inputs, shape, device):
        attributes = {"func_name": function, "num_inputs": str(len(inputs)), "num_outputs": "1", "flatten_data": "0"}
        return self.add({"op": "tvm_op", "name": name, "attrs": attributes, "inputs": [[node, 0, 0] for node in inputs]}, shape, device)

    def document(self, output):
        count = len(self.nodes)
        return {
            "nodes": self.nodes,
            "arg_nodes": [i for i, node in enumerate(self.nodes) if node["op"] == "null"],
            "heads": [[output, 0, 0]],
            "node_row_ptr": list(range(count + 1)),
            "attrs": {
                "dltype": ["list_str", ["float32"] * count],
                "device_index": ["list_int", self.devices],
                "storage_id": ["list_int", list(range(count))],
                "shape": ["list_shape", self.shapes],
            },
        }


os.chdir(os.path.dirname(os.path.abspath(__file__)))
kernels = [("add_kernel", 1, 0.0), ("relu_kernel", 3, 0.0), ("half_kernel", 4, 0.5), ("matvec_kernel", 5, 0.0), ("halt_kernel", 6, 0.0)]
with open("image.bin", "wb") as file:
    file.write(image(1, kernels))
with open("other.bin", "wb") as file:
    file.write(image(2, kernels[1:2]))

numpy.save("w.npy", numpy.array([[1, 2, 3], [-1, 0, 2]], "f4"))
numpy.save("b.npy", numpy.array([1, -300], "f4"))
numpy.save("x.npy", numpy.array([1, 10, 100], "f4"))

graph = Graph()
x = graph.variable("x", [3], EXT_DEV)
w = graph.variable("w", [2, 3], EXT_DEV)
b = graph.variable("b", [2], CPU)
product = graph.operator("matvec", "product", [w, x], [2], EXT_DEV)
product_cpu = graph.operator("__copy", "product_cpu", [product], [2], CPU)
total_cpu = graph.operator("bias", "total_cpu", [product_cpu, b], [2], CPU)
total = graph.operator("__copy", "total", [total_cpu], [2], EXT_DEV)
positive = graph.operator("relu", "positive", [total], [2], EXT_DEV)
half = graph.operator("half", "half", [positive], [2], EXT_DEV)
y = graph.operator("__copy", "y", [half], [2], CPU)
with open("graph.json", "w") as file:
    json.dump(graph.document(y), file)

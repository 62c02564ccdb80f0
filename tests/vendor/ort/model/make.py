# SPDX-License-Identifier: Apache-2.0
"""Writes payloads with an ONNX model each, and an input, into the directory of this file."""

import os
import struct

import numpy
from onnx import TensorProto, checker, helper, numpy_helper

os.chdir(os.path.dirname(os.path.abspath(__file__)))
w = numpy.array([[1, -1, 0.5], [0, 2, 1], [1, 0, 0], [-1, 1, -0.25]], "f4")
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
best = helper.make_tensor_value_info("best", TensorProto.INT64, ["n"])
product = helper.make_node("MatMul", ["x", "w"], ["product"])
positive = helper.make_node("Relu", ["product"], ["y"])
largest = helper.make_node("ArgMax", ["y"], ["best"], axis=1, keepdims=0)


def text(content):
    return struct.pack("<Q", len(content)) + content


def write(function, nodes, outputs):
    graph = helper.make_graph(nodes, function, [x], outputs, [numpy_helper.from_array(w, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    with open(f"{function}.bin", "wb") as file:
        file.write(text(function.encode()) + text(model.SerializeToString()))


write("dense", [product, positive], [y])
write("classify", [product, positive, largest], [y, best])
numpy.save("x.npy", numpy.arange(8, dtype="f4").reshape(2, 4))

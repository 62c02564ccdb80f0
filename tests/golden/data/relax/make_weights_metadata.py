#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports weights_metadata_llvm.so and records its calls and weights_metadata.weights.

    pip install apache-tvm==0.27.0.post1 && tests/golden/data/relax/make_weights_metadata.py

The functions take their weights as one tuple, and the function `_metadata` returns JSON that lists
them in the order of the tuple, as models of MLC-LLM do. The directory lists them in another order,
and some have the same type, so that only the metadata determine the tuple. Weights are random with
a fixed seed.
"""

import json
import os
import subprocess

import numpy as np
import tvm
from tvm import relax
from tvm.contrib import tvmjs
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "weights_metadata"
SIZE, CLASSES, TOKENS = 16, 10, 32
TARGET = tvm.target.Target({"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": "x86-64"})


class Block(nn.Module):
    def __init__(self):
        self.gate = nn.Linear(SIZE, SIZE, bias=False)
        self.up = nn.Linear(SIZE, SIZE, bias=False)

    def forward(self, x):
        return x + op.silu(self.gate(x)) * self.up(x)


class Model(nn.Module):
    """A classifier of tokens whose number of tokens is known when it runs."""

    def __init__(self):
        self.tokens = nn.Embedding("token_count", SIZE)
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.head = nn.Linear(SIZE, CLASSES)

    def embed(self, ids):
        return self.tokens(ids)

    def classify(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def metadata_of(named_params):
    """Returns what models of MLC-LLM have about their weights."""
    params = [
        {
            "name": name,
            "shape": [n if isinstance(n, int) else n.name for n in param.shape],
            "dtype": str(param.dtype),
            "preprocs": [],
            "pipeline_stages": [0],
        }
        for name, param in named_params
    ]
    return {"model_type": "classifier", "quantization": "q0f32", "params": params}


def with_metadata(module, metadata):
    builder = relax.BlockBuilder(module)
    with builder.function("_metadata", params=[]):
        builder.emit_func_output(tvm.ir.StringImm(json.dumps(metadata)))
    return builder.get()


def random_weights(params, random):
    shapes = ([TOKENS if isinstance(n, str) else n for n in p["shape"]] for p in params)
    return {
        param["name"]: random.uniform(-0.5, 0.5, shape).astype(param["dtype"])
        for param, shape in zip(params, shapes)
    }


def record(machine, names, random):
    """Makes the calls that the model is for, and records them in the form of SCRIPT.md."""
    directory = {"t": "str", "dir": f"{NAME}.weights"}
    load = tvm.get_global_func("vm.builtin.tensor_cache.load")
    by_name = tvm.get_global_func("vm.builtin.param_array_from_cache_by_name")
    load(os.path.join(HERE, directory["dir"]), 1, 0)
    params = by_name(names)
    tvm.get_global_func("vm.builtin.tensor_cache.clear")()
    calls = [
        {"func": "_metadata", "args": [], "ret": {"t": "str", "v": str(machine["_metadata"]())}},
        {
            "func": "vm.builtin.tensor_cache.load",
            "global": True,
            "args": [directory, {"t": "int", "v": 1}, {"t": "int", "v": 0}],
            "ret": {"t": "none"},
        },
        {
            "func": "vm.builtin.param_array_from_cache_by_name",
            "global": True,
            "args": [{"t": "tuple", "v": [{"t": "str", "v": name} for name in names]}],
            "ret": {"t": "any"},
        },
    ]
    arrays = {}

    def tensor(key, value):
        arrays[key] = value
        return {"t": "tensor", "key": key, "dtype": str(value.dtype), "shape": list(value.shape)}

    for func in ("embed", "classify"):
        ids = random.integers(0, TOKENS, 5).astype("int32")
        result = machine[func](tvm.runtime.tensor(ids), params).numpy()
        n = len(calls)
        args = [tensor(f"c{n}_a0", ids), {"t": "ref", "call": 2, "path": []}]
        calls.append({"func": func, "args": args, "ret": tensor(f"c{n}_r", result)})
    return calls, arrays


def main():
    ids = {"ids": nn.spec.Tensor(["n"], "int32"), "$": {"param_mode": "packed"}}
    ids["$"]["effect_mode"] = "none"
    module, named_params = Model().export_tvm({"embed": dict(ids), "classify": dict(ids)})
    metadata = metadata_of(named_params)
    module = with_metadata(module, metadata)
    file = os.path.join(HERE, f"{NAME}_llvm.so")
    with TARGET:
        executable = tvm.compile(relax.get_pipeline("zero")(module), TARGET)
    executable.export_library(file)
    subprocess.run(["strip", "-g", file], check=True)

    random = np.random.default_rng(11)
    weights = random_weights(metadata["params"], random)
    tvmjs.dump_tensor_cache(
        {name: weights[name] for name in sorted(weights, reverse=True)},
        os.path.join(HERE, f"{NAME}.weights"),
        encode_format="raw",
        show_progress=False,
    )
    machine = relax.VirtualMachine(tvm.runtime.load_module(file), tvm.cpu())
    calls, arrays = record(machine, [p["name"] for p in metadata["params"]], random)
    document = {
        "file": os.path.basename(file),
        "tvm": tvm.__version__,
        "kind": "relax",
        "target": str(TARGET),
        "weight_dirs": [f"{NAME}.weights"],
        "note": "made by make_weights_metadata.py",
        "calls": calls,
    }
    with open(os.path.join(HERE, f"{NAME}_llvm.json"), "w", encoding="utf-8") as script:
        json.dump(document, script, indent=1)
        script.write("\n")
    np.savez(os.path.join(HERE, f"{NAME}_llvm.npz"), **arrays)


if __name__ == "__main__":
    main()

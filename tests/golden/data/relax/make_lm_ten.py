#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records lm_paged_ten.json and .npz: ten sequences at once in one cache of lm_paged_llvm.so, then
each alone in a cache of its own, which must give the same logits within 1e-5.

    pip install apache-tvm==0.27.0.post1 && tests/golden/data/relax/make_lm_ten.py

TVM makes every call and its results are recorded, in the form of tools/gantry/SCRIPT.md. The
tokens are random with a fixed seed, so that the files are the same each time.
"""

import json
import os

import numpy as np
import tvm

HERE = os.path.dirname(os.path.abspath(__file__))
WEIGHTS = "lm_paged.weights"


class Script:
    """Makes calls and records them."""

    def __init__(self, vm):
        self.vm = vm
        self.calls = []
        self.results = []
        self.arrays = {}

    def array(self, key, tensor):
        value = tensor.numpy() if hasattr(tensor, "numpy") else tensor
        self.arrays[key] = value
        return {"t": "tensor", "key": key, "dtype": str(value.dtype), "shape": list(value.shape)}

    def argument(self, key, value):
        """Returns a value for TVM and its record."""
        if isinstance(value, Result):
            return value.of(self), {"t": "ref", "call": value.call, "path": []}
        if isinstance(value, np.ndarray):
            return tvm.runtime.tensor(value), self.array(key, value)
        if isinstance(value, tuple):
            return tvm.runtime.ShapeTuple(value), {"t": "shape", "v": list(value)}
        if isinstance(value, Directory):
            return os.path.join(HERE, value.name), {"t": "str", "dir": value.name}
        if isinstance(value, list):
            return value, {"t": "tuple", "v": [{"t": "str", "v": item} for item in value]}
        return value, {"t": "int" if isinstance(value, int) else "str", "v": value}

    def result(self, key, value):
        if value is None:
            return {"t": "none"}
        if isinstance(value, (bool, int)):
            return {"t": "bool" if isinstance(value, bool) else "int", "v": value}
        if isinstance(value, tvm.runtime.Tensor):
            return self.array(key, value)
        if type(value).__name__ == "Array":
            items = [self.result(f"{key}_{i}", item) for i, item in enumerate(value)]
            return {"t": "tuple", "v": items}
        return {"t": "object", "type": "PagedAttentionKVCache"}

    def call(self, func, *args, compared=True):
        """Makes a call of the machine, or of the runtime if the name begins with "vm."."""
        n = len(self.calls)
        is_global = func.startswith("vm.")
        pairs = [self.argument(f"c{n}_a{i}", arg) for i, arg in enumerate(args)]
        function = tvm.get_global_func(func) if is_global else self.vm[func]
        result = function(*[value for value, _ in pairs])
        call = {"func": func, "args": [record for _, record in pairs]}
        if is_global:
            call["global"] = True
        call["ret"] = self.result(f"c{n}_r", result) if compared else {"t": "any"}
        self.calls.append(call)
        self.results.append(result)
        return Result(n)


class Result:
    """The result of an earlier call."""

    def __init__(self, call):
        self.call = call

    def of(self, script):
        return script.results[self.call]


class Directory:
    def __init__(self, name):
        self.name = name


class Cache:
    """A cache of sequences of random tokens."""

    def __init__(self, script, params, *config):
        self.script = script
        self.params = params
        self.cache = script.call("create_tir_paged_kv_cache", *[(number,) for number in config])
        self.random = np.random.default_rng(10)
        # The tokens of each sequence, and its logits after the last pass.
        self.tokens = {}
        self.logits = {}

    def state(self, name, *args):
        return self.script.call("vm.builtin." + name, self.cache, *args)

    def add(self, *ids):
        for i in ids:
            self.state("kv_state_add_sequence", i)
            self.tokens[i] = []

    def fork(self, parent, child, position):
        self.state("kv_state_fork_sequence", parent, child, position)
        self.tokens[child] = self.tokens[parent][:position]

    def pop(self, i, count):
        self.state("kv_state_popn", i, count)
        del self.tokens[i][-count:]

    def forward(self, func, shape, lengths, *more, tokens=None):
        """A pass; lengths: new tokens by sequence."""
        if tokens is None:
            tokens = self.random.integers(0, 256, sum(lengths.values()))
        tokens = np.array(tokens, "int32")
        embedded = self.script.call("embed", tokens, self.params, compared=False)
        rows = self.script.call("vm.builtin.reshape", embedded, shape, compared=False)
        self.state("kv_state_begin_forward", tuple(lengths), tuple(lengths.values()))
        result = self.script.call(func, rows, *more, self.cache, self.params)
        self.state("kv_state_end_forward")
        logits = result.of(self.script)[0].numpy().reshape(len(lengths), -1)
        self.logits = dict(zip(lengths, logits))
        first = 0
        for i, count in lengths.items():
            self.tokens[i] += tokens[first : first + count].tolist()
            first += count

    def prefill(self, lengths, tokens=None):
        last = np.cumsum(list(lengths.values())).astype("int32") - 1
        shape = (1, sum(lengths.values()), 64)
        self.forward("batch_prefill", shape, lengths, last, tokens=tokens)

    def decode(self, *ids):
        self.forward("batch_decode", (len(ids), 1, 64), {i: 1 for i in ids})

    def numbers(self):
        self.state("attention_kv_cache_get_num_available_pages")
        self.state("attention_kv_cache_get_total_sequence_length")


def ten_sequences(cache):
    # Lengths on both sides of a page's 16 tokens.
    cache.add(0, 1, 2, 3, 4)
    cache.prefill({0: 3, 1: 16, 2: 35, 3: 1, 4: 30})
    cache.add(5, 6, 7, 8)
    cache.prefill({5: 12, 6: 33, 7: 15, 8: 20})
    cache.decode(0, 1, 2, 3, 4, 5, 6, 7, 8)
    # Shares two pages and copies a part of the third.
    cache.fork(2, 9, 34)
    cache.numbers()
    cache.decode(0, 1, 2, 9, 3, 4, 5, 6, 7, 8)
    # New tokens for some, and after a fork for parent and child.
    cache.prefill({9: 4, 0: 14, 2: 2, 3: 1})
    # Across a page's beginning.
    cache.pop(6, 7)
    cache.decode(9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
    cache.state("kv_state_remove_sequence", 4)
    cache.numbers()
    cache.decode(0, 1, 2, 3, 5, 6, 7, 8, 9)
    # The number is free, as are the pages.
    cache.add(4)
    cache.prefill({6: 9, 4: 18, 1: 1})
    # The fork is its parent's owner now.
    cache.state("kv_state_remove_sequence", 2)
    cache.add(2)
    cache.prefill({2: 5})
    cache.decode(9, 0, 1, 2, 3, 4, 5, 6, 7, 8)
    cache.numbers()
    for i in (0, 6, 9):
        cache.state("attention_kv_cache_get_sequence_length", i)


def each_alone(cache):
    """Runs the tokens of each sequence in one prefill of a cache of its own."""
    alone = Cache(cache.script, cache.params, 1, 128, 128, 16, 0)
    for i, tokens in cache.tokens.items():
        alone.add(i)
        alone.prefill({i: len(tokens)}, tokens)
        alone.state("kv_state_remove_sequence", i)
        np.testing.assert_allclose(alone.logits[i], cache.logits[i], rtol=0, atol=1e-5)


def main():
    module = tvm.runtime.load_module(os.path.join(HERE, "lm_paged_llvm.so"))
    script = Script(tvm.relax.VirtualMachine(module, tvm.cpu()))
    with open(os.path.join(HERE, "lm_paged_llvm.json"), encoding="utf-8") as file:
        document = json.load(file)
    script.call("vm.builtin.tensor_cache.load", Directory(WEIGHTS), 1, 0)
    params = script.call("vm.builtin.param_array_from_cache", "param", -1, compared=False)
    script.call("vm.builtin.tensor_cache.clear")
    cache = Cache(script, params, 12, 640, 128, 16, 0)
    ten_sequences(cache)
    each_alone(cache)
    cache.state("kv_state_clear")
    cache.numbers()

    copied = ("file", "tvm", "tvm_ffi", "kind", "target", "config")
    written = {name: document[name] for name in copied}
    written["note"] = "calls for lm_paged_llvm.so, recorded by make_lm_ten.py"
    written["weight_dirs"] = [WEIGHTS]
    written["calls"] = script.calls
    with open(os.path.join(HERE, "lm_paged_ten.json"), "w", encoding="utf-8") as file:
        json.dump(written, file, indent=1)
        file.write("\n")
    np.savez_compressed(os.path.join(HERE, "lm_paged_ten.npz"), **script.arrays)


if __name__ == "__main__":
    main()

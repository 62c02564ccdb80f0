#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports lm_paged_KIND.so: the transformer of lm_paged_llvm.so with kernels in OpenCL C or CUDA C++.

    pip install apache-tvm==0.27.0.post1 && tests/golden/data/relax/make_lm_device.py opencl|cuda

Parameters and functions are those of lm_paged_llvm.so, without `prefill`, `decode` and sampling, so
that the calls of lm_paged_ten have the same results.
"""

import json
import os
import shutil
import subprocess
import sys

import tvm
from tvm import relax
from tvm.s_tir import dlight
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op
from tvm.relax.frontend.nn.llm import kv_cache as kv
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache
from tvm.script import tirx as T

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS, SIZE, HEADS, KV_HEADS, HEAD, TOKENS, HIDDEN = 2, 64, 4, 2, 16, 256, 128

KIND = sys.argv[1]
DEVICE_TYPE = {"opencl": 4, "cuda": 2}[KIND]
TARGET = tvm.target.Target(
    {
        "kind": KIND,
        "host": {"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": "x86-64"},
        "max_num_threads": 256,
        "max_threads_per_block": 256,
        "max_shared_memory_per_block": {"opencl": 16384, "cuda": 49152}[KIND],
        **({"arch": "sm_75"} if KIND == "cuda" else {}),
    }
)


@T.prim_func(s_tir=True)
def merge_state(a: T.handle, s: T.handle, a_other: T.handle, s_other: T.handle):
    """Merges two results of attention. One work-item has a token and a head.

    In TVM's own kernel, the work-items of a head read a sum that each of them replaces, without a
    barrier between: right only where they run in step, which PoCL's do not.
    """
    T.func_attr({"tirx.is_scheduled": True})
    n = T.int32()
    A = T.match_buffer(a, (n, HEADS, HEAD), "float32")
    S = T.match_buffer(s, (n, HEADS), "float32")
    A_other = T.match_buffer(a_other, (n, HEADS, HEAD), "float32")
    S_other = T.match_buffer(s_other, (n, HEADS), "float32")
    for i in T.thread_binding(n, thread="blockIdx.x"):
        for h in T.thread_binding(HEADS, thread="threadIdx.x"):
            with T.sblock("merge"):
                largest = T.sblock_alloc_buffer((1,), "float32", scope="local")
                weight = T.sblock_alloc_buffer((2,), "float32", scope="local")
                largest[0] = T.max(S[i, h], S_other[i, h])
                weight[0] = T.exp2(S[i, h] - largest[0])
                weight[1] = T.exp2(S_other[i, h] - largest[0])
                for k in T.serial(HEAD):
                    A[i, h, k] = (A[i, h, k] * weight[0] + A_other[i, h, k] * weight[1]) / (
                        weight[0] + weight[1]
                    )
                S[i, h] = T.log2(weight[0] + weight[1]) + largest[0]


class Cache(PagedKVCache):
    """A cache without the kernels of sliding windows and token trees, which make up most of the
    size of TIRPagedKVCache."""

    def __init__(self, config):
        builder = relax.BlockBuilder.current()

        def function(kernel, name):
            return builder.add_func(kernel, name)

        def kernel(kernel, name):
            return relax.Tuple([tvm.ir.StringImm("tirx"), function(kernel, name)])

        page_size = config[3]
        number = relax.prim_value
        none = relax.Tuple([])
        prefill = kv._attention_prefill(KV_HEADS, HEADS, HEAD, "float32", False, {}, TARGET)
        decode = kv._attention_decode(KV_HEADS, HEADS, HEAD, "float32", False, {}, TARGET)
        ragged = kv._attention_prefill_ragged(
            KV_HEADS, HEADS, HEAD, HEAD, "float32", {}, TARGET
        )
        append = function(
            kv._kv_cache_transpose_append(KV_HEADS, HEAD, "float32"), "transpose_append"
        )
        rotary = kv.llama_rope_with_position_map(
            10000, 1, HEAD, HEADS, KV_HEADS, "float32", {}, HEAD
        )
        copy_page = kv._copy_single_page(KV_HEADS, page_size, HEAD, "float32", TARGET)
        get_kv = kv._kv_cache_debug_get_kv(LAYERS, KV_HEADS, HEAD, "float32")
        args = [
            relax.ShapeExpr(list(config)),
            relax.ShapeExpr([0, LAYERS]),
            *[number(n) for n in (HEADS, KV_HEADS, HEAD, HEAD)],
            relax.ShapeExpr([0] * LAYERS),
            # no transfer, and for the rotary embedding: normal, scale, theta, no factors
            *[number(n) for n in (0, int(kv.RopeMode.NORMAL), 1, 10000, 0)],
            relax.op.zeros((), "float32"),
            append,
            # of MLA, not called
            append,
            kernel(ragged, "ragged_prefill"),
            kernel(prefill, "paged_prefill"),
            kernel(decode, "paged_decode"),
            *[none] * 5,
            relax.Tuple([function(merge_state, "merge_state")]),
            function(rotary, "split_rotary"),
            function(copy_page, "copy_single_page"),
            function(get_kv, "debug_get_kv"),
            # of token trees, not called
            append,
        ]
        super().__init__(
            _expr=relax.call_pure_packed(
                "vm.builtin.paged_attention_kv_cache_create", *args, ty_args=relax.AnyType()
            ),
            _name="paged_kv_cache",
        )


class Layer(nn.Module):
    def __init__(self):
        self.n1 = nn.RMSNorm(SIZE, -1, 1e-5, bias=False)
        self.n2 = nn.RMSNorm(SIZE, -1, 1e-5, bias=False)
        self.qkv = nn.Linear(SIZE, (HEADS + 2 * KV_HEADS) * HEAD, bias=False)
        self.o = nn.Linear(HEADS * HEAD, SIZE, bias=False)
        self.gu = nn.Linear(SIZE, 2 * HIDDEN, bias=False)
        self.dn = nn.Linear(HIDDEN, SIZE, bias=False)

    def forward(self, x, cache, layer):
        tokens = x.shape[0]
        qkv = op.reshape(self.qkv(self.n1(x)), (1, tokens, HEADS + 2 * KV_HEADS, HEAD))
        attended = cache.attention_with_fused_qkv(layer, qkv, HEADS, HEAD**-0.5)
        x = x + self.o(op.reshape(attended, (tokens, HEADS * HEAD)))
        gate, up = op.split(self.gu(self.n2(x)), 2, axis=-1)
        return x + self.dn(op.silu(gate) * up)


class Model(nn.Module):
    def __init__(self):
        self.emb = nn.Embedding(TOKENS, SIZE)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.norm = nn.RMSNorm(SIZE, -1, 1e-5, bias=False)
        self.head = nn.Linear(SIZE, TOKENS, bias=False)

    def hidden(self, x, cache):
        for i, layer in enumerate(self.layers):
            x = layer(x, cache, i)
        return self.norm(x)

    def embed(self, idx):
        return self.emb(idx)

    def batch_prefill(self, x, pos, cache):
        x = self.hidden(op.reshape(x, (x.shape[1], SIZE)), cache)
        x = self.head(op.take(x, pos, axis=0))
        return op.reshape(x, (1, pos.shape[0], TOKENS)), cache

    def batch_decode(self, x, cache):
        b = x.shape[0]
        x = self.head(self.hidden(op.reshape(x, (b, SIZE)), cache))
        return op.reshape(x, (b, 1, TOKENS)), cache

    def create_tir_paged_kv_cache(
        self, max_batch, max_total, prefill_chunk, page_size, sliding_window
    ):
        return Cache((max_batch, max_total, prefill_chunk, page_size, sliding_window))


def signatures():
    """Returns the types of all arguments; texts are dimensions."""

    def tensor(*shape, dtype="float32"):
        return nn.spec.Tensor(list(shape), dtype)

    cache = nn.spec.Object(object_type=PagedKVCache)
    state = {"$": {"param_mode": "packed", "effect_mode": "none"}}
    plain = {"$": {"param_mode": "none", "effect_mode": "none"}}
    sizes = ("max_batch", "max_total", "prefill_chunk", "page_size", "sliding_window")
    return {
        "embed": {"idx": tensor("n", dtype="int32"), **state},
        "batch_prefill": {
            "x": tensor(1, "n", SIZE),
            "pos": tensor("b", dtype="int32"),
            "cache": cache,
            **state,
        },
        "batch_decode": {"x": tensor("n", 1, SIZE), "cache": cache, **state},
        "create_tir_paged_kv_cache": {**{name: int for name in sizes}, **plain},
    }


def main():
    module, _ = Model().export_tvm(signatures())
    # Plain schedules: those of the default pipeline unroll matrix products to 300 KB of source.
    passes = (
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
        dlight.ApplyDefaultSchedule(dlight.gpu.Fallback()),
    )
    with TARGET:
        module = tvm.transform.Sequential(passes)(module)
        executable = tvm.compile(module, TARGET)
    file = os.path.join(HERE, f"lm_paged_{KIND}.so")
    executable.export_library(file)
    subprocess.run(["strip", "-g", file], check=True)
    # The calls and results of the CPU, with the weights on the device.
    with open(os.path.join(HERE, "lm_paged_ten.json"), encoding="utf-8") as source:
        document = json.load(source)
    document["file"] = os.path.basename(file)
    document["target"] = str(TARGET)
    document["note"] = "exported by make_lm_device.py; the results are those of lm_paged_ten"
    document["calls"][0]["args"][1]["v"] = DEVICE_TYPE
    document["expected_from"] = "lm_paged_ten"
    with open(os.path.join(HERE, f"lm_paged_{KIND}.json"), "w", encoding="utf-8") as script:
        json.dump(document, script, indent=1)
        script.write("\n")
    names = [os.path.join(HERE, f"lm_paged_{name}.npz") for name in ("ten", KIND)]
    shutil.copyfile(*names)


if __name__ == "__main__":
    main()

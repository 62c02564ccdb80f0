#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles products of matrices with apache-tvm, for contrib_times: its wheel has no BLAS functions.

    compile_products.py DIRECTORY SIZE...      writes DIRECTORY/matmul_SIZE.so with a function `product`
"""
import pathlib
import sys

import tvm
from tvm import te, topi

for size in map(int, sys.argv[2:]):
    a, b = (te.placeholder((size, size), "float32", name=name) for name in "ab")
    function = te.create_prim_func([a, b, topi.matmul(a, b)]).with_attr("global_symbol", "product")
    cpu = tvm.get_global_func("target.llvm_get_system_cpu", allow_missing=True)
    target = {"kind": "llvm", "mcpu": cpu() if cpu else "native"}
    built = tvm.compile(tvm.IRModule({"product": function}), target=tvm.target.Target(target))
    built.export_library(str(pathlib.Path(sys.argv[1], f"matmul_{size}.so")))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recognizes the golden digits with ctypes and the table of gantry/embed.h, and nothing else.

usage: table_test.py LIBRARY PLUGINS GOLDEN_DIR ANSWERS
"""
import ctypes
import sys
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char, c_char_p, c_int32, c_int64, c_uint8, c_uint16,
                    c_uint32, c_uint64, c_void_p, cast, sizeof)

TENSOR_REF, TENSOR = 7, 70


class Bytes(Structure):
    _fields_ = [("data", c_char_p), ("size", c_uint64)]

    def __init__(self, text=""):
        encoded = text.encode()
        super().__init__(encoded, len(encoded))


class Status(Structure):
    _fields_ = [("struct_size", c_uint32), ("code", c_int32), ("text", c_char_p), ("text_capacity", c_uint32),
                ("text_size", c_uint32), ("error", c_void_p), ("offset", c_uint64), ("native_code", c_int64),
                ("native_domain", c_char * 16), ("reason", c_char * 32)]


class Dtype(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Device(Structure):
    _fields_ = [("type", c_int32), ("index", c_int32)]


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", Device), ("ndim", c_int32), ("dtype", Dtype),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Value(Structure):
    _fields_ = [("kind", c_int32), ("small_size", c_uint32), ("p", c_void_p)]


class LogSink(Structure):
    _fields_ = [("self", c_void_p), ("write", c_void_p), ("destroy", c_void_p)]


class RuntimeOptions(Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("config_file", Bytes),
                ("plugin_paths", POINTER(Bytes)), ("plugin_path_count", c_uint32), ("threads", c_int32),
                ("log_level", Bytes), ("log", LogSink)]


class Parameter(Structure):
    _fields_ = [("struct_size", c_uint32), ("kind", c_int32), ("name", Bytes), ("type", Bytes),
                ("shape", POINTER(c_int64)), ("ndim", c_int32), ("dtype", Dtype)]


class Signature(Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("input_count", c_uint32),
                ("output_count", c_uint32), ("inputs", POINTER(POINTER(Parameter))),
                ("outputs", POINTER(POINTER(Parameter)))]


class Run(Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("function", Bytes),
                ("input_names", POINTER(Bytes)), ("inputs", POINTER(Value)), ("input_count", c_uint32),
                ("output_count", c_uint32), ("outputs", POINTER(Value)), ("result", Value),
                ("copied_bytes", c_uint64)]


def function(*arguments):
    return CFUNCTYPE(c_int32, *arguments, POINTER(Status))


class Embed(Structure):
    _fields_ = [("struct_size", c_uint32), ("zero", c_uint32), ("version", c_char_p),
                ("retain", CFUNCTYPE(None, c_void_p)), ("release", CFUNCTYPE(None, c_void_p)),
                ("runtime_new", function(POINTER(RuntimeOptions), POINTER(c_void_p))),
                ("host", CFUNCTYPE(c_void_p, c_void_p)),
                ("device_find", function(c_void_p, Bytes, POINTER(Device))),
                ("load_file", function(c_void_p, Bytes, c_void_p, POINTER(c_void_p))),
                ("tensors_read", function(c_void_p, Bytes, POINTER(Value))),
                ("tensor_foreign", function(c_void_p, POINTER(Tensor), c_uint64, c_uint32, c_void_p,
                                            CFUNCTYPE(None, c_void_p), POINTER(Value))),
                ("model_new", function(c_void_p, c_void_p, POINTER(c_void_p))),
                ("model_functions", function(c_void_p, POINTER(Value))),
                ("model_signature", function(c_void_p, Bytes, POINTER(POINTER(Signature)))),
                ("run", function(c_void_p, POINTER(Run)))]


class Failure(Exception):
    pass


def call(to_call, *arguments):
    """Calls a function of the table, and raises its error."""
    text = ctypes.create_string_buffer(2048)
    status = Status(sizeof(Status), 0, cast(text, c_char_p), len(text))
    code = to_call(*arguments, byref(status))
    if code != 0:
        raise Failure(f"code {code} {status.reason.decode()}: {text.value.decode()}")


def made(to_call, *arguments):
    """Calls a function of the table that returns an object."""
    out = c_void_p()
    call(to_call, *arguments, byref(out))
    return out


def tensor_of(value):
    """The tensor follows the 24 bytes of an object's header."""
    assert value.kind == TENSOR
    return cast(value.p + 24, POINTER(Tensor)).contents


def main(library, plugins, golden, answers):
    query = ctypes.CDLL(library).gantry_embed_query_v1
    query.restype = POINTER(Embed)
    embed = query().contents
    assert embed.struct_size >= sizeof(Embed)

    paths = (Bytes * 1)(Bytes(plugins))
    options = RuntimeOptions(struct_size=sizeof(RuntimeOptions), flags=1, config_file=Bytes("/dev/null"),
                             plugin_paths=paths, plugin_path_count=1)
    runtime = made(embed.runtime_new, byref(options))
    module = made(embed.load_file, runtime, Bytes(f"{golden}/digits_mlp_llvm.so"), None)
    model = made(embed.model_new, module, None)

    signature = POINTER(Signature)()
    call(embed.model_signature, model, Bytes(), byref(signature))
    assert signature.contents.input_count == 1
    assert signature.contents.inputs[0].contents.type.data.startswith(b"float32[1, 64]")

    images = Value()
    call(embed.tensors_read, runtime, Bytes(f"{golden}/digits_mlp.input.npz"), byref(images))
    # A map object: header, address of the items, number of items.
    items = cast(images.p + 24, POINTER(POINTER(Value))).contents
    whole = tensor_of(items[1])
    count = whole.shape[0]

    destroyed = []
    destroy = CFUNCTYPE(None, c_void_p)(lambda _: destroyed.append(1))
    found = []
    for i in range(count):
        pixels = (ctypes.c_float * 64).from_address(whole.data + 256 * i)
        shape = (c_int64 * 2)(1, 64)
        image = Tensor(data=ctypes.addressof(pixels), device=Device(1, 0), ndim=2, dtype=whole.dtype, shape=shape)
        x, scores = Value(), Value()
        call(embed.tensor_foreign, runtime, byref(image), 256, 0, None, destroy, byref(x))
        run = Run(struct_size=sizeof(Run), input_names=(Bytes * 1)(Bytes("x")), inputs=(Value * 1)(x), input_count=1,
                  outputs=ctypes.pointer(scores), output_count=1)
        call(embed.run, model, byref(run))
        best = cast(tensor_of(scores).data, POINTER(ctypes.c_float))
        found.append(max(range(10), key=lambda digit: best[digit]))
        embed.release(x.p)
        embed.release(scores.p)
    assert len(destroyed) == count, f"{len(destroyed)} of {count} memories were destroyed"

    try:
        call(embed.load_file, runtime, Bytes("/nonexistent.so"), None, byref(c_void_p()))
        raise AssertionError("a file that is not there was loaded")
    except Failure as failure:
        assert "/nonexistent.so" in str(failure), failure

    for owned in (images.p, model, module, runtime):
        embed.release(owned)
    with open(answers, encoding="ascii") as lines:
        wanted = [int(line) for line in lines]
    assert found == wanted, "the digits differ from TVM's"
    print(f"{count} digits")


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
"""Records calls of xgrammar's library through tvm-ffi as a call script. Usage: record.py LIBRARY OUT.json"""

import json
import os
import sys

import tvm_ffi

PREFIX = "xgrammar.tvm_ffi_binding."
GRAMMAR = 'root ::= "a" [0-9]+ | "b"'
SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'


class Result:
    """the result of an earlier call"""

    def __init__(self, call):
        self.call = call


CALLS = [
    ("testing._regex_to_ebnf", "a+[0-9]{2,3}", True),
    ("testing._regex_to_ebnf", "a+[0-9]{2,3}"),
    ("testing._regex_to_ebnf", "(a", True),
    ("testing._generate_range_regex", 3, 120),
    ("testing._generate_float_regex", 0.5, 2.5, False, False),
    ("testing._generate_float_regex", "x", 2.5, 1, False),
    ("testing._json_schema_to_ebnf", SCHEMA, True, None, None, True, None, "json", True),
    ("testing._ebnf_to_grammar_no_normalization", GRAMMAR, "root"),
    ("testing.grammar_functor.structure_normalizer", Result(7)),
    ("testing.grammar_functor.fsm_builder", Result(8)),
    ("testing._print_grammar_fsms", Result(9)),
    ("testing._ebnf_to_grammar_no_normalization", "root ::= ", "root"),
    ("config.get_max_recursion_depth",),
    ("config.set_max_recursion_depth", 500),
    ("config.get_max_recursion_depth",),
    ("config.get_serialization_version",),
]


def encoded(value):
    if value is None:
        return {"t": "none"}
    if isinstance(value, Result):
        return {"t": "ref", "call": value.call}
    for kind, name in ((bool, "bool"), (int, "int"), (float, "float"), (str, "str")):
        if isinstance(value, kind):
            return {"t": name, "v": kind(value)}
    return {"t": "object", "type": type(value).__name__}


def main():
    library, out = sys.argv[1:]
    kept = tvm_ffi.load_module(library)
    calls, results = [], []
    for name, *args in CALLS:
        call = {"func": PREFIX + name, "global": True, "args": [encoded(arg) for arg in args]}
        values = [results[arg.call] if isinstance(arg, Result) else arg for arg in args]
        result = None
        try:
            result = tvm_ffi.get_global_func(PREFIX + name)(*values)
            call["ret"] = encoded(result)
        except Exception as error:
            own = getattr(error, "__tvm_ffi_error__", None)
            # xgrammar's own messages begin with the time.
            is_timed = own is None or own.message.startswith("[")
            call["error"] = {"any": True} if is_timed else {"kind": own.kind, "message": own.message}
        results.append(result)
        calls.append(call)
    with open(out, "w") as file:
        script = {"file": os.path.basename(library), "kind": "tir", "calls": calls,
                  "note": "called through tvm-ffi " + tvm_ffi.__version__}
        json.dump(script, file, indent=1)
    print(f"{len(calls)} calls, {sum('error' in call for call in calls)} of them fail")
    del kept


main()

# SPDX-License-Identifier: Apache-2.0
"""Plays call scripts of tests/golden/data/relax: arguments and results of all kinds."""

import json
import unittest

import gantry
import numpy
import support

SCRIPTS = (
    "closure_llvm cnn_dyn_llvm cnn_llvm control_flow_llvm dtypes_llvm kv_legacy_llvm mlp_dyn_llvm prims_llvm "
    "shapes_llvm tuples_llvm v25_cnn_llvm v26_cnn_llvm"
).split()


class Player:
    """Plays one script on one model."""

    def __init__(self, name, *, device=None, tolerance=1e-5):
        script = support.RELAX / f"{name}.json"
        # the artifact that computed the results, if it is another one
        script = support.RELAX / f"{json.loads(script.read_text()).get('expected_from', name)}.json"
        self.calls = json.loads(script.read_text())["calls"]
        self.arrays = numpy.load(script.with_suffix(".npz"))
        self.model = gantry.load(support.RELAX / f"{name}.so", device=device, executors=1)
        self.tolerance = tolerance
        self.results = []

    def value(self, form):
        kind = form["t"]
        if kind == "tensor":
            return self.tensor(form)
        if kind == "shape":
            return tuple(form["v"])
        if kind == "tuple":
            return [self.value(item) for item in form["v"]]
        if kind == "ref":
            found = self.results[form["call"]]
            for index in form.get("path", ()):
                found = found[index]
            return found
        return {"none": None}.get(kind, form.get("v"))

    def tensor(self, form):
        return self.arrays[form["key"]]

    def supports(self, form):
        if form["t"] in ("params", "any"):
            return False
        if form["t"] == "tensor" and form["dtype"].startswith(("bfloat", "float8")):
            return False
        return all(map(self.supports, form["v"])) if form["t"] == "tuple" else True

    def play(self, test):
        played = 0
        for number, call in enumerate(self.calls):
            with test.subTest(call=number, function=call["func"]):
                self.results.append(None)
                # invoke_closure is a function of the library that calls closures, not of the model
                if call.get("global") or call["func"] == "invoke_closure" or not all(map(self.supports, call["args"])):
                    continue
                arguments = [self.value(form) for form in call["args"]]
                played += 1
                if "error" in call:
                    with test.assertRaises((gantry.Error, TypeError)):
                        self.model.run(arguments, function=call["func"])
                    continue
                result = self.model.run(arguments, function=call["func"])
                self.results[-1] = result
                if "ret" in call:
                    self.compare_outputs(test, result, call["ret"])
        return played

    def leaves(self, form):
        """The outputs of a function are the leaves of its result."""
        return [leaf for item in form["v"] for leaf in self.leaves(item)] if form["t"] == "tuple" else [form]

    def compare_outputs(self, test, result, form):
        leaves = self.leaves(form)
        # one output is returned without its tuple, none as None
        outputs = (result,) if len(leaves) == 1 else result or ()
        test.assertEqual(len(outputs), len(leaves))
        for output, leaf in zip(outputs, leaves):
            self.compare(test, output, leaf)

    def compare(self, test, result, form):
        kind = form["t"]
        if kind == "tensor" and isinstance(result, gantry.Tensor):
            test.assertEqual((result.dtype, result.shape), (form["dtype"], tuple(form["shape"])))
        elif kind == "tensor":
            test.assertEqual(result.shape, tuple(form["shape"]))
            test.assertEqual(str(result.dtype), form["dtype"])
            expected = self.arrays[form["key"]]
            numpy.testing.assert_allclose(result, expected, rtol=self.tolerance, atol=self.tolerance / 10)
        elif kind == "object":
            test.assertIsInstance(result, gantry.Object)
        elif kind != "any":
            test.assertEqual(result, self.value(form))


class CallScripts(unittest.TestCase):
    def test_have_the_results_that_tvm_computed(self):
        for name in SCRIPTS:
            with self.subTest(script=name):
                self.assertGreater(Player(name).play(self), 0)


if __name__ == "__main__":
    unittest.main()

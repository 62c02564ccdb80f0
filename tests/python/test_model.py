# SPDX-License-Identifier: Apache-2.0
"""Loading a model, its signature, and calls."""

import json
import pathlib
import pickle
import tempfile
import threading
import unittest

import gantry
import numpy
import support


class LoadedModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = gantry.load(support.DIGITS)
        cls.images = support.images()
        cls.expected = support.expected_digits()

    def test_states_inputs_and_outputs(self):
        (x,) = self.model.inputs
        (output,) = self.model.outputs

        self.assertEqual(x, ("x", "tensor", "float32[1, 64]", "float32", (1, 64)))
        self.assertEqual((output.name, output.dtype, output.shape), ("output", "float32", (1, 10)))

    def test_states_unknown_extents_as_none(self):
        (x,) = gantry.load(support.RELAX / "mlp_dyn_llvm.so").inputs

        self.assertEqual(x.shape, (None, 32))

    def test_lists_functions(self):
        self.assertEqual(self.model.functions, ("default",))
        self.assertEqual(self.model.path, str(support.DIGITS))

    def test_computes_what_tvm_computed(self):
        for image, expected in zip(self.images[:40], self.expected):
            self.assertEqual(self.model(x=image).tobytes(), expected.tobytes())

    def test_computes_the_same_if_it_was_prepared(self):
        for prepared in (
            gantry.load(support.DIGITS, prepare=True),
            gantry.load_bytes(support.DIGITS.read_bytes(), prepare=True),
        ):
            self.assertEqual(prepared(x=self.images[0]).tobytes(), self.expected[0].tobytes())

    def test_takes_inputs_in_order_by_name_and_in_a_mapping(self):
        expected = self.expected[0]

        for output in (
            self.model(self.images[0]),
            self.model(x=self.images[0]),
            self.model.run({"x": self.images[0]}),
            self.model.run([self.images[0]]),
        ):
            numpy.testing.assert_array_equal(output, expected)

    def test_refuses_an_input_that_is_given_twice(self):
        with self.assertRaisesRegex(TypeError, "^input 'x' is given twice"):
            self.model(self.images[0], x=self.images[0])
        with self.assertRaisesRegex(TypeError, "^2 inputs are given in order, the model has 1: \\['x'\\]"):
            self.model(self.images[0], self.images[0], y=self.images[0])

    def test_writes_no_result_of_an_earlier_call(self):
        first = self.model(x=self.images[0])
        kept = first.copy()

        for image in self.images[1:20]:
            self.model(x=image)

        numpy.testing.assert_array_equal(first, kept)

    def test_returns_results_that_outlive_the_model(self):
        model = gantry.Runtime(threads=1).load(support.DIGITS)
        output = model(x=self.images[0])
        del model

        numpy.testing.assert_array_equal(output, self.expected[0])
        output[0] = 1

    def test_runs_on_several_threads(self):
        model = gantry.load(support.DIGITS, executors=2)
        failures = []

        def run():
            for image, expected in zip(self.images[:60], self.expected):
                if not numpy.array_equal(model(x=image), expected):
                    failures.append(image)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        self.assertEqual(failures, [])

    def test_fills_an_array_of_the_caller(self):
        out = numpy.empty((1, 10), "float32")

        result = self.model.run({"x": self.images[3]}, out=out)

        self.assertIs(result, out)
        numpy.testing.assert_array_equal(out, self.expected[3])

    def test_fills_outputs_by_name(self):
        out = numpy.empty((1, 10), "float32")

        self.model.run({"x": self.images[3]}, out={"output": out})

        numpy.testing.assert_array_equal(out, self.expected[3])
        with self.assertRaisesRegex(KeyError, "output 'y' not found; outputs: \\['output'\\]"):
            self.model.run({"x": self.images[3]}, out={"y": out})

    def test_runs_on_the_device_of_a_call(self):
        output = self.model.run({"x": self.images[1]}, device="cpu")

        numpy.testing.assert_array_equal(output, self.expected[1])

    def test_is_pickled_by_path_and_options(self):
        for model in (self.model, gantry.Runtime(threads=1).load(support.DIGITS, executors=1)):
            copy = pickle.loads(pickle.dumps(model))

            self.assertEqual(copy.path, model.path)
            numpy.testing.assert_array_equal(copy(x=self.images[2]), self.expected[2])

    def test_is_not_created_directly(self):
        with self.assertRaisesRegex(TypeError, "gantry.load\\(\\)"):
            gantry.Model()


class ShownModel(unittest.TestCase):
    def test_has_inputs_outputs_and_device(self):
        model = gantry.load(support.DIGITS, device="cpu")

        self.assertEqual(
            repr(model),
            f"<gantry.Model '{support.DIGITS}' on cpu:0: default(x: float32[1, 64]) -> output: float32[1, 10]>",
        )
        self.assertEqual(
            model._repr_html_(),
            f"<table><caption>gantry.Model &#x27;{support.DIGITS}&#x27; on cpu:0: default</caption>"
            "<tr><th></th><th>name</th><th>type</th></tr>"
            "<tr><td>input</td><td>x</td><td>float32[1, 64]</td></tr>"
            "<tr><td>output</td><td>output</td><td>float32[1, 10]</td></tr></table>",
        )

    def test_has_the_functions_where_a_call_needs_a_name(self):
        model = gantry.load(support.RELAX / "tuples_llvm.so")

        self.assertTrue(
            repr(model).endswith(" on cpu:0: const_ret, dup, empty_tuple, nest, split3, swap>"), repr(model)
        )
        self.assertIn("const_ret, dup", model._repr_html_())

    def test_has_no_markup_of_its_name(self):
        model = gantry.load_bytes(support.DIGITS.read_bytes(), name="<script>")

        self.assertIn("&lt;script&gt;", model._repr_html_())
        self.assertNotIn("<script>", model._repr_html_())

    def test_has_no_control_characters(self):
        from gantry._signature import Parameter, parameter_text

        text = parameter_text(Parameter("a\x1b[2J", "tensor", None, "float32", None))

        self.assertEqual(text, "'a\\x1b[2J': float32")

    def test_counts_what_is_too_much(self):
        from gantry._model import _listed

        self.assertEqual(_listed("abcdefgh"), "a, b, c, d, e, f, g, h")
        self.assertEqual(_listed("abcdefghij"), "a, b, c, d, e, f, g, h, and 2 more")


class LearnedOutputs(unittest.TestCase):
    """Outputs that the artifact does not state."""

    def test_are_known_after_the_first_run(self):
        model = gantry.load(support.RELAX / "cnn_llvm.so")
        self.assertIsNone(model.outputs)
        self.assertIn("-> ...>", repr(model))
        self.assertIn("known after the first run", model._repr_html_())

        model.run([numpy.zeros((1, 1, 8, 8), "float32")], function="main")

        self.assertEqual(model.outputs, (("output", "tensor", "float32[1, 10]", "float32", (1, 10)),))
        self.assertTrue(repr(model).endswith("-> output: float32[1, 10]>"))

    def test_have_the_extents_that_all_runs_have(self):
        from gantry._signature import Parameter, merged, observed

        first = observed((numpy.zeros((2, 3), "float32"), 5, (1, 2)))
        second = observed((numpy.zeros((4, 3), "float32"), 5, (1, 2)))

        self.assertEqual(
            merged(first, second),
            (
                Parameter("output0", "tensor", "float32[?, 3]", "float32", (None, 3)),
                Parameter("output1", "value", "int", None, None),
                Parameter("output2", "tuple", None, None, None),
            ),
        )
        self.assertEqual(merged(first, first), first)
        self.assertEqual(merged(first, second[:1]), second[:1])
        other = observed((numpy.zeros(3, "int64"), 5, (1, 2)))
        self.assertEqual(merged(first, other)[0], Parameter("output0", "value", None, None, None))

    def test_of_inputs_with_free_extents_change_with_later_runs(self):
        model = gantry.load(support.RELAX / "shapes_llvm.so")

        model.run([numpy.zeros(6, "float32"), numpy.array([2, 3])], function="reshape_by")
        first = model.signature("reshape_by").outputs
        model.run([numpy.zeros(6, "float32"), numpy.array([2, 3])], function="reshape_by")
        again = model.signature("reshape_by").outputs
        model.run([numpy.zeros(9, "float32"), numpy.array([3, 3])], function="reshape_by")

        self.assertEqual(first, (("output", "tensor", "float32[2, 3]", "float32", (2, 3)),))
        self.assertEqual(again, first)
        self.assertEqual(
            model.signature("reshape_by").outputs,
            (("output", "tensor", "float32[?, 3]", "float32", (None, 3)),),
        )


class Profile(unittest.TestCase):
    def test_has_the_times_of_operators(self):
        model = gantry.load(support.DIGITS)
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory, "trace.json")
            times = model.profile({"x": support.images()[0]}, runs=4, trace=file)
            spans = json.loads(file.read_text())["traceEvents"]

        softmax = "tvmgen_default_fused_nn_softmax"
        self.assertEqual(len(times), 4)
        self.assertNotIn("default", [each.name for each in times])
        self.assertEqual([each.calls for each in times], [1.0] * 4)
        self.assertEqual(times, sorted(times, key=lambda each: -each.seconds))
        self.assertAlmostEqual(sum(each.share for each in times), 1)
        calls = [each for each in spans if each["name"] == softmax and each.get("cat") == "call"]
        # and the run that is not counted
        self.assertEqual(len(calls), 5)
        (found,) = [each for each in times if each.name == softmax]
        self.assertGreater(found.seconds, 0)
        self.assertLessEqual(found.seconds, sum(each["dur"] for each in calls) / 4 / 1e6)

    def test_of_zeros_needs_no_inputs(self):
        names = [each.name for each in gantry.load(support.RELAX / "cnn_llvm.so").profile(runs=1)]

        self.assertIn("conv2d", names)
        with self.assertRaisesRegex(TypeError, "input 'x' is float32\\[n, 32\\]"):
            gantry.load(support.RELAX / "mlp_dyn_llvm.so").profile()

    def test_of_bytes_needs_a_runtime_that_records(self):
        content = support.DIGITS.read_bytes()
        with self.assertRaisesRegex(TypeError, "gantry.Runtime\\(trace=True\\)"):
            gantry.load_bytes(content).profile()

        self.assertEqual(len(gantry.Runtime(trace=True).load_bytes(content).profile(runs=1)), 4)

    def test_has_the_functions_that_the_program_added(self):
        runtime = gantry.Runtime(threads=1)
        runtime.add_function("test.twice", lambda number: 2 * number)

        self.assertEqual(runtime._traced_copy().function("test.twice")(4), 8)

    def test_writes_no_trace_after_wrong_arguments(self):
        with self.assertRaisesRegex(TypeError, "path is int"):
            gantry.load(support.DIGITS).profile(trace=5)

    def test_refuses_no_runs(self):
        with self.assertRaisesRegex(ValueError, "runs is 0"):
            gantry.load(support.DIGITS).profile(runs=0)

    def test_leaves_no_trace_of_a_runtime_that_records_nothing(self):
        with self.assertRaisesRegex(gantry.Error, "trace=True"):
            gantry.default_runtime().write_trace("/nonexistent/trace.json")


class SeveralOutputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = gantry.load(support.RELAX / "tuples_llvm.so")

    def test_are_a_named_tuple(self):
        x = numpy.arange(12, dtype="float32").reshape(6, 2)

        parts = self.model.run([x], function="split3")

        self.assertEqual(parts._fields, ("output0", "output1", "output2"))
        numpy.testing.assert_array_equal(numpy.concatenate(parts), x)
        self.assertIs(parts.output1, parts[1])

    def test_are_pickled(self):
        parts = self.model.run([numpy.ones((6, 2), "float32")], function="split3")

        copy = pickle.loads(pickle.dumps(parts))

        self.assertEqual(copy._fields, parts._fields)
        numpy.testing.assert_array_equal(copy, parts)

    def test_are_partly_arrays_of_the_caller(self):
        x = numpy.arange(12, dtype="float32").reshape(6, 2)
        middle = numpy.empty((2, 2), "float32")

        parts = self.model.run([x], function="split3", out=[None, middle, None])

        self.assertIs(parts[1], middle)
        numpy.testing.assert_array_equal(numpy.concatenate(parts), x)

    def test_of_none_are_none(self):
        self.assertIsNone(self.model.run([numpy.ones(1, "float32")], function="empty_tuple"))


class OutputNames(unittest.TestCase):
    def test_that_are_no_names_of_python_are_replaced(self):
        from gantry._outputs import outputs_type

        self.assertEqual(outputs_type(("a", "class", "b.c"))._fields, ("a", "output1", "output2"))
        self.assertEqual(outputs_type(("a", "a"))._fields, ("output0", "output1"))
        self.assertEqual(outputs_type(("output1", "a-b"))._fields, ("output0", "output1"))


if __name__ == "__main__":
    unittest.main()

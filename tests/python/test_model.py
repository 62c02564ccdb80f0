# SPDX-License-Identifier: Apache-2.0
"""Loading a model, its signature, and calls."""

import pickle
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

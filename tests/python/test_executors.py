# SPDX-License-Identifier: Apache-2.0
"""A vendor's executor and device, sdk/example_executor and sdk/example. The variable is where their plugins and artifacts are."""

import os
import pathlib
import unittest

import gantry
import numpy
import support

DIRECTORY = os.environ.get("GANTRY_TEST_EXECUTOR")
X = numpy.array([1, 2, 3, 4], "float32")
MEAN = numpy.array([1.5, 4, 7.5, 12], "float32")


@unittest.skipUnless(DIRECTORY, "the example of an executor is not built")
class Ensemble(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = pathlib.Path(DIRECTORY)
        cls.runtime = gantry.Runtime(plugins=[directory / "plugins.d" / "ensemble"])
        cls.model = cls.runtime.load(directory / "ensemble.so")

    def test_states_its_signature(self):
        (x,) = self.model.inputs
        (out,) = self.model.outputs

        self.assertEqual(self.model.functions, ("predict",))
        self.assertEqual(x, ("x", "tensor", "float32[4]", "float32", (4,)))
        self.assertEqual((out.name, out.dtype, out.shape), ("out", "float32", (4,)))

    def test_runs_by_name(self):
        for mean in (self.model(x=X), self.model(X), self.model.run({"x": X})):
            numpy.testing.assert_array_equal(mean, MEAN)

    def test_fills_an_array(self):
        y = gantry.empty((4,), "float32")

        self.model.run({"x": X}, out=y)

        numpy.testing.assert_array_equal(y, MEAN)

    def test_writes_no_result_of_an_earlier_call(self):
        first = self.model(x=X)

        self.model(x=X + 1)

        numpy.testing.assert_array_equal(first, MEAN)

    def test_refuses_other_inputs(self):
        with self.assertRaisesRegex(gantry.Error, 'input "x" of the model is float32\\[3\\], expected float32\\[4\\]'):
            self.model(x=X[:3])

    def test_is_served(self):
        # what the adapters for KServe and Ray run
        program = support.run_python(
            """
            import os
            import numpy
            from gantry.serve.model import ServedModel

            model = ServedModel(os.environ["GANTRY_TEST_EXECUTOR"] + "/ensemble.so", threads=1)
            (x,), (out,) = model.signature.inputs, model.signature.outputs
            print(x.name, out.name, model.run({"x": numpy.array([1, 2, 3, 4], "float32")})["out"].tolist())
            """,
            GANTRY_ADD_PLUGIN_FILES=str(pathlib.Path(DIRECTORY, "plugins.d", "ensemble")),
        )

        self.assertEqual(program.stdout, "x out [1.5, 4.0, 7.5, 12.0]\n", program.stderr)

    def test_lists_its_members(self):
        self.assertEqual(tuple(self.model.module["members"]()), ("twice", "square"))


@unittest.skipUnless(DIRECTORY, "the example of a device is not built")
class AssignedDevice(unittest.TestCase):
    """A vendor's device, sdk/example, for which DLPack has no number."""

    def test_has_its_name(self):
        runtime = gantry.Runtime(plugins=[pathlib.Path(DIRECTORY, "plugins.d", "abacus")])

        tensor = runtime.empty((2, 3), device="abacus")

        self.assertEqual(tensor.device, "abacus:0")
        self.assertEqual(repr(tensor), "<gantry.Tensor float32[2, 3] on abacus:0>")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Arrays of JAX, by DLPack. Skipped where it is not installed."""

import unittest

import gantry
import numpy
import support

try:
    import jax
except ImportError:
    jax = None


@unittest.skipIf(jax is None, "JAX is not installed")
class JaxArrays(unittest.TestCase):
    def setUp(self):
        self.model = gantry.Runtime(threads=1).load(support.DIGITS)
        self.image = support.images()[0]
        self.expected = support.expected_digits()[0]

    def test_are_inputs(self):
        numpy.testing.assert_array_equal(self.model(x=jax.numpy.asarray(self.image)), self.expected)

    def test_use_the_memory_of_results(self):
        tensor = self.model.run({"x": self.image}, tensors=True)

        made = jax.numpy.from_dlpack(tensor)

        del tensor
        numpy.testing.assert_array_equal(numpy.asarray(made), self.expected)

    def test_of_bfloat16_are_inputs(self):
        model = gantry.load(support.RELAX / "dtypes_llvm.so")

        y = model.run([jax.numpy.arange(8, dtype=jax.numpy.bfloat16)], function="bf16")

        self.assertEqual(jax.numpy.from_dlpack(y).dtype, jax.numpy.bfloat16)


if __name__ == "__main__":
    unittest.main()

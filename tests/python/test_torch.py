# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch, by DLPack. Skipped where it is not installed."""

import unittest

import gantry
import numpy
import support

try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "PyTorch is not installed")
class TorchTensors(unittest.TestCase):
    def setUp(self):
        self.model = gantry.Runtime(threads=1).load(support.DIGITS)
        self.image = torch.from_numpy(support.aligned(support.images()[0]))
        self.expected = support.expected_digits()[0]

    def test_are_inputs(self):
        numpy.testing.assert_array_equal(self.model(x=self.image), self.expected)

        self.assertEqual(self.model.copied_bytes, 0)

    def test_with_strides_are_copied(self):
        wide = torch.zeros((1, 128))
        wide[:, ::2] = self.image

        numpy.testing.assert_array_equal(self.model(x=wide[:, ::2]), self.expected)
        self.assertEqual(self.model.copied_bytes, 256)

    def test_are_filled(self):
        out = torch.empty((1, 10))

        self.assertIs(self.model.run({"x": self.image}, out=out), out)
        numpy.testing.assert_array_equal(out.numpy(), self.expected)

    def test_use_the_memory_of_results(self):
        tensor = self.model.run({"x": self.image}, tensors=True)
        made = torch.from_dlpack(tensor)

        made[0, 0] = 42
        self.assertEqual(tensor.numpy()[0, 0], 42)
        del tensor
        self.assertEqual(made[0, 0], 42)

    def test_that_require_gradients_are_refused_as_torch_refuses_them(self):
        with self.assertRaisesRegex((BufferError, RuntimeError), "grad"):
            self.model(x=self.image.clone().requires_grad_())

    def test_of_bfloat16_are_inputs(self):
        model = gantry.load(support.RELAX / "dtypes_llvm.so")
        x = torch.arange(8, dtype=torch.bfloat16)

        y = model.run([x], function="bf16")

        self.assertEqual(torch.from_dlpack(y).dtype, torch.bfloat16)


if __name__ == "__main__":
    unittest.main()

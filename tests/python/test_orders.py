# SPDX-License-Identifier: Apache-2.0
"""Other runtimes in the same process, imported in any order. Packages that are not installed are left out."""

import importlib.util
import itertools
import unittest

import support

OTHERS = [name for name in ("torch", "onnxruntime", "tvm_ffi", "jax") if importlib.util.find_spec(name)]


def orders(names):
    """All orders of up to three names; of more, each as the first and each as the last."""
    if len(names) <= 3:
        return list(itertools.permutations(names))
    turned = [[*names[i:], *names[:i]] for i in range(len(names))]
    return turned + [list(reversed(order)) for order in turned]


@unittest.skipIf(not OTHERS, "none of torch, onnxruntime, tvm_ffi and jax is installed")
class ImportOrders(unittest.TestCase):
    def test_have_no_effect(self):
        for order in orders(["gantry", *OTHERS]):
            with self.subTest(order=order):
                done = support.run_python(
                    f"""
                    import {", ".join(order)}
                    import gantry, numpy, support
                    model = gantry.load(support.DIGITS)
                    numpy.testing.assert_array_equal(model(x=support.images()[0]), support.expected_digits()[0])
                    with_relax = gantry.load(support.RELAX / "tuples_llvm.so")
                    assert len(with_relax.run([numpy.ones((6, 2), "float32")], function="split3")) == 3
                    try:
                        gantry.load("/nonexistent")
                    except gantry.Error:
                        print("right")
                    """
                )
                self.assertEqual((done.stdout.strip(), done.returncode), ("right", 0), done.stderr)


if __name__ == "__main__":
    unittest.main()

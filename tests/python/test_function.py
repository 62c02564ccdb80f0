# SPDX-License-Identifier: Apache-2.0
"""Functions of modules, called one by one."""

import unittest

import gantry
import numpy
import support


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = gantry.default_runtime().load_module(support.TVM / "axpy2_llvm.so")
        cls.axpy2 = cls.module["axpy2"]

    def setUp(self):
        self.a = numpy.arange(8, dtype="float32")
        self.b = numpy.ones(8, "float32")
        self.c = numpy.zeros(8, "float32")

    def test_write_their_arguments(self):
        self.assertIsNone(self.axpy2(self.a, self.b, self.c))

        numpy.testing.assert_array_equal(self.c, self.a + 2 * self.b)

    def test_take_every_kind_of_array(self):
        tensor = gantry.load(support.DIGITS).run({"x": support.images()[0]}, tensors=True)
        flat = numpy.asarray(tensor).ravel()
        c = gantry.empty((10,))

        self.axpy2(memoryview(flat), numpy.from_dlpack(tensor).ravel(), c)

        numpy.testing.assert_allclose(c, 3 * flat)

    def test_read_arrays_of_numpy_as_the_buffer_protocol_does(self):
        for wrong in (self.a.astype("float64"), self.a.astype(">f4"), self.a.astype("int32")):
            with self.assertRaises(gantry.Error):
                self.axpy2(wrong, self.b, self.c)

    def test_refuse_arrays_with_strides(self):
        with self.assertRaises(gantry.Error) as caught:
            self.axpy2(self.a, self.b, numpy.zeros(16, "float32")[::2])

        self.assertEqual(caught.exception.reason, "COPY_REQUIRED")

    def test_refuse_wrong_arguments(self):
        with self.assertRaises(gantry.Error):
            self.axpy2(self.a, self.b)
        with self.assertRaisesRegex(TypeError, "takes no keyword arguments"):
            self.axpy2(self.a, self.b, c=self.c)
        with self.assertRaises(OverflowError):
            self.axpy2(2**64, self.b, self.c)
        with self.assertRaises(gantry.Error):
            self.axpy2(*[1] * 100)

    def test_that_check_the_kinds_of_arguments_refuse_others(self):
        # Code of v0.12 reads tensors before it checks that they are some.
        axpy2 = gantry.default_runtime().load_module(support.GOLDEN / "tvm-0.25" / "axpy2_llvm.so")["axpy2"]

        for wrong in (1, 2.5, None, "a"):
            with self.assertRaises(gantry.Error):
                axpy2(wrong, self.b, self.c)

    def test_have_names(self):
        self.assertEqual(self.axpy2.__name__, "axpy2")
        self.assertEqual(repr(self.axpy2), "<gantry.Function 'axpy2'>")
        with self.assertRaisesRegex(gantry.Error, "axpy3") as caught:
            self.module["axpy3"]
        self.assertEqual(caught.exception.code, gantry.Code.NOT_FOUND)

    def test_are_found_by_modules_only(self):
        with self.assertRaises(TypeError):
            gantry.Function()
        with self.assertRaisesRegex(TypeError, "Runtime.load_module\\(\\)"):
            gantry.Module()

    def test_outlive_their_module(self):
        function = gantry.Runtime(threads=1).load_module(support.TVM / "axpy2_llvm.so")["axpy2"]

        function(self.a, self.b, self.c)

        numpy.testing.assert_array_equal(self.c, self.a + 2 * self.b)



class FunctionsWithHeadersOfTvmFfi(unittest.TestCase):
    """Of libraries that are written in C++ with tvm-ffi's headers."""

    @classmethod
    def setUpClass(cls):
        folder = support.GOLDEN / "tvm-ffi" / "0.1.15"
        load = gantry.default_runtime().load_module
        cls.typed = load(folder / "typed_function.so")
        cls.containers = load(folder / "containers.so")
        cls.errors = load(folder / "raise_error.so")
        cls.types = load(folder / "type_and_method.so")

    def test_take_and_return_numbers_and_texts(self):
        self.assertEqual(self.typed["add_one"](41), 42)
        self.assertEqual(self.typed["half"](3), 1.5)
        self.assertEqual(self.typed["repeat"]("ab", 20), "ab" * 20)
        self.assertEqual(self.containers["bytes_of"]("ab"), b"ab")

    def test_take_and_write_arrays(self):
        y = numpy.zeros(4, "float32")

        self.typed["scale"](numpy.arange(4, dtype="float32"), 2.0, y)

        numpy.testing.assert_array_equal(y, [0, 2, 4, 6])

    def test_refuse_lists_and_dictionaries_that_the_stack_cannot_hold(self):
        items, members = [], {}
        items.append(items)
        members["a"] = members

        for endless in (items, members):
            with self.assertRaisesRegex(RecursionError, "lists and dictionaries in an argument leave"):
                self.containers["sum"](endless)

    def test_take_and_return_lists_and_dictionaries(self):
        self.assertEqual(self.containers["sum"]([1, 2, 3]), 6)
        self.assertEqual(self.containers["words"]("a b c"), ("a", "b", "c"))
        self.assertEqual(self.containers["map_at"]({"a": 1, "b": 2}, "b"), 2)
        self.assertEqual(self.containers["squares"](3), {0: 0, 1: 1, 2: 4, "count": 3})

    def test_take_functions_and_objects(self):
        self.assertEqual(self.containers["apply"](self.containers["adder"](4), 5), 9)
        counter = self.types["counter_new"](3, "first")
        self.assertEqual(self.types["counter_add"](counter, 4), 7)

    def test_raise_errors_with_kind_and_backtrace(self):
        with self.assertRaisesRegex(gantry.Error, "^x is -3, minimum is 0\n") as caught:
            self.errors["square"](-2)

        self.assertEqual(caught.exception.kind, "ValueError")
        self.assertIn("raise_error", caught.exception.backtrace)

    def test_have_no_kind_in_errors_of_the_runtime(self):
        with self.assertRaises(gantry.Error) as caught:
            self.errors["nonexistent"]

        self.assertEqual((caught.exception.kind, caught.exception.backtrace), ("", ""))


if __name__ == "__main__":
    unittest.main()

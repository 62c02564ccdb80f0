# SPDX-License-Identifier: Apache-2.0
"""Paths of files, and artifacts in memory."""

import mmap
import os
import pathlib
import pickle
import shutil
import tempfile
import unittest

import gantry
import numpy
import support


class BytesPath(os.PathLike):
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return os.fsencode(self.path)


class Paths(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        # no UTF-8
        self.odd = os.path.join(self.directory, os.fsdecode(b"m\xff.so"))

    def test_are_texts_and_path_objects(self):
        for path in (str(support.DIGITS), support.DIGITS, BytesPath(support.DIGITS)):
            model = gantry.load(path)

            self.assertEqual(model.path, str(support.DIGITS))
            self.assertEqual(gantry.default_runtime().load_module(path).path, str(support.DIGITS))

    def test_need_not_be_utf_8(self):
        shutil.copy(support.DIGITS, self.odd)

        for path in (self.odd, pathlib.Path(self.odd), BytesPath(self.odd)):
            model = gantry.load(path)
            copy = pickle.loads(pickle.dumps(model))

            self.assertEqual((model.path, copy.path), (self.odd, self.odd))
            self.assertEqual(copy(x=support.images()[0]).shape, (1, 10))
        self.assertEqual(gantry.inspect(self.odd)["modules"], gantry.inspect(support.DIGITS)["modules"])
        with self.assertRaisesRegex(gantry.Error, "m\\\\xff.so.absent"):
            gantry.load(self.odd + ".absent")

    def test_of_tensors_configuration_and_plugins_need_not_be_utf_8(self):
        array = numpy.arange(3, dtype="int32")
        with open(self.odd, "wb") as file:
            numpy.save(file, array)

        self.assertEqual(gantry.read_tensors(self.odd)[""].tolist(), [0, 1, 2])
        config = self.odd + ".yaml"
        pathlib.Path(config).write_text("threads: 1\n")
        plugins = self.odd + ".d"
        os.mkdir(plugins)
        runtime = gantry.Runtime(config=BytesPath(config), plugins=[plugins, BytesPath(plugins)])
        self.assertEqual(len(runtime.configuration()["files"]), 1)
        with self.assertRaisesRegex(gantry.Error, "xff.so"):
            gantry.Runtime(config=self.odd)

    def test_that_are_bytes_are_refused_with_the_remedies(self):
        runtime = gantry.default_runtime()

        for load, remedy in (
            (gantry.load, "gantry.load_bytes\\(\\) loads a content"),
            (runtime.load_module, "Runtime.load_module_bytes\\(\\) loads a content"),
            (gantry.inspect, "."),
            (gantry.read_tensors, "."),
            (lambda path: gantry.Runtime(config=path), "."),
            (lambda path: gantry.Runtime(plugins=[path]), "."),
        ):
            for path in (os.fsencode(support.DIGITS), support.DIGITS.read_bytes(), bytearray(b"x")):
                text = f"^path is {type(path).__name__}, expected str or os.PathLike: os.fsdecode\\(\\) makes.*{remedy}"
                with self.assertRaisesRegex(TypeError, text):
                    load(path)

    def test_that_are_of_another_type_are_refused(self):
        for load in (gantry.load, gantry.inspect, gantry.read_tensors):
            with self.assertRaisesRegex(TypeError, "^path is int, expected str or os.PathLike$"):
                load(3)

    def test_with_a_null_character_are_refused(self):
        for load in (gantry.load, gantry.read_tensors, gantry.inspect):
            with self.assertRaises(ValueError):
                load("a\0b")


class Content(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.content = support.DIGITS.read_bytes()

    def check(self, model):
        numpy.testing.assert_array_equal(model(x=support.images()[0]), support.expected_digits()[0])

    def test_may_be_any_buffer(self):
        for content in (
            self.content,
            bytearray(self.content),
            memoryview(self.content),
            numpy.frombuffer(self.content, "uint8"),
        ):
            self.check(gantry.load_bytes(content, name="digits.so"))
        with open(support.DIGITS, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
            self.check(gantry.load_bytes(content))

    def test_is_copied(self):
        content = bytearray(self.content)
        model = gantry.load_bytes(content, executors=1, device="cpu")

        content[:] = bytes(len(content))
        content.clear()

        self.check(model)

    def test_has_no_path(self):
        model = gantry.load_bytes(self.content, name="digits.so")

        self.assertIsNone(model.path)
        self.assertIsNone(model.module.path)
        self.assertTrue(repr(model).startswith("<gantry.Model 'digits.so' on cpu:0: "), repr(model))
        self.assertEqual(repr(model.module.imports[0]), "<gantry.Module 'digits.so'>")
        self.assertTrue(repr(gantry.load_bytes(self.content)).startswith("<gantry.Model 'artifact in memory' on cpu:0: "))
        with self.assertRaisesRegex(TypeError, "'digits.so'> has no path: pickle its content"):
            pickle.dumps(model)

    def test_may_be_a_library_of_functions(self):
        content = (support.TVM / "axpy2_llvm.so").read_bytes()
        module = gantry.default_runtime().load_module_bytes(content, name="axpy2.so")
        a, b, c = numpy.ones(4, "float32"), numpy.full(4, 2, "float32"), numpy.empty(4, "float32")

        module["axpy2"](a, b, c)

        self.assertEqual(c.tolist(), [5, 5, 5, 5])

    def test_that_is_malformed_is_an_error_with_its_name(self):
        with self.assertRaisesRegex(gantry.Error, "digits.so"):
            gantry.load_bytes(self.content[:3000], name="digits.so")

    def test_that_is_no_buffer_in_dense_rows_is_refused(self):
        for content in ("digits.so", support.DIGITS):
            with self.assertRaisesRegex(TypeError, "expected bytes or another buffer: gantry.load\\(\\) takes the path"):
                gantry.load_bytes(content)
        with self.assertRaises(TypeError):
            gantry.load_bytes([1, 2])
        with self.assertRaises((BufferError, ValueError)):
            gantry.load_bytes(memoryview(self.content)[::2])


if __name__ == "__main__":
    unittest.main()

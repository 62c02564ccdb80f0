# SPDX-License-Identifier: Apache-2.0
"""Errors as exceptions."""

import pathlib
import pickle
import tempfile
import unittest

import gantry
import numpy
import support


class Errors(unittest.TestCase):
    def test_of_a_missing_file_name_it(self):
        with self.assertRaisesRegex(gantry.Error, "/nonexistent/model.so"):
            gantry.load("/nonexistent/model.so")

    def test_of_malformed_bytes_have_an_offset(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "bad.so")
            path.write_bytes(support.DIGITS.read_bytes()[:3000])

            with self.assertRaises(gantry.Error) as caught:
                gantry.load(path)

        self.assertEqual(caught.exception.code, gantry.Code.MALFORMED)
        self.assertIsInstance(caught.exception.offset, int)

    def test_of_missing_plugins_list_their_keys(self):
        with self.assertRaises(gantry.Error) as caught:
            gantry.Runtime(config="/dev/null", only_these_plugins=True).load(support.DIGITS)

        self.assertEqual(caught.exception.code, gantry.Code.UNAVAILABLE)
        self.assertEqual(caught.exception.reason, "NO_PLUGIN")
        self.assertIn("GraphExecutorFactory", str(caught.exception))

    def test_of_a_device_list_those_of_the_host(self):
        model = gantry.load(support.DIGITS)

        for load in (
            lambda: gantry.load(support.DIGITS, device="nonexistent:7"),
            lambda: gantry.load(support.DIGITS, device=["cpu", "nonexistent:7"]),
            lambda: model.run({"x": support.images()[0]}, device="nonexistent:7"),
        ):
            with self.assertRaisesRegex(gantry.Error, '^device "nonexistent:7" not found; this host has: cpu'):
                load()
        with self.assertRaisesRegex(gantry.Error, "devices that are served: cpu"):
            gantry.empty((1,), device="nonexistent:7")

    def test_of_a_device_that_is_no_text_list_those_of_the_host(self):
        for device in (3, b"cpu", (), ["cpu", 1]):
            with self.assertRaisesRegex(TypeError, "^device is .*, expected one or several of: cpu:0"):
                gantry.load(support.DIGITS, device=device)

    def test_of_an_unknown_function_are_not_found(self):
        model = gantry.load(support.DIGITS)

        with self.assertRaises(gantry.Error) as caught:
            model.run({"x": support.images()[0]}, function="nonexistent")
        self.assertEqual(caught.exception.code, gantry.Code.NOT_FOUND)

    def test_of_inputs_have_the_reason_input(self):
        model = gantry.load(support.DIGITS)

        for inputs in ({}, {"y": support.images()[0]}):
            with self.assertRaises(gantry.Error) as caught:
                model(**inputs)
            self.assertEqual(caught.exception.reason, "INPUT")
            self.assertIn("\n  inputs of the model: x float32[1, 64]", str(caught.exception))

    def test_of_an_input_of_a_relay_function_say_what_is_found_and_expected(self):
        model = gantry.load(support.TVM / "digits_mlp_vm_llvm.so")
        title = '^input "x" of function "main" is '

        for shape, dtype, expected, reason in (
            ((64,), "float32", "float32\\[64\\], expected 2 dimensions\n", "ARGUMENT_SHAPE"),
            ((1, 63), "float32", "float32\\[1, 63\\], expected extent 64 in dimension 1\n", "ARGUMENT_SHAPE"),
            ((1, 64), "int8", "int8\\[1, 64\\], expected float32\n", "ARGUMENT_DTYPE"),
        ):
            with self.assertRaisesRegex(gantry.Error, title + expected) as caught:
                model(x=numpy.zeros(shape, dtype))
            self.assertEqual((caught.exception.code, caught.exception.reason), (gantry.Code.INVALID, reason))

    def test_of_a_log_level_are_invalid(self):
        with self.assertRaises(gantry.Error) as caught:
            gantry.Runtime(log_level="loud")

        self.assertEqual(caught.exception.code, gantry.Code.INVALID)

    def test_are_pickled(self):
        error = gantry.Error("text", 1, "REASON", 3, 4, "errno", "ValueError", "frames")

        copy = pickle.loads(pickle.dumps(error))

        self.assertEqual((str(copy), copy.code, copy.reason), ("text", "malformed", "REASON"))
        self.assertEqual((copy.offset, copy.native_code, copy.native_domain), (3, 4, "errno"))
        self.assertEqual((copy.kind, copy.backtrace), ("ValueError", "frames"))

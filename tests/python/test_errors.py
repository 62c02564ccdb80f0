# SPDX-License-Identifier: Apache-2.0
"""Errors as exceptions."""

import pathlib
import pickle
import tempfile
import unittest

import gantry
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

    def test_of_an_unknown_device_and_function_are_not_found(self):
        model = gantry.load(support.DIGITS)

        with self.assertRaises(gantry.Error):
            gantry.load(support.DIGITS, device="nonexistent:7").signature()
        with self.assertRaises(gantry.Error) as caught:
            model.run({"x": support.images()[0]}, function="nonexistent")
        self.assertEqual(caught.exception.code, gantry.Code.NOT_FOUND)

    def test_of_inputs_have_the_reason_input(self):
        model = gantry.load(support.DIGITS)

        for inputs in ({}, {"y": support.images()[0]}):
            with self.assertRaises(gantry.Error) as caught:
                model(**inputs)
            self.assertEqual(caught.exception.reason, "INPUT")

    def test_of_a_log_level_are_invalid(self):
        with self.assertRaises(gantry.Error) as caught:
            gantry.Runtime(log_level="loud")

        self.assertEqual(caught.exception.code, gantry.Code.INVALID)

    def test_are_pickled(self):
        error = gantry.Error("text", 1, "REASON", 3, 4, "errno")

        copy = pickle.loads(pickle.dumps(error))

        self.assertEqual((str(copy), copy.code, copy.reason), ("text", "malformed", "REASON"))
        self.assertEqual((copy.offset, copy.native_code, copy.native_domain), (3, 4, "errno"))

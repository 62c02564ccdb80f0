# SPDX-License-Identifier: Apache-2.0
"""The contents of artifacts."""

import json
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile
import unittest

import gantry
import support

OWN = pathlib.Path(sysconfig.get_path("scripts"), "gantry")
COMMAND = str(OWN) if OWN.exists() else shutil.which("gantry")


class Inspected(unittest.TestCase):
    def test_are_dictionaries(self):
        found = gantry.inspect(support.DIGITS)

        self.assertEqual((found["format"], found["size"]), ("shared-library", support.DIGITS.stat().st_size))
        self.assertEqual(found["modules"][0]["type_key"], "GraphExecutorFactory")

    @unittest.skipIf(COMMAND is None, "the command gantry is not installed")
    def test_are_what_the_command_prints(self):
        printed = subprocess.run([COMMAND, "inspect", "--json", support.DIGITS], capture_output=True, check=True)

        self.assertEqual(gantry.inspect(support.DIGITS), json.loads(printed.stdout))

    def test_of_malformed_files_are_errors(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "-bad.so")
            path.write_bytes(support.DIGITS.read_bytes()[:3000])
            with self.assertRaisesRegex(gantry.Error, "segment 1 ends at") as caught:
                gantry.inspect(path)

        self.assertEqual((caught.exception.code, caught.exception.offset), (gantry.Code.MALFORMED, 3000))

    def test_of_files_without_a_format_are_errors(self):
        with self.assertRaises(gantry.Error) as caught:
            gantry.inspect(__file__)

        self.assertEqual(caught.exception.code, gantry.Code.UNSUPPORTED)

    def test_of_missing_files_are_the_errors_of_the_system(self):
        with self.assertRaises(FileNotFoundError):
            gantry.inspect("/nonexistent/model.so")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The hook of PyInstaller, without PyInstaller."""

import importlib.metadata
import pathlib
import runpy
import shutil
import tempfile
import unittest

import gantry
import support

PACKAGE = pathlib.Path(gantry.__file__).parent
# In a build tree the package has links to the sources.
HOOKS = pathlib.Path(gantry.__file__).resolve().parent / "_pyinstaller"


class Hook(unittest.TestCase):
    def test_collects_what_a_program_needs_without_its_environment(self):
        hook = runpy.run_path(str(HOOKS / "hook-gantry.py"))
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory).resolve()
            shutil.copytree(
                PACKAGE, program / "gantry", ignore=shutil.ignore_patterns("lib", "libexec", "bin", "_pyinstaller")
            )
            for source, target in hook["binaries"] + hook["datas"]:
                (program / target).mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, program / target)

            done = support.run_python(
                f"""
                import sys
                sys.path.insert(0, {str(program)!r})
                import gantry, support
                gantry.load(support.DIGITS)(x=support.images()[0])
                used = [p["library"] for p in gantry.default_runtime().plugins() if p["state"] == "active"]
                print(gantry.__file__, *used, sep="\\n")
                """
            )

            self.assertEqual(done.returncode, 0, done.stderr)
            files = done.stdout.split()
            self.assertEqual(len(files), 2)
            for file in files:
                self.assertTrue(file.startswith(f"{program}/"), file)
            self.assertTrue((program / "gantry/libexec/gantry/gantry-probe").is_file())

    def test_is_found_by_its_entry_point(self):
        try:
            distribution = importlib.metadata.distribution("gantry-runtime")
        except importlib.metadata.PackageNotFoundError:
            self.skipTest("gantry-runtime is not installed")
        (entry,) = distribution.entry_points.select(group="pyinstaller40")

        self.assertEqual([pathlib.Path(path).resolve() for path in entry.load()()], [HOOKS])


if __name__ == "__main__":
    unittest.main()

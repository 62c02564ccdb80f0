# SPDX-License-Identifier: Apache-2.0
"""The devices of models: the rows of tests/golden/model_devices.json, which tests/golden/model_devices_test.cpp plays through the
command, C and C++. CTest sets the variables: the plugins of the build, and a driver that imitates a GPU."""

import json
import os
import pathlib
import tempfile
import unittest

import gantry
import numpy
import support

PLUGINS = os.environ.get("GANTRY_TEST_PLUGINS")
DRIVER = os.environ.get("GANTRY_TEST_CUDA_DRIVER")
# the directory of models that the build makes
MODELS = os.environ.get("GANTRY_TEST_MODELS", "")
TABLE = json.loads((support.GOLDEN.parent / "model_devices.json").read_text())


@unittest.skipUnless(PLUGINS and DRIVER, "there is no driver that imitates a GPU")
class Devices(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def runtime(self, row: dict) -> gantry.Runtime:
        config = self.directory / "runtime.yaml"
        library = DRIVER if row["driver"] else "/nonexistent/libcuda.so.1"
        config.write_text(f"cache: {self.directory}\nbackends: {{gantry.cuda: {{config: {{library: {library}}}}}}}\n")
        plugins = ["graph", "relax", "cuda"] if row["plugin"] else ["graph", "relax"]
        return gantry.Runtime(
            config=config,
            plugins=[pathlib.Path(PLUGINS, name) for name in plugins],
            only_these_plugins=True,
            log_level="error",
        )

    def test_are_those_of_the_table(self):
        for row in TABLE["rows"]:
            with self.subTest(**row):
                path, shape = self.model(row)
                error = TABLE["errors"].get(row["result"])
                run = lambda: self.output(self.runtime(row), path, row, numpy.zeros(shape, "float32"))
                if error is None:
                    self.assertEqual(run().device, row["result"] + ":0")
                else:
                    self.check(run, path.name, error)

    def model(self, row: dict) -> tuple[pathlib.Path, list[int]]:
        model = TABLE["models"][row["model"]]
        return support.GOLDEN / model["file"].replace("{built}", MODELS), model["shape"]

    def test_run_without_a_plugin_where_the_table_says_so(self):
        for row in TABLE["loads without their plugins"]:
            with self.subTest(**row):
                path, shape = self.model(row)
                runtime = self.runtime({"driver": False, "plugin": False})
                options = {"device": row["device"], "strict": row.get("strict", False)}
                run = lambda: runtime.load(path, **options).run([numpy.zeros(shape, "float32")], tensors=True)
                if row["result"] == "cpu":
                    self.assertEqual(run().device, "cpu:0")
                    continue
                with self.assertRaises(gantry.Error) as caught:
                    run()
                text = row["result"].replace("{file}", path.name).replace("{source}", "model_new")
                self.assertEqual(str(caught.exception).partition("\n")[0], text)

    def test_name_the_missing_module_that_a_call_requires(self):
        path, shape = self.model({"model": "alternatives"})
        model = self.runtime({"driver": False, "plugin": False}).load(path)

        with self.assertRaises(gantry.Error) as caught:
            model.run([numpy.full(shape, 42, "float32")])

        self.assertEqual(caught.exception.reason, "MODULE_UNBOUND")
        self.assertIn('entry 2 "cuda" of alternatives.so is not bound: left out, because ', str(caught.exception))
        self.assertIn("pip install gantry-runtime-cuda", str(caught.exception))

    def test_allow_nothing_missing_in_a_strict_load(self):
        path, _ = self.model({"model": "alternatives"})
        runtime = self.runtime({"driver": False, "plugin": False})

        with self.assertRaisesRegex(gantry.Error, "cannot allow missing modules .* and refuse them"):
            runtime.load(path, strict=True, allow_missing=True)

    def output(self, runtime: gantry.Runtime, path: pathlib.Path, row: dict, x: numpy.ndarray) -> gantry.Tensor:
        self.at = "load"
        module = runtime.load_module(path, device=row["device"], allow_missing=row["allow_missing"])
        self.at = "model"
        model = runtime.load(path, device=row["device"], allow_missing=row["allow_missing"])
        self.at = "run"
        output = model.run([x], tensors=True)
        del module
        return output

    def check(self, run, name: str, error: dict):
        with self.assertRaises(gantry.Error) as caught:
            run()
        text, cause = (
            error[key].replace("{file}", name).replace("{source}", "model_new") for key in ("text", "cause")
        )
        self.assertEqual(str(caught.exception).partition("\n")[0], text)
        self.assertIn(cause, str(caught.exception))
        self.assertEqual(caught.exception.reason, error["reason"])
        self.assertEqual(self.at, error["at"])


if __name__ == "__main__":
    unittest.main()

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
                model = TABLE["models"][row["model"]]
                path = support.GOLDEN / model["file"]
                error = TABLE["errors"].get(row["result"])
                run = lambda: self.output(self.runtime(row), path, row, numpy.zeros(model["shape"], "float32"))
                if error is None:
                    self.assertEqual(run().device, row["result"] + ":0")
                else:
                    self.check(run, path.name, error)

    def output(self, runtime: gantry.Runtime, path: pathlib.Path, row: dict, x: numpy.ndarray) -> gantry.Tensor:
        self.at = "load"
        module = runtime.load_module(path, allow_missing=row["allow_missing"])
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

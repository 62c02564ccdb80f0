# SPDX-License-Identifier: Apache-2.0
"""Imports between the files of the package have one direction."""

import ast
import pathlib
import unittest

import gantry


def imports_of(path, names):
    """Returns the files of the package that a file imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("gantry"):
            continue
        module = node.module.removeprefix("gantry").removeprefix(".")
        found |= {module} if module else {alias.name for alias in node.names}
    return found & names


class Imports(unittest.TestCase):
    def test_form_no_circle(self):
        files = {path.stem: path for path in pathlib.Path(gantry.__file__).parent.glob("*.py")}
        left = {name: imports_of(path, set(files)) for name, path in files.items() if name != "__init__"}
        self.assertIn("_module", left["_model"])

        while free := {name for name, imports in left.items() if not imports & set(left)}:
            left = {name: imports for name, imports in left.items() if name not in free}

        self.assertEqual(left, {})


if __name__ == "__main__":
    unittest.main()

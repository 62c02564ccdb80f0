# SPDX-License-Identifier: Apache-2.0
"""The stubs of the extension have the names, the parameters and the texts of the extension."""

import ast
import inspect
import pathlib
import unittest

import gantry
from gantry import _native

STUBS = pathlib.Path(gantry.__file__).with_name("_native.pyi")


def one_line(text):
    return " ".join((text or "").split())


class Stubs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        nodes = ast.parse(STUBS.read_text()).body
        cls.classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        cls.functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}

    def test_have_all_names(self):
        public = {name for name in vars(_native) if not name.startswith("_")}

        self.assertEqual(public, {*self.classes, *self.functions, "version"})
        for name, node in self.classes.items():
            stated = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            found = {member for member in vars(getattr(_native, name)) if not member.startswith("__")}
            with self.subTest(name=name):
                self.assertEqual(found, {member for member in stated if not member.startswith("__")})
                for member in stated - {"__buffer__"}:
                    self.assertTrue(hasattr(getattr(_native, name), member), member)

    def test_have_the_texts_of_help(self):
        for name, node in self.classes.items():
            found = getattr(_native, name)
            with self.subTest(name=name):
                self.assertEqual(one_line(found.__doc__), one_line(ast.get_docstring(node)))
            for member in node.body:
                stated = ast.get_docstring(member) if isinstance(member, ast.FunctionDef) else None
                if stated:
                    with self.subTest(name=f"{name}.{member.name}"):
                        # after the signature of a method
                        self.assertTrue(one_line(getattr(found, member.name).__doc__).endswith(one_line(stated)))

    def test_warn_of_arguments_of_a_wrong_kind(self):
        self.assertIn("may end the process", one_line(_native.Function.__doc__))

    def test_have_the_parameters_of_methods(self):
        tensor = {item.name: item for item in self.classes["Tensor"].body if isinstance(item, ast.FunctionDef)}

        for name in ("__array__", "__dlpack__"):
            arguments = tensor[name].args
            text = getattr(_native.Tensor, name).__doc__.splitlines()[0]
            for argument in arguments.args[1:] + arguments.kwonlyargs:
                self.assertIn(argument.arg, text)


class Documentation(unittest.TestCase):
    def test_names_the_package_and_not_its_files(self):
        for name in gantry.__all__:
            found = getattr(gantry, name)
            self.assertEqual(f"{found.__module__}.{found.__qualname__}", f"gantry.{name}")

    def test_of_errors_is_in_the_file_after_which_type_checkers_name_them(self):
        nodes = ast.parse(pathlib.Path(gantry.__file__).read_text()).body
        classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}

        self.assertEqual(classes, {"Code", "Error", "DeadlineError", "DeviceLostError"})

    def test_of_the_package_begins_with_what_people_call(self):
        import pydoc

        text = pydoc.plain(pydoc.render_doc(gantry))
        head = text[: text.index("PACKAGE CONTENTS")]

        for name in ("load(", "profile(", "devices()", "inspect(", "empty()", "Runtime()", "gantry.Error"):
            self.assertIn(name, head)

    def test_is_complete(self):
        for name in gantry.__all__:
            found = getattr(gantry, name)
            self.assertTrue(inspect.getdoc(found), name)
            if not inspect.isclass(found) or found in vars(_native).values():
                continue
            for member, value in vars(found).items():
                if member.startswith("_") or not (callable(value) or isinstance(value, property)):
                    continue
                with self.subTest(name=f"{name}.{member}"):
                    self.assertTrue(inspect.getdoc(value))


if __name__ == "__main__":
    unittest.main()

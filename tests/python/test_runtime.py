# SPDX-License-Identifier: Apache-2.0
"""Runtimes: functions of Python that compiled code calls, reports, cycles."""

import gc
import pathlib
import struct
import sys
import tempfile
import threading
import traceback
import unittest
import weakref

import gantry
import numpy
import support


class PrintedText(unittest.TestCase):
    def print(self, runtime, *arguments):
        runtime.function("relax.run.print")(*arguments)

    def test_is_passed_to_output(self):
        texts = []
        runtime = gantry.Runtime(threads=1, output=texts.append)

        self.print(runtime, "{} is {}", "x", numpy.arange(2, dtype="int64"))

        self.assertEqual("".join(texts), "x is [0 1]\n")

    def test_is_lost_if_output_raises(self):
        def fail(text):
            raise ValueError("too long")

        seen = []
        before, sys.unraisablehook = sys.unraisablehook, lambda report: seen.append(str(report.exc_value))
        try:
            self.print(gantry.Runtime(threads=1, output=fail), "text")
        finally:
            sys.unraisablehook = before

        self.assertEqual(seen, ["too long"])

    def test_goes_to_standard_output_without_output(self):
        done = support.run_python('import gantry; gantry.Runtime().function("relax.run.print")("a text")')

        self.assertEqual((done.stdout, done.stderr), ("a text\n", ""))

    def test_lets_a_cycle_through_output_be_collected(self):
        class Owner:
            def write(self, text):
                pass

        owner = Owner()
        owner.runtime = gantry.Runtime(threads=1, output=owner.write)
        dead = weakref.ref(owner)

        del owner
        gc.collect()

        self.assertIsNone(dead())

    def test_needs_a_callable_output(self):
        with self.assertRaisesRegex(TypeError, "3 is not callable"):
            gantry.Runtime(output=3)


class AddedFunctions(unittest.TestCase):
    def setUp(self):
        self.runtime = gantry.Runtime(threads=1)

    def test_are_called_with_values_and_return_values(self):
        self.runtime.add_function("test.echo", lambda *values: values)
        echo = self.runtime.function("test.echo")

        values = (1, 2.5, None, "text of some length", b"bytes", True)
        self.assertEqual(echo(*values), values)
        self.assertEqual(echo((1, 2), ["a", (3,)]), ((1, 2), ("a", (3,))))

    def test_write_arrays_that_they_are_lent(self):
        def double(x, y):
            y[...] = 2 * x

        self.runtime.add_function("test.double", double)
        x, y = numpy.arange(4, dtype="float32"), numpy.zeros(4, "float32")

        self.runtime.function("test.double")(x, y)

        numpy.testing.assert_array_equal(y, 2 * x)

    def test_return_arrays(self):
        self.runtime.add_function("test.made", lambda: numpy.arange(6, dtype="int16").reshape(2, 3)[:, ::-1])

        made = self.runtime.function("test.made")()

        numpy.testing.assert_array_equal(made, [[2, 1, 0], [5, 4, 3]])

    def test_that_keep_a_lent_array_fail(self):
        kept = []
        self.runtime.add_function("test.keep", lambda x: kept.append(x))
        self.runtime.add_function("test.return", lambda x: x[1:])

        for name in ("test.keep", "test.return"):
            with self.assertRaisesRegex(gantry.Error, "keeps or returns an array") as caught:
                self.runtime.function(name)(numpy.zeros(4))
            self.assertEqual(caught.exception.reason, "ARGUMENT_KEPT")

    def test_raise_their_exception_unchanged(self):
        class Special(Exception):
            pass

        raised = Special("too small")

        def fail():
            raise raised

        self.runtime.add_function("test.fail", fail)
        try:
            self.runtime.function("test.fail")()
        except Special as caught:
            self.assertIs(caught, raised)
            self.assertIn("fail", [frame.name for frame in traceback.extract_tb(caught.__traceback__)])
        else:
            self.fail("nothing is raised")

    def test_that_failed_before_do_not_replace_later_errors(self):
        def fail():
            raise ValueError("earlier")

        self.runtime.add_function("test.fail", fail)
        with self.assertRaises(ValueError):
            self.runtime.function("test.fail")()

        with self.assertRaises(gantry.Error):
            self.runtime.load("/nonexistent")

    def test_call_the_runtime(self):
        model = self.runtime.load(support.DIGITS)
        self.runtime.add_function("test.digits", lambda x: model(x=x.copy()))

        scores = self.runtime.function("test.digits")(support.images()[0])

        numpy.testing.assert_array_equal(scores, support.expected_digits()[0])

    def test_have_names_that_are_not_in_use(self):
        self.runtime.add_function("test.once", print)

        with self.assertRaises(gantry.Error):
            self.runtime.add_function("test.once", print)
        with self.assertRaises(gantry.Error):
            self.runtime.add_function("", print)
        with self.assertRaisesRegex(TypeError, "not callable"):
            self.runtime.add_function("test.number", 1)

    def test_are_called_on_other_threads(self):
        self.runtime.add_function("test.thread", threading.get_ident)
        function, found = self.runtime.function("test.thread"), []
        thread = threading.Thread(target=lambda: found.append((function(), threading.get_ident())))

        thread.start()
        thread.join()

        self.assertEqual(found[0][0], found[0][1])

    def test_in_cycles_are_collected(self):
        class Owner:
            def __init__(self):
                self.runtime = gantry.Runtime(threads=1)
                self.model = self.runtime.load(support.DIGITS)
                self.runtime.add_function("test.owner", self.call)
                self.function = self.runtime.function("test.owner")
                self.output = self.model.run([support.images()[0]], tensors=True)

            def call(self):
                return self.model.path

        owner = Owner()
        self.assertEqual(owner.function(), str(support.DIGITS))
        alive = weakref.ref(owner)

        del owner
        gc.collect()

        self.assertIsNone(alive())


class Reports(unittest.TestCase):
    def test_of_the_process_lists_devices(self):
        names = [device["name"] for device in gantry.devices()]

        self.assertEqual(names, [device["name"] for device in gantry.default_runtime().devices()])
        self.assertIn("cpu", names)

    def test_list_devices(self):
        (cpu,) = [device for device in gantry.default_runtime().devices() if device["name"].startswith("cpu")]

        self.assertEqual((cpu["type"], cpu["index"]), (1, 0))
        self.assertIsInstance(cpu["attributes"], dict)
        self.assertEqual(cpu["same_as"], ())

    def test_list_plugins(self):
        runtime = gantry.Runtime(threads=1)
        runtime.load(support.DIGITS)

        plugins = {plugin["id"]: plugin for plugin in runtime.plugins() if "id" in plugin}

        self.assertIn("gantry.graph", plugins)
        self.assertTrue(plugins["gantry.graph"]["library"].endswith("libgantry_graph.so"))
        self.assertNotEqual(plugins["gantry.graph"]["state"], plugins["gantry.relay-vm"]["state"])

    def test_list_the_configuration(self):
        self.assertEqual(gantry.Runtime(threads=3).configuration()["threads"], 3)

    def test_refuses_an_executable_stack_unless_it_is_allowed(self):
        library = bytearray((support.TVM / "axpy2_llvm.so").read_bytes())
        headers, count = struct.unpack_from("<Q", library, 0x20)[0], library[0x38]
        for at in range(headers, headers + 56 * count, 56):
            if struct.unpack_from("<I", library, at)[0] == 0x6474E551:
                library[at + 4] |= 1
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "stack.so"
            path.write_bytes(library)
            with self.assertRaises(gantry.Error) as raised:
                gantry.Runtime(threads=1).load_module(path)
            self.assertEqual(raised.exception.reason, "EXEC_STACK")
            try:
                gantry.Runtime(threads=1).load_module(path, allow_executable_stack=True)
            except gantry.Error as error:
                self.assertEqual(error.reason, "LIBRARY_OPEN")

    def test_describe_modules(self):
        module = gantry.default_runtime().load_module(support.DIGITS)

        self.assertEqual(module.type_key, "GraphExecutorFactory")
        self.assertEqual(module.plugin, "gantry.graph")
        self.assertEqual(len(module.imports), 1)
        self.assertEqual(module.missing, ())
        axpy2 = gantry.default_runtime().load_module(support.TVM / "axpy2_llvm.so")
        self.assertIn("axpy2", axpy2.functions)


if __name__ == "__main__":
    unittest.main()

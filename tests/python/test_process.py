# SPDX-License-Identifier: Apache-2.0
"""The package in its process: import, threads, fork, log, end."""

import sysconfig
import unittest

import support


class Process(unittest.TestCase):
    def expect_output(self, code, expected, **environment):
        done = support.run_python(code, **environment)
        self.assertEqual((done.stdout.strip(), done.returncode), (expected, 0), done.stderr)
        return done

    def test_has_no_new_thread_after_the_import(self):
        self.expect_output(
            """
            import os
            before = len(os.listdir("/proc/self/task"))
            import gantry, sys
            from gantry import _runtime
            print(len(os.listdir("/proc/self/task")) - before, _runtime._default, "numpy" in sys.modules)
            """,
            "0 None False",
        )

    def test_may_fork_before_the_first_load(self):
        self.expect_output(
            """
            import os, gantry, support
            child = os.fork()
            model = gantry.load(support.DIGITS)
            right = model(x=support.images()[0]).shape == (1, 10)
            if child:
                print(right, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            os._exit(0 if right else 1)
            """,
            "True 0",
        )

    def test_raises_in_a_child_that_was_forked_after_a_load(self):
        self.expect_output(
            """
            import os, gantry, support
            model = gantry.load(support.DIGITS)
            image = support.images()[0]
            child = os.fork()
            if child:
                model(x=image)
                os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            for call in (lambda: model(x=image), lambda: gantry.load(support.DIGITS),
                         lambda: gantry.Runtime().load(support.DIGITS)):
                try:
                    call()
                except gantry.Error as error:
                    print(error.code, error.reason, flush=True)
            del model
            os._exit(0)
            """,
            "\n".join(3 * ["unavailable PROCESS_FORKED"]),
        )

    def test_ends_while_a_daemon_thread_runs_a_model(self):
        for delay in (0, 0.001, 0.002, 0.005, 0.01, 0.02):
            with self.subTest(delay=delay):
                self.expect_output(
                    f"""
                    import sys, threading, time, gantry, support
                    model = gantry.load(support.DIGITS)
                    image = support.images()[0]
                    def run():
                        while True:
                            model(x=image)
                    for _ in range(3):
                        threading.Thread(target=run, daemon=True).start()
                    time.sleep(0.1 + {delay})
                    print("ends", flush=True)
                    """,
                    "ends",
                )

    def test_refuses_sub_interpreters(self):
        self.expect_output(
            """
            import sys
            import gantry
            try:
                import _xxsubinterpreters as interpreters
            except ImportError:
                import _interpreters as interpreters
            where = interpreters.create()
            try:
                result = interpreters.run_string(where, "import gantry")
                print("failed" if result is not None else "imported")
            except Exception as error:
                print("failed")
            """,
            "failed",
        )

    def test_logs_with_the_module_logging(self):
        self.expect_output(
            """
            import logging, gantry, support
            class Handler(logging.Handler):
                lines = []
                def emit(self, record):
                    self.lines.append((record.name, record.levelname, record.getMessage()))
            logging.getLogger("gantry").addHandler(Handler())
            logging.getLogger("gantry").setLevel("DEBUG")
            gantry.Runtime(log_level="info").load(support.DIGITS)
            print({line[:2] for line in Handler.lines}, any("digits_mlp_c.so" in line[2] for line in Handler.lines))
            """,
            "{('gantry', 'INFO')} True",
        )

    def test_ends_with_models_and_arrays_in_use(self):
        done = self.expect_output(
            """
            import gantry, support, builtins
            model = gantry.Runtime(threads=2).load(support.DIGITS)
            builtins.kept = [model, model(x=support.images()[0]), model.run([support.images()[0]], tensors=True)]
            """,
            "",
            # of a free-threaded interpreter, see below
            PYTHONWARNINGS="ignore:The global interpreter lock",
        )
        self.assertEqual(done.stderr, "")

    @unittest.skipUnless(sysconfig.get_config_var("Py_GIL_DISABLED"), "the interpreter is not free-threaded")
    def test_gets_the_gil_back_with_a_warning(self):
        done = self.expect_output(
            """
            import sys
            before = sys._is_gil_enabled()
            import gantry
            print(before, sys._is_gil_enabled())
            """,
            "False True",
        )
        self.assertIn("(GIL) has been enabled to load module 'gantry._native'", done.stderr)

    def test_runs_other_threads_during_a_run(self):
        self.expect_output(
            """
            import threading, gantry, support, numpy
            runtime = gantry.Runtime(threads=1)
            model = runtime.load(support.TVM / "resnet20_c.so")
            data = numpy.load(support.TVM / "resnet20.input.npz")["data"][0]
            counted, ends = 0, threading.Event()
            def count():
                global counted
                while not ends.is_set():
                    counted += 1
                    ends.wait(0.0001)
            thread = threading.Thread(target=count)
            thread.start()
            for _ in range(30):
                model(data=data)
            ends.set(); thread.join()
            print(counted > 2)
            """,
            "True",
        )


if __name__ == "__main__":
    unittest.main()

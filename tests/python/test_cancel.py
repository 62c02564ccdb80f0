# SPDX-License-Identifier: Apache-2.0
"""Runs that end early: deadlines and Ctrl-C."""

import signal
import threading
import time
import unittest

import gantry
import numpy
import support


class Cancelled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # a thousand operators, a millisecond or more
        cls.model = gantry.Runtime(threads=1).load(support.TVM / "chain1000.so")
        (cls.parameter,) = cls.model.inputs
        cls.x = numpy.zeros(cls.parameter.shape, cls.parameter.dtype)
        # A process that was started in the background ignores it.
        cls.addClassCleanup(
            signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler)
        )

    def test_by_a_deadline_is_a_timeout(self):
        with self.assertRaises(TimeoutError) as caught:
            self.model.run([self.x], timeout=1e-9)

        self.assertIsInstance(caught.exception, gantry.Error)
        self.assertEqual(caught.exception.code, gantry.Code.CANCELLED)
        self.assertEqual(caught.exception.reason, "DEADLINE")
        self.model.run([self.x], timeout=60)

    def test_has_a_finite_timeout(self):
        for timeout in (-1, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "expected seconds"):
                self.model.run([self.x], timeout=timeout)

    def test_by_a_signal_is_what_its_handler_raises(self):
        def run_forever():
            ends = time.monotonic() + 30
            while time.monotonic() < ends:
                self.model.run([self.x])

        timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            run_forever()
        timer.join()

        self.model.run([self.x])

    def test_stops_a_run_that_takes_long(self):
        done = support.run_python(
            """
            import os, signal, threading, time, gantry, numpy, support
            signal.signal(signal.SIGINT, signal.default_int_handler)
            model = gantry.Runtime(threads=1).load(support.TVM / "chain1000.so")
            (parameter,) = model.inputs
            x = numpy.zeros(parameter.shape, parameter.dtype)
            threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
            ends = time.monotonic() + 30
            try:
                while time.monotonic() < ends:
                    model.run([x])
            except KeyboardInterrupt:
                print("interrupted")
            """
        )
        self.assertEqual(done.stdout, "interrupted\n", done.stderr)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Runs that end early: deadlines and Ctrl-C."""

import signal
import threading
import time
import unittest

import gantry
import numpy
import support


def interrupt_after(seconds):
    """Starts a thread that interrupts, as Ctrl-C does. Returns options of a run: none."""
    threading.Timer(seconds, signal.raise_signal, [signal.SIGINT]).start()
    return {}


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

    def test_ends_before_the_next_operator(self):
        # 14 operators, of which each takes milliseconds; the outputs are filled at the end
        model = gantry.Runtime(threads=1).load(support.RELAX / "cnn_dyn_llvm.so")
        images = numpy.zeros((20000, 1, 8, 8), "float32")
        ends = {
            TimeoutError: lambda: {"timeout": 0.01},
            KeyboardInterrupt: lambda: interrupt_after(0.01),
        }
        for error, start in ends.items():
            with self.subTest(error=error):
                out = numpy.full((20000, 10), numpy.nan, "float32")

                with self.assertRaises(error):
                    model.run([images], out=out, **start())

                self.assertTrue(numpy.isnan(out).all())


if __name__ == "__main__":
    unittest.main()

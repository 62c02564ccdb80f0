# SPDX-License-Identifier: Apache-2.0
"""Sizes of pools, and the threads of runs. Apart from kserve_test.py, because one process cannot
import kserve and tritonclient.grpc."""

import asyncio
import pathlib
import pickle
import threading
import time

import gantry
import kserve as server
import numpy
import pytest

from gantry.serve import kserve

DIGITS = pathlib.Path(__file__).parents[1] / "golden" / "data" / "tvm-0.12" / "digits_mlp_llvm.so"


@pytest.mark.parametrize(
    ("options", "processes"),
    [([], 1), (["--workers=3"], 4), (["--workers=3", "--enable_grpc=false"], 3)],
)
def test_pool_is_a_share_of_the_cpus(options, processes, monkeypatch):
    monkeypatch.setattr("gantry.serve.cpus", lambda: 12)

    chosen = kserve._options().parse_args([str(DIGITS), *options])

    assert kserve._threads(chosen) == 12 / processes


def test_pool_of_a_worker_process_has_the_same_size():
    model = kserve.Model("digits", str(DIGITS), threads=3)

    copy = pickle.loads(pickle.dumps(model))

    assert [m._served.threads for m in (model, copy)] == [3, 3]
    assert copy._served is not model._served


class Threads:
    """Replaces the run of a model: records on which thread it is called."""

    def __init__(self, model, seconds=0.0):
        self.run, self.seconds, self.on_loop = model._served.run, seconds, []
        model._served.run = self

    def __call__(self, feeds, timeout=None):
        self.on_loop.append(threading.current_thread() is threading.main_thread())
        if timeout is not None and self.seconds > timeout:
            raise gantry.DeadlineError("late")
        if self.seconds:
            time.sleep(self.seconds)
        return self.run(feeds, timeout)


@pytest.fixture
def model():
    model = kserve.Model("digits", str(DIGITS), threads=1)
    yield model
    model.stop()


def request():
    given = server.InferInput("x", [1, 64], "FP32")
    data = numpy.zeros(64, "float32").tobytes()
    return server.InferRequest("digits", [given], raw_inputs=[data], from_grpc=True)


def predict(model, *requests):
    async def all_of_them():
        return [await model.predict(r) for r in requests]

    return asyncio.run(all_of_them())


def test_short_run_of_known_shapes_is_made_on_the_event_loop(model):
    threads = Threads(model)

    # single runs may take longer than a short one
    predict(model, *(request() for _ in range(50)))

    assert threads.on_loop[0] is False
    assert True in threads.on_loop


def test_long_run_is_made_on_a_worker(model):
    threads = Threads(model, seconds=0.001)

    predict(model, request(), request(), request())

    assert threads.on_loop == [False] * 3


def test_run_of_other_shapes_is_made_on_a_worker(model):
    predict(model, request())
    model._short = [[2, 64]]
    threads = Threads(model)

    predict(model, request())

    assert threads.on_loop == [False]


def test_run_beside_another_one_is_made_on_a_worker(model):
    threads = Threads(model, seconds=0.2)

    async def both():
        first = asyncio.ensure_future(model.predict(request()))
        await asyncio.sleep(0.05)
        threads.seconds = 0
        model._short = [[1, 64]]
        await asyncio.gather(first, model.predict(request()))

    asyncio.run(both())

    assert threads.on_loop == [False, False]


def test_run_that_is_late_on_the_event_loop_is_repeated_on_a_worker(model):
    threads = Threads(model, seconds=0.01)
    model._short = [[1, 64]]

    (answer,) = predict(model, request())

    assert threads.on_loop == [True, False]
    assert answer.outputs[0].shape == [1, 10]
    assert model._short is None

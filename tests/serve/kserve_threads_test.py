# SPDX-License-Identifier: Apache-2.0
"""Sizes of pools. Apart from kserve_test.py, because one process cannot import kserve and
tritonclient.grpc."""

import pathlib
import pickle

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

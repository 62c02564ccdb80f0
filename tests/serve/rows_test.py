# SPDX-License-Identifier: Apache-2.0
"""Batches of requests, and columns of datasets."""

import numpy
import pytest

from gantry.serve import rows
from gantry.serve.signature import Parameter, Signature


class Doubler:
    """A model: y = 2 * x. Counts the rows of its runs."""

    def __init__(self, *shape):
        self.signature = Signature(
            (Parameter("x", "FP32", shape),), (Parameter("y", "FP32", shape),)
        )
        self.runs = []

    def run(self, feeds):
        self.runs.append(feeds["x"].shape)
        if (feeds["x"] < 0).any():
            raise RuntimeError("negative")
        return {"y": 2 * feeds["x"]}


def request(count, width=2, first=1):
    return {"x": numpy.arange(first, first + count * width, dtype="float32").reshape(count, width)}


def test_requests_are_one_run():
    model = Doubler(-1, 2)
    requests = [request(1), request(3), request(0), request(2)]

    answers = rows.run_requests(model.run, requests, joinable=True)

    assert model.runs == [(6, 2)]
    for given, answer in zip(requests, answers, strict=True):
        assert answer["y"].tolist() == (2 * given["x"]).tolist()


def test_requests_of_other_extents_are_another_run():
    model = Doubler(-1, -1)

    answers = rows.run_requests(model.run, [request(1), request(1, 3), request(2)], joinable=True)

    assert model.runs == [(3, 2), (1, 3)]
    assert [a["y"].shape for a in answers] == [(1, 2), (1, 3), (2, 2)]


def test_requests_that_cannot_be_joined_are_run_alone():
    model = Doubler(1, 2)

    rows.run_requests(model.run, [request(1), request(1)], joinable=False)

    assert model.runs == [(1, 2), (1, 2)]


def test_failure_is_that_of_its_group():
    model = Doubler(-1, -1)

    good, bad = rows.run_requests(model.run, [request(1), request(1, 3, -1)], joinable=True)

    assert good["y"].tolist() == [[2, 4]]
    assert str(bad) == "negative"


def test_outputs_without_rows_are_no_answers():
    def total(feeds):
        return {"y": feeds["x"].sum(keepdims=True)}

    answers = rows.run_requests(total, [request(2), request(2)], joinable=True)

    assert {str(a) for a in answers} == {
        'output "y" has shape [1, 1], the inputs have 4 rows: the model does not map row to row'
    }


@pytest.mark.parametrize(
    ("shape", "column", "runs"),
    [
        ((-1, 2), (5, 2), [(5, 2)]),
        ((1, 2), (3, 2), [(1, 2)] * 3),
        ((4, 2), (5, 2), [(4, 2), (4, 2)]),
        ((2,), (3, 2), [(2,)] * 3),
        ((1, 2), (3, 1, 2), [(1, 2)] * 3),
        ((-1, 2), (3, 4, 2), [(4, 2)] * 3),
    ],
)
def test_columns_are_run_in_steps_of_the_first_extent(shape, column, runs):
    model = Doubler(*shape)
    x = numpy.arange(numpy.prod(column), dtype="float32").reshape(column)

    answer = rows.run_columns(model.run, model.signature, {"x": x, "label": numpy.zeros(len(x))})

    assert model.runs == runs
    assert answer.keys() == {"y"}
    assert answer["y"].tolist() == (2 * x).tolist()


def test_no_rows_are_no_run():
    model = Doubler(-1, 2)

    answer = rows.run_columns(model.run, model.signature, request(0))

    assert model.runs == []
    assert answer["y"].shape == (0, 2)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"z": numpy.zeros(1)}, "missing columns: x; found: z"),
        ({"x": numpy.zeros((1, 2))}, 'input "x" is FP64, the model takes FP32'),
        ({"x": numpy.zeros((1, 3), "f4")}, 'input "x" has shape [1, 3], the model takes [-1, 2]'),
        ({"x": numpy.array([None])}, 'input "x" is object, the model takes FP32'),
    ],
)
def test_columns_are_refused(columns, text):
    model = Doubler(-1, 2)

    with pytest.raises(ValueError) as refusal:
        rows.run_columns(model.run, model.signature, columns)

    assert str(refusal.value) == text

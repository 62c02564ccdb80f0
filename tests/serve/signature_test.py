# SPDX-License-Identifier: Apache-2.0
"""Signatures, and requests whose data are JSON."""

import json

import numpy
import pytest

from gantry.serve import cpus, model, share, signature
from gantry.serve.signature import Parameter, Signature

ROWS = Signature(
    (Parameter("x", "FP32", (-1, 64)), Parameter("n", "INT64", ())),
    (Parameter("y", "FP32", (-1, 10)),),
)


def write(tmp_path, document):
    path = tmp_path / "signature.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def test_file_is_what_metadata_returns(tmp_path):
    path = write(tmp_path, {"name": "m", "platform": "", **ROWS.metadata()})

    assert signature.read(path) == ROWS


X = {"name": "x", "datatype": "FP32", "shape": [1]}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("{", "signature PATH: Expecting property name"),
        ([], 'signature PATH: "inputs" are missing'),
        ({"inputs": []}, 'signature PATH: "inputs" are missing'),
        ({"inputs": {"x": 1}}, "signature PATH: inputs is no list"),
        ({"inputs": [1]}, "signature PATH: inputs[0] is no object"),
        ({"inputs": [X, X]}, "signature PATH: two inputs have one name: x, x"),
        ({"inputs": [{**X, "name": ""}]}, "signature PATH: inputs[0].name is ''"),
        ({"inputs": [{**X, "datatype": "FLOAT"}]}, "signature PATH: inputs[0].datatype is 'FLOAT'"),
        ({"inputs": [{**X, "datatype": []}]}, "signature PATH: inputs[0].datatype is []"),
        ({"inputs": [{**X, "shape": [-2]}]}, "signature PATH: inputs[0].shape is [-2]"),
        ({"inputs": [{**X, "shape": [True]}]}, "signature PATH: inputs[0].shape is [True]"),
        ({"inputs": [{**X, "shape": 3}]}, "signature PATH: inputs[0].shape is 3"),
        ({"inputs": [X], "outputs": [{}]}, "signature PATH: outputs[0].name is None"),
    ],
)
def test_file_is_refused(tmp_path, document, text):
    path = write(tmp_path, document)

    with pytest.raises(ValueError) as refusal:
        signature.read(path)

    assert str(refusal.value).startswith(text.replace("PATH", path))


def test_request_is_accepted_in_any_order():
    ROWS.check([("n", "INT64", []), ("x", "FP32", [0, 64])])


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([("n", "INT64", [])], "missing inputs: x"),
        ([("z", "FP32", [1])], 'input "z" not found; inputs: x, n'),
        ([("n", "INT64", [])] * 2, 'input "n" is there twice; inputs: x, n'),
        ([("x", "FP64", [1, 64])], 'input "x" is FP64, the model takes FP32'),
        ([("x", "FP32", [1, 63])], 'input "x" has shape [1, 63], the model takes [-1, 64]'),
        ([("x", "FP32", [64])], 'input "x" has shape [64], the model takes [-1, 64]'),
        ([("x", "FP32", [-1, 64])], 'input "x" has shape [-1, 64], the model takes [-1, 64]'),
        ([("x", "FP32", [True, 64])], 'input "x" has shape [True, 64], the model takes [-1, 64]'),
        ([("x", "FP32", ["1", 64])], "input \"x\" has shape ['1', 64], the model takes [-1, 64]"),
    ],
)
def test_request_is_refused(given, text):
    with pytest.raises(ValueError) as refusal:
        ROWS.check(given)

    assert str(refusal.value) == text


def test_unknown_output_is_refused():
    assert ROWS.select([]) == ["y"]
    with pytest.raises(ValueError) as refusal:
        ROWS.select(["y", "z"])

    assert str(refusal.value) == 'output "z" not found; outputs: y'


def test_extents_that_vary_are_not_those_of_one_run():
    run = {"y": numpy.zeros((1, 10), "float32")}

    assert signature.observed(run, fixed=True) == (Parameter("y", "FP32", (1, 10)),)
    assert signature.observed(run, fixed=False) == (Parameter("y", "FP32", (-1, -1)),)


def test_datatype_without_name_is_refused():
    with pytest.raises(ValueError) as refusal:
        signature.observed({"y": numpy.zeros(1, "complex64")}, fixed=True)

    assert str(refusal.value) == '"y" is complex64, which the protocol cannot express'


class Stated:
    """A parameter as the artifact states it."""

    def __init__(self, name, dtype, shape):
        self.name, self.dtype, self.shape = name, dtype, shape
        self.type = f"{dtype}{list(shape)}" if dtype and shape is not None else None


def test_datatype_of_the_artifact_without_name_is_refused():
    for dtype in ("bfloat16", "float8_e4m3fn", "complex64"):
        with pytest.raises(ValueError) as refusal:
            signature.recorded([Stated("x", dtype, (1,))], "input")

        assert str(refusal.value) == f'input "x" is {dtype}, for which the protocol has no datatype'


def test_parameters_that_are_not_stated_are_none():
    assert signature.recorded([Stated("x", None, None)], "input") is None
    assert signature.recorded([Stated("x", "float32", None)], "input") is None
    assert signature.recorded([Stated("x", "float32", (None, 2))], "input") == (
        Parameter("x", "FP32", (-1, 2)),
    )


@pytest.mark.parametrize(
    "stated",
    [
        None,
        [Stated("a", "float32", (None, 64)), Stated("b", "int64", ())],
        [Stated("a", None, None), Stated("b", "int64", None)],
    ],
)
def test_signature_that_fits_the_artifact_is_accepted(stated):
    signature.check(ROWS.inputs, stated, "input")


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        ([Stated("a", "float32", (None, 64))], "2 inputs, the artifact has 1"),
        (
            [Stated("a", "float16", (None, 64)), Stated("b", "int64", ())],
            'input "x" is FP32 [-1, 64], the artifact states float16[None, 64] for "a"',
        ),
        (
            [Stated("a", "float32", (1, 64)), Stated("b", "int64", ())],
            'input "x" is FP32 [-1, 64], the artifact states float32[1, 64] for "a"',
        ),
        (
            [Stated("a", "float32", (None, 64)), Stated("b", "int64", (1,))],
            'input "n" is INT64 [], the artifact states int64[1] for "b"',
        ),
        (
            [Stated("a", "bfloat16", (None, 64)), Stated("b", "int64", ())],
            'input "a" is bfloat16, for which the protocol has no datatype',
        ),
    ],
)
def test_signature_that_contradicts_the_artifact_is_refused(stated, text):
    with pytest.raises(ValueError) as refusal:
        signature.check(ROWS.inputs, stated, "input")

    assert str(refusal.value) == text


def body(**changes):
    entry = {"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2.5], **changes}
    return {"inputs": [entry]}


def test_data_may_be_nested():
    feeds = model.decode(body(shape=[2, 2], data=[[1, 2], [3, 4]]))

    assert feeds["x"].dtype == numpy.float32
    assert feeds["x"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ([], '"inputs" is missing'),
        ({"inputs": 1}, '"inputs" is missing'),
        ({"inputs": ["x"]}, "inputs[0] has no name"),
        ({"inputs": body()["inputs"] * 2}, 'input "x" is there twice'),
        (body(datatype="BYTES"), "input \"x\" has datatype 'BYTES', which is not supported"),
        (body(datatype={}), "input \"x\" has datatype {}, which is not supported"),
        (body(shape=[-1]), 'input "x": shape is [-1]'),
        (body(shape=None), 'input "x": shape is None'),
        (body(shape=[3]), 'input "x": cannot reshape array of size 2'),
        (body(data=None), 'input "x": data is no list'),
        (body(data=[1, [2]]), 'input "x": setting an array element with a sequence'),
        (body(data=["1", "2"]), 'input "x": items are <U1, expected float32'),
        (body(datatype="INT8", data=[1, 2.5]), 'input "x": items are float64, expected int8'),
        (body(datatype="INT8", data=[1, 300]), 'input "x": items are not in the range of int8'),
        (body(datatype="BOOL", data=["false", ""]), 'input "x": items are <U5, expected bool'),
        (body(data=[{}, {}]), 'input "x": float() argument must be'),
    ],
)
def test_body_is_refused(document, text):
    with pytest.raises(ValueError) as refusal:
        model.decode(document)

    assert str(refusal.value).startswith(text)


def test_replicas_share_the_cpus():
    assert share(1) == cpus()
    assert share(10_000) == 1

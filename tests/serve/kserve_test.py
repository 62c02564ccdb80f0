# SPDX-License-Identifier: Apache-2.0
"""The Open Inference Protocol of gantry.serve.kserve, by NVIDIA's tritonclient on loopback.

GANTRY_SERVE_REQUESTS  number of requests of the mixed load, 10,000
"""

import concurrent.futures
import json
import os
import pathlib
import re
import statistics
import time

import numpy
import pytest
from kserve_server import CLIENTS, DIGITS, EXPECTED, IMAGES, JSON
from kserve_server import given, infer, output_name, serving
from tritonclient.utils import InferenceServerException


@pytest.fixture(scope="module")
def digits():
    with serving(DIGITS) as server:
        yield server


@pytest.mark.parametrize("kind", CLIENTS)
def test_metadata_is_that_of_the_artifact(digits, kind):
    client = digits.client(kind)

    metadata = client.get_model_metadata("digits_mlp_llvm", **as_json(kind))

    x, y = metadata["inputs"][0], metadata["outputs"][0]
    assert client.is_model_ready("digits_mlp_llvm")
    assert (x["name"], x["datatype"], [int(n) for n in x["shape"]]) == ("x", "FP32", [1, 64])
    assert (y["datatype"], [int(n) for n in y["shape"]]) == ("FP32", [1, 10])


def as_json(kind):
    return {"as_json": True} if kind == "grpc" else {}


@pytest.mark.parametrize("kind", CLIENTS)
def test_outputs_are_those_of_the_compiler(digits, kind):
    client = digits.client(kind)
    output = output_name(digits)

    answers = [infer(client, kind, "digits_mlp_llvm", x, output=output) for x in IMAGES]

    numpy.testing.assert_allclose(answers, EXPECTED, rtol=1e-5, atol=1e-6)


def test_data_may_be_json(digits):
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 64], "data": IMAGES[0].ravel().tolist()}

    status, text = digits.post(
        "/v2/models/digits_mlp_llvm/infer",
        json.dumps({"inputs": [tensor]}),
        {"Content-Type": "application/json"},
    )

    assert status == 200
    numpy.testing.assert_allclose(
        json.loads(text)["outputs"][0]["data"], EXPECTED[0].ravel(), rtol=1e-5, atol=1e-6
    )


# What is wrong, and a part of the refusal.
WRONG = {
    "unknown input": (dict(name="y"), 'input "y" not found; inputs: x'),
    "datatype": (dict(dtype="float64"), 'input "x" is FP64, the model takes FP32'),
    "shape": (dict(shape=(64, 1)), 'input "x" has shape [64, 1], the model takes [1, 64]'),
    "rank": (dict(shape=(64,)), 'input "x" has shape [64], the model takes [1, 64]'),
    "unknown output": (dict(output="z"), 'output "z" not found; outputs'),
    "unknown model": (dict(model="none"), "Model with name none does not exist"),
    "input twice": (dict(twice=True), 'input "x" is there twice'),
}


STATUSES = {
    "http": ("400", "404"),
    "grpc": ("StatusCode.INVALID_ARGUMENT", "StatusCode.NOT_FOUND"),
}


def wrong_request(client, kind, image, fault):
    array = image.astype(fault.get("dtype", "float32")).reshape(fault.get("shape", (1, 64)))
    inputs = [given(kind, fault.get("name", "x"), array)] * (2 if "twice" in fault else 1)
    outputs = [CLIENTS[kind].InferRequestedOutput(fault["output"])] if "output" in fault else None
    model = fault.get("model", "digits_mlp_llvm")
    client.infer(model, inputs, outputs=outputs)


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("fault", WRONG)
def test_wrong_requests_are_logged_in_one_line(digits, kind, fault):
    before = len(digits.lines())

    with pytest.raises(InferenceServerException):
        wrong_request(digits.client(kind), kind, IMAGES[0], WRONG[fault][0])

    errors = [line for line in digits.lines()[before:] if " kserve ERROR " in line]
    assert len(errors) == 1
    assert f"refused a request: {WRONG[fault][1]}" in errors[0]
    assert not any(line.startswith("Traceback") for line in digits.lines()[before:])


def test_wrong_requests_among_right_ones_are_refused(digits, capsys):
    count = int(os.environ.get("GANTRY_SERVE_REQUESTS", 10_000))
    output = output_name(digits)
    faults = list(WRONG.values())

    def load(kind, numbers):
        client, seconds, refused = digits.client(kind), [], 0
        for n in numbers:
            i = n % len(IMAGES)
            if n % 5 == 4:
                fault, text = faults[n // 5 % len(faults)]
                with pytest.raises(InferenceServerException) as refusal:
                    wrong_request(client, kind, IMAGES[i], fault)
                assert text in refusal.value.message()
                assert refusal.value.status() in STATUSES[kind]
                refused += 1
                continue
            began = time.perf_counter()
            answer = infer(client, kind, "digits_mlp_llvm", IMAGES[i], output=output)
            seconds.append(time.perf_counter() - began)
            numpy.testing.assert_allclose(answer, EXPECTED[i], rtol=1e-5, atol=1e-6)
        return kind, seconds, refused

    began = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        parts = [(kind, range(k, count, 4)) for k, kind in enumerate(["http", "grpc"] * 2)]
        done = list(pool.map(load, *zip(*parts)))

    with capsys.disabled():
        rate = count / (time.perf_counter() - began)
        print(f"\n{count} requests, 4 clients, {rate:.0f} a second")
        for kind in CLIENTS:
            of_kind = [s for k, seconds, _ in done if k == kind for s in seconds]
            refused = sum(r for k, _, r in done if k == kind)
            print(
                f"{kind}: {len(of_kind)} answered, {refused} refused, "
                f"min {min(of_kind) * 1e3:.2f} ms, median {statistics.median(of_kind) * 1e3:.2f} ms"
            )
    assert sum(len(seconds) + wrong for _, seconds, wrong in done) == count
    assert digits.process.poll() is None


BINARY = {"Content-Type": "application/octet-stream"}


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"", JSON),
        (b"{", JSON),
        (b"[]", JSON),
        (b'{"inputs": []}', JSON),
        (b'{"inputs": [{"name": "x"}]}', JSON),
        (b'{"inputs": [{"name":"x","datatype":"FP32","shape":[1,64],"data":[1]}]}', JSON),
        (b'{"inputs": [{"name":"x","datatype":"FP32","shape":[-1,64],"data":[]}]}', JSON),
        (b'{"inputs": [{"name":"x","datatype":"FP32","shape":[1,64],"data":["a"]}]}', JSON),
        (b'{"inputs": [{"name":"x","datatype":"BYTES","shape":[1],"data":["a"]}]}', JSON),
        (b"\0" * 256, BINARY),
        (b"\0" * 256, {**BINARY, "Inference-Header-Content-Length": "9" * 30}),
        (
            b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1,64],"parameters":'
            b'{"binary_data_size":1e999}}]}',
            {**BINARY, "Inference-Header-Content-Length": "120"},
        ),
    ],
)
def test_wrong_body_is_refused(digits, body, headers):
    status, text = digits.post("/v2/models/digits_mlp_llvm/infer", body, headers)

    assert status in (400, 422, 500), text
    assert digits.client("http").is_model_ready("digits_mlp_llvm")


def test_version_1_is_refused(digits):
    status, text = digits.post("/v1/models/digits_mlp_llvm:predict", b'{"instances": [[1]]}', JSON)

    assert status == 400
    assert "version 2 is served only: POST /v2/models/digits_mlp_llvm/infer" in text


def test_documented_client_is_answered(digits, capsys):
    document = pathlib.Path(__file__).parents[2] / "sdk" / "python" / "SERVING.md"
    blocks = re.findall(r"^```python\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)
    (text,) = [text for text in blocks if "tritonclient" in text]
    text = text.replace("localhost:8081", f"127.0.0.1:{digits.ports['grpc']}")
    text = text.replace('"digits"', '"digits_mlp_llvm"')
    text = text.replace('"output"', repr(output_name(digits)))

    exec(text, {})

    assert capsys.readouterr().out.startswith("[[")

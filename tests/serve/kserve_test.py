# SPDX-License-Identifier: Apache-2.0
"""python -m gantry.serve.kserve, by NVIDIA's tritonclient over HTTP and gRPC on loopback.

GANTRY_SERVE_REQUESTS  number of requests of the mixed load, 10,000
"""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

import numpy
import pytest
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from gantry import serve

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "data"
DIGITS = GOLDEN / "tvm-0.12" / "digits_mlp_llvm.so"
IMAGES = numpy.load(GOLDEN / "tvm-0.12" / "digits_mlp.input.npz")["x"]
EXPECTED = numpy.load(GOLDEN / "tvm-0.12" / "digits_mlp_llvm.expected.npz")["output"]
# States names only of its inputs.
COPY = GOLDEN / "relax" / "instr_copy10.so"
# Any number of images; runs of 10,000 of them and more take seconds.
CNN = GOLDEN / "relax" / "cnn_dyn_llvm.so"

CLIENTS = {"http": tritonclient.http, "grpc": tritonclient.grpc}


class Server:
    """A server of one model in a process of its own."""

    def __init__(self, path, *options, program=("-m", "gantry.serve.kserve")):
        self.ports = {"http": free_port(), "grpc": free_port()}
        ports = [f"--{name}_port={port}" for name, port in self.ports.items()]
        command = [sys.executable, *program, str(path), *ports]
        command += ["--enable_latency_logging=false", *options]
        self.log = open(f"/tmp/gantry-kserve-{self.ports['http']}.log", "w+")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)

    def wait(self):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"exited with {self.process.returncode}: {self.text()}")
            with contextlib.suppress(Exception):
                if all(self.client(kind).is_server_ready() for kind in CLIENTS):
                    return self
            time.sleep(0.2)
        raise AssertionError(f"not ready: {self.text()}")

    def client(self, kind):
        return CLIENTS[kind].InferenceServerClient(f"127.0.0.1:{self.ports[kind]}")

    def post(self, path, body, headers=()):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports["http"], timeout=60)
        connection.request("POST", path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def text(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text()[-4000:]

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.log.close()
            os.unlink(self.log.name)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def serving(path, *options, **arguments):
    server = Server(path, *options, **arguments)
    try:
        yield server.wait()
    finally:
        server.stop()


@pytest.fixture(scope="module")
def digits():
    with serving(DIGITS) as server:
        yield server


@pytest.fixture(scope="module")
def cnn():
    limits = [f"--grpc_max_{way}_message_length=1000000000" for way in ("send", "receive")]
    with serving(CNN, *limits) as server:
        yield server


def given(kind, name, array):
    # The client sends what it is given: datatype and shape are those of the array.
    datatype = tritonclient.utils.np_to_triton_dtype(array.dtype)
    tensor = CLIENTS[kind].InferInput(name, array.shape, datatype)
    tensor.set_data_from_numpy(array)
    return tensor


def infer(client, kind, model, array, name="x", output="output", extra=()):
    wanted = [CLIENTS[kind].InferRequestedOutput(output)]
    inputs = [given(kind, name, array), *extra]
    return client.infer(model, inputs, outputs=wanted).as_numpy(output)


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


def output_name(server):
    return server.client("http").get_model_metadata("digits_mlp_llvm")["outputs"][0]["name"]


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
    "unknown input": (dict(name="y"), 'input "y" is unknown, the inputs are: x'),
    "datatype": (dict(dtype="float64"), 'input "x" is FP64, the model takes FP32'),
    "shape": (dict(shape=(64, 1)), 'input "x" has shape [64, 1], the model takes [1, 64]'),
    "rank": (dict(shape=(64,)), 'input "x" has shape [64], the model takes [1, 64]'),
    "unknown output": (dict(output="z"), 'output "z" is unknown, the outputs are'),
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


JSON = {"Content-Type": "application/json"}
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


def test_health_is_answered_during_a_run(cnn, capsys):
    # Runs grow until one takes at least 2 seconds. A host that is busy may delay an answer, but not
    # each time.
    images, slowest = 2_000, []
    while len(slowest) < 3 and min(slowest, default=1) > 0.1:
        seconds, latencies = run_cnn(cnn, images)
        if seconds < 2:
            images *= 2
            continue
        slowest.append(max(latencies))
        with capsys.disabled():
            print(f"\n{images} images in {seconds:.1f} s, {len(latencies)} health requests", end="")
            print(f" meanwhile, the slowest {max(latencies) * 1e3:.1f} ms")

    assert min(slowest) < 0.1


def run_cnn(server, images):
    """Return the duration of a run, and those of health requests meanwhile."""
    image = given_cnn(server, numpy.zeros((images, 1, 8, 8), "float32"))
    client, latencies = server.client("grpc"), []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(timed, lambda: client.infer("cnn_dyn_llvm", [image]))
        while not run.done():
            latencies.append(timed(lambda: get_live(server)))
            time.sleep(0.01)
        return run.result(), latencies


def given_cnn(server, array):
    metadata = server.client("http").get_model_metadata("cnn_dyn_llvm")
    return given("grpc", metadata["inputs"][0]["name"], array)


def timed(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def get_live(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=60)
    connection.request("GET", "/v2/health/live")
    assert connection.getresponse().status == 200


def test_workers_have_models_of_their_own():
    with serving(DIGITS, "--workers=2") as server:
        processes = children(server.process.pid)
        for kind in CLIENTS:
            output = output_name(server)
            for x, expected in zip(IMAGES[:20], EXPECTED):
                answer = infer(server.client(kind), kind, "digits_mlp_llvm", x, output=output)
                numpy.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)
        having = [p for p in processes if DIGITS.name in pathlib.Path(f"/proc/{p}/maps").read_text()]

        # The workers share a port: each answers while the other one is stopped.
        for stopped in having:
            os.kill(stopped, signal.SIGSTOP)
            try:
                answer = infer(server.client("http"), "http", "digits_mlp_llvm", IMAGES[0], output=output)
            finally:
                os.kill(stopped, signal.SIGCONT)
            numpy.testing.assert_allclose(answer, EXPECTED[0], rtol=1e-5, atol=1e-6)

    assert len(having) == 2


def children(process):
    tasks = pathlib.Path(f"/proc/{process}/task")
    return [int(n) for task in tasks.iterdir() for n in (task / "children").read_text().split()]


def test_pool_sleeps_between_requests():
    image = numpy.load(GOLDEN / "tvm-0.12" / "resnet20.input.npz")["data"][0]
    # more than there are CPUs
    threads = 4 * serve.cpus()
    with serving(GOLDEN / "tvm-0.12" / "resnet20_llvm.so", f"--threads={threads}") as server:
        client = server.client("grpc")
        output = client.get_model_metadata("resnet20_llvm", as_json=True)["outputs"][0]["name"]
        infer(client, "grpc", "resnet20_llvm", image, name="data", output=output)
        time.sleep(0.5)
        seconds = -cpu_seconds(server.process.pid)
        time.sleep(2)
        seconds += cpu_seconds(server.process.pid)

    assert seconds < 0.2


def cpu_seconds(process):
    """Return the CPU time that a process has used."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_documented_client_is_answered(digits, capsys):
    document = pathlib.Path(__file__).parents[2] / "sdk" / "python" / "SERVING.md"
    blocks = re.findall(r"^```python\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)
    (text,) = [text for text in blocks if "tritonclient" in text]
    text = text.replace("localhost:8081", f"127.0.0.1:{digits.ports['grpc']}")
    text = text.replace('"digits"', '"digits_mlp_llvm"').replace('"output"', repr(output_name(digits)))

    exec(text, {})

    assert capsys.readouterr().out.startswith("[[")


def test_documented_command_serves(tmp_path):
    document = pathlib.Path(__file__).parents[2] / "sdk" / "python" / "SERVING.md"
    (line,) = re.findall(r"^python (-m gantry.serve.kserve \S+)$", document.read_text(), re.MULTILINE)
    options, name = line.rsplit(maxsplit=1)
    (tmp_path / name).symlink_to(DIGITS)

    with serving(tmp_path / name, program=options.split()) as server:
        assert server.client("http").is_model_ready(pathlib.Path(name).stem)


def test_signature_is_that_of_the_warm_up_request(tmp_path):
    path = tmp_path / "request.json"
    entry = {"name": "x", "datatype": "INT32", "shape": [2, 3], "data": [1, 2, 3, 4, 5, 6]}
    path.write_text(json.dumps({"inputs": [entry]}))

    with serving(COPY, f"--warm-up={path}") as server:
        metadata = server.client("http").get_model_metadata(COPY.stem)
        wrong = json.dumps({"inputs": [{**entry, "shape": [6]}]})
        status, text = server.post(f"/v2/models/{COPY.stem}/infer", wrong, JSON)

    assert metadata["inputs"] == [{"name": "x", "datatype": "INT32", "shape": [2, 3]}]
    assert metadata["outputs"] == [{"name": "output", "datatype": "INT32", "shape": [2, 3]}]
    assert status == 400
    assert "has shape [6], the model takes [2, 3]" in text


def test_artifact_without_signature_is_refused():
    command = [sys.executable, "-m", "gantry.serve.kserve", str(COPY)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.returncode == 1
    assert "does not state its inputs: give a signature or a warm-up request" in done.stderr


def test_outputs_are_found_by_a_run(cnn):
    metadata = cnn.client("http").get_model_metadata("cnn_dyn_llvm")

    assert metadata["inputs"][0]["shape"] == [-1, 1, 8, 8]
    assert [(y["datatype"], len(y["shape"])) for y in metadata["outputs"]] == [("FP32", 2)]


def test_signature_file_renames(tmp_path):
    path = tmp_path / "signature.json"
    entries = {
        "inputs": [{"name": "images", "datatype": "FP32", "shape": [-1, 1, 8, 8]}],
        "outputs": [{"name": "digits", "datatype": "FP32", "shape": [-1, 10]}],
    }
    path.write_text(json.dumps(entries))
    data = numpy.load(GOLDEN / "relax" / "cnn_digits_test.npz")

    with serving(CNN, f"--signature={path}", "--model_name=cnn") as server:
        client = server.client("http")
        metadata = client.get_model_metadata("cnn")
        answer = infer(client, "http", "cnn", data["x"], name="images", output="digits")

    assert {side: metadata[side] for side in entries} == entries
    numpy.testing.assert_allclose(answer, data["expected"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["none.so"], "none.so"),
        ([str(DIGITS), "--signature=none.json"], "none.json"),
        ([str(DIGITS), "--warm-up=none.json"], "none.json"),
    ],
)
def test_start_is_refused(options, text):
    command = [sys.executable, "-m", "gantry.serve.kserve", *options]

    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.returncode == 1
    assert "gantry.serve.kserve: " in done.stderr
    assert text in done.stderr

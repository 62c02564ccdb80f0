# SPDX-License-Identifier: Apache-2.0
"""python -m gantry.serve.kserve in its processes: long runs, workers, pools, start."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

import numpy
import pytest
from kserve_server import CLIENTS, CNN, COPY, DIGITS, EXPECTED, GOLDEN, IMAGES, JSON
from kserve_server import infer, output_name, serving

from gantry import serve

LONG_RUN = pathlib.Path(__file__).parent / "long_run" / "long_run.yaml"
# the command of the wheel
GANTRY = pathlib.Path(sys.executable).parent / "gantry"


def test_health_is_answered_during_a_run(tmp_path, capsys):
    library = tmp_path / "long_run.so"
    subprocess.run([GANTRY, "-q", "pack", LONG_RUN, "-o", library], check=True)
    with serving(library) as server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        client, latencies = server.client("grpc"), []
        output = output_name(server, "long_run")
        send = lambda: infer(client, "grpc", "long_run", IMAGES[0], output=output)  # noqa: E731
        run = pool.submit(timed, send)
        while not run.done():
            latencies.append(timed(lambda: get_live(server)))
            time.sleep(0.01)

    with capsys.disabled():
        median, slowest = statistics.median(latencies) * 1e3, max(latencies) * 1e3
        print(f"\n{len(latencies)} health requests during a run of {run.result():.2f} s", end="")
        print(f", median {median:.1f} ms, the slowest {slowest:.1f} ms")
    assert run.result() > 2
    assert max(latencies) < 0.1


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
        having = [p for p in processes if DIGITS.name in maps(p)]

        # The workers share a port: each answers while the other one is stopped.
        for stopped in having:
            os.kill(stopped, signal.SIGSTOP)
            try:
                client = server.client("http")
                answer = infer(client, "http", "digits_mlp_llvm", IMAGES[0], output=output)
            finally:
                os.kill(stopped, signal.SIGCONT)
            numpy.testing.assert_allclose(answer, EXPECTED[0], rtol=1e-5, atol=1e-6)

    assert len(having) == 2


def maps(process):
    return pathlib.Path(f"/proc/{process}/maps").read_text()


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


def test_documented_command_serves(tmp_path):
    document = pathlib.Path(__file__).parents[2] / "sdk" / "python" / "SERVING.md"
    command = re.compile(r"^python (-m gantry.serve.kserve \S+)$", re.MULTILINE)
    (line,) = command.findall(document.read_text())
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


def test_outputs_are_found_by_a_run():
    with serving(CNN) as server:
        metadata = server.client("http").get_model_metadata("cnn_dyn_llvm")

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


def test_signature_file_that_contradicts_the_artifact_is_refused(tmp_path):
    path = tmp_path / "signature.json"
    entry = {"name": "x", "datatype": "FP16", "shape": [-1, 1, 8, 8]}
    path.write_text(json.dumps({"inputs": [entry]}))
    command = [sys.executable, "-m", "gantry.serve.kserve", str(CNN), f"--signature={path}"]

    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.returncode == 1
    assert f'signature {path}: input "x" is FP16 [-1, 1, 8, 8], the artifact states' in done.stderr


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

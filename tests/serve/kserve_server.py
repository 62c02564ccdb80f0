# SPDX-License-Identifier: Apache-2.0
"""A server of KServe in a process of its own, and NVIDIA's tritonclient."""

import contextlib
import http.client
import os
import pathlib
import socket
import subprocess
import sys
import time

import numpy
import tritonclient.grpc
import tritonclient.http
import tritonclient.utils

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "data"
DIGITS = GOLDEN / "tvm-0.12" / "digits_mlp_llvm.so"
IMAGES = numpy.load(GOLDEN / "tvm-0.12" / "digits_mlp.input.npz")["x"]
EXPECTED = numpy.load(GOLDEN / "tvm-0.12" / "digits_mlp_llvm.expected.npz")["output"]
# States names only of its inputs.
COPY = GOLDEN / "relax" / "instr_copy10.so"
# Any number of images; runs of 10,000 of them and more take seconds.
CNN = GOLDEN / "relax" / "cnn_dyn_llvm.so"

JSON = {"Content-Type": "application/json"}

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

    def lines(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text().splitlines()

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


def output_name(server, model="digits_mlp_llvm"):
    return server.client("http").get_model_metadata(model)["outputs"][0]["name"]

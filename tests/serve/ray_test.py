# SPDX-License-Identifier: Apache-2.0
"""gantry.serve.ray on a local cluster of three nodes.

GANTRY_SERVE_RAY_SECONDS  duration of the load, 60; a node is removed after a third
"""

import asyncio
import concurrent.futures
import http.client
import json
import os
import pathlib
import signal
import statistics
import threading
import time

import numpy
import pytest
import ray
from ray import serve
from ray._private import services
from ray.cluster_utils import Cluster
from ray.exceptions import ActorDiedError, ActorUnavailableError, OwnerDiedError

from gantry.serve.ray import Arguments, Predictor, app, ask

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "data"
CNN = GOLDEN / "relax" / "cnn_dyn_llvm.so"
DIGITS = GOLDEN / "tvm-0.12" / "digits_mlp_llvm.so"
DATA = numpy.load(GOLDEN / "relax" / "cnn_digits_test.npz")
REPLICAS = 3


get_node = services.get_node


def get_node_patiently(*arguments):
    deadline = time.monotonic() + 60
    while True:
        try:
            return get_node(*arguments)
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def start(function, attempts=5):
    """Call a function that starts a node, whose processes end if its agents take 15 s to start."""
    for left in reversed(range(attempts)):
        try:
            return function()
        except Exception:
            if left == 0:
                raise


@pytest.fixture(scope="module")
def cluster():
    head = {"num_cpus": 4, "include_dashboard": False}
    with pytest.MonkeyPatch.context() as patch:
        # Ray gives up on a node that takes 30 s to start, or a proxy 5 s, as on a busy host.
        patch.setattr(services, "get_node", get_node_patiently)
        patch.setenv("RAY_agent_register_timeout_ms", "300000")
        patch.setenv("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "300")
        patch.setenv("RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S", "60")
        cluster = start(lambda: Cluster(initialize_head=True, head_node_args=head))
        for _ in range(2):
            start(lambda: cluster.add_node(num_cpus=4))
    ray.init(cluster.address)
    # The nodes have one address here, at which their proxies would share a port. Clients are to use
    # that of the head node.
    serve.start(proxy_location="HeadOnly")
    yield cluster
    serve.shutdown()
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def cnn(cluster):
    """The application, one replica on each node, and names of its input and output."""
    arguments = Arguments(path=str(CNN), replicas=REPLICAS, cpus=1, max_batch_size=16)
    handle = serve.run(app(arguments), name="cnn", route_prefix="/cnn")
    metadata = get("/cnn")
    return handle, metadata["inputs"][0]["name"], metadata["outputs"][0]["name"]


def get(path, body=None, expected=200):
    connection = http.client.HTTPConnection("127.0.0.1", 8000, timeout=120)
    connection.request("GET" if body is None else "POST", path, body)
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.status == expected, text
    return json.loads(text)


def body(name, array):
    data = array.ravel().tolist()
    tensor = {"name": name, "datatype": "FP32", "shape": list(array.shape), "data": data}
    return json.dumps({"id": "7", "inputs": [tensor]})


def assert_right(answer, rows):
    found = numpy.asarray(answer, "float32").reshape(-1, 10)
    numpy.testing.assert_allclose(found, DATA["expected"][rows], rtol=1e-4, atol=1e-5)


def test_handle_takes_arrays(cnn):
    handle, x, y = cnn

    answers = [handle.remote({x: DATA["x"][i : i + 1]}) for i in range(64)]

    for i, answer in enumerate(answers):
        assert_right(answer.result(timeout_s=120)[y], slice(i, i + 1))


def test_http_takes_the_protocols_json(cnn):
    _, x, y = cnn

    answer = get("/cnn/v2/models/cnn/infer", body(x, DATA["x"][:3]))

    assert (answer["id"], answer["outputs"][0]["name"]) == ("7", y)
    assert answer["outputs"][0]["shape"] == [3, 10]
    assert_right(answer["outputs"][0]["data"], slice(0, 3))


@pytest.mark.parametrize(
    ("request_body", "text"),
    [
        ("{", "Expecting property name enclosed in double quotes"),
        ("{}", '"inputs" is missing'),
        (body("x", DATA["x"][:1])[:-1] + ', "outputs": 5}', '"outputs" is no list'),
        (body("x", DATA["x"][:1])[:-1] + ', "outputs": [{"name": []}]}', "output [] not found"),
        (body("z", DATA["x"][:1]), 'input "z" not found; inputs: '),
        (body("x", DATA["x"][:1, 0]), "has shape [1, 8, 8], the model takes [-1, 1, 8, 8]"),
    ],
)
def test_wrong_request_is_refused(cnn, request_body, text):
    request_body = request_body.replace('"name": "x"', f'"name": "{cnn[1]}"')

    answer = get("/cnn", request_body, expected=400)

    assert text in answer["error"]


def test_wrong_request_fails_alone(cnn):
    handle, x, y = cnn

    good = [handle.remote({x: DATA["x"][i : i + 1]}) for i in range(15)]
    bad = handle.remote({x: DATA["x"][:1].astype("float64")})

    with pytest.raises(ValueError, match="is FP64, the model takes FP32"):
        bad.result(timeout_s=120)
    for i, answer in enumerate(good):
        assert_right(answer.result(timeout_s=120)[y], slice(i, i + 1))


def test_dataset_gets_the_outputs(cluster):
    images = numpy.load(GOLDEN / "tvm-0.12" / "digits_mlp.input.npz")["x"]
    expected = numpy.load(GOLDEN / "tvm-0.12" / "digits_mlp_llvm.expected.npz")["output"]
    rows = ray.data.from_numpy(images.reshape(-1, 64)).rename_columns({"data": "x"})
    rows = rows.repartition(6).zip(ray.data.range(len(images)))

    done = rows.map_batches(
        Predictor,
        fn_constructor_args=[str(DIGITS)],
        compute=ray.data.ActorPoolStrategy(size=2),
        num_cpus=1,
        batch_size=50,
    ).take_all()

    done.sort(key=lambda row: row["id"])
    (y,) = done[0].keys() - {"x", "id"}
    numpy.testing.assert_allclose(
        [row[y] for row in done], expected.reshape(-1, 10), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(("cpus", "threads"), [(1, 1), (2, 2), (0.5, 1)])
def test_pool_has_the_assigned_cpus(cluster, cpus, threads):
    @ray.remote(num_cpus=cpus)
    def count():
        return Arguments(path=str(DIGITS)).load().threads

    assert ray.get(count.remote()) == threads


class Failing:
    """A method of a handle that fails a number of times."""

    def __init__(self, error, times):
        self.error, self.left = error, times

    async def remote(self, value):
        self.left -= 1
        if self.left >= 0:
            raise self.error
        return value


LOST = [ActorDiedError(), ActorUnavailableError("lost", None), OwnerDiedError(b"0" * 28, None, "")]


@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
def test_lost_request_is_repeated(error):
    assert asyncio.run(ask(Failing(error, 2), 5)) == 5


def test_failure_of_the_model_is_not_repeated():
    method = Failing(ValueError("wrong"), 1)

    with pytest.raises(ValueError, match="wrong"):
        asyncio.run(ask(method, 5))
    assert method.left == 0


def test_repetition_ends():
    with pytest.raises(ActorDiedError):
        asyncio.run(ask(Failing(ActorDiedError(), 2), 5, attempts=2))


def test_no_request_fails_when_a_node_is_removed(cluster, cnn, capsys):
    handle, x, y = cnn
    seconds = float(os.environ.get("GANTRY_SERVE_RAY_SECONDS", 60))
    # Answers of more than 100 KB stay in the memory of the replica's node until they are fetched.
    kinds = ["http", "handle"] * 7 + ["large"] * 2
    stop, latencies = threading.Event(), {kind: [] for kind in kinds}

    def load(kind, first):
        i = first
        while not stop.is_set():
            rows = [i % 72] * (2_600 if kind == "large" else 1)
            began = time.perf_counter()
            if kind == "http":
                answer = get("/cnn", body(x, DATA["x"][rows]))["outputs"][0]["data"]
            else:
                answer = handle.remote({x: DATA["x"][rows]}).result(timeout_s=120)[y]
            latencies[kind].append(time.perf_counter() - began)
            assert_right(answer, rows)
            i += 1

    nodes = replica_nodes()
    assert len(nodes) == REPLICAS, nodes
    with concurrent.futures.ThreadPoolExecutor(len(kinds)) as pool:
        clients = [pool.submit(load, kind, k) for k, kind in enumerate(kinds)]
        stop.wait(seconds / 3)
        before = {kind: len(done) for kind, done in latencies.items()}
        take_away(cluster, list(cluster.worker_nodes)[0])
        stop.wait(seconds * 2 / 3)
        stop.set()
        failures = [error for client in clients if (error := client.exception())]

    with capsys.disabled():
        print(f"\n{REPLICAS} nodes, one removed after {seconds / 3:.0f} of {seconds:.0f} s")
        for kind, done in latencies.items():
            print(
                f"{kind}: {before[kind]} requests before, {len(done) - before[kind]} after, "
                f"min {min(done) * 1e3:.1f} ms, median {statistics.median(done) * 1e3:.1f} ms, "
                f"max {max(done):.1f} s"
            )
        print(f"{len(failures)} failed")
    assert failures == []
    assert all(len(done) > before[kind] for kind, done in latencies.items())


def take_away(cluster, node):
    """Kill all processes of a node at once, its replica before it can finish a request."""
    (raylet,) = node.all_processes["raylet"]
    tasks = pathlib.Path(f"/proc/{raylet.process.pid}/task")
    children = [int(n) for task in tasks.iterdir() for n in (task / "children").read_text().split()]
    for process in (raylet.process.pid, *children):
        os.kill(process, signal.SIGKILL)
    cluster.remove_node(node, allow_graceful=False)


def replica_nodes():
    """Return the nodes that have a replica of the model."""
    actors = ray._private.state.actors().values()
    named = [a for a in actors if a["State"] == "ALIVE" and "::cnn#Replica#" in a["Name"]]
    return {a["Address"]["NodeID"] for a in named}

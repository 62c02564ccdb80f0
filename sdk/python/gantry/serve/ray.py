# SPDX-License-Identifier: Apache-2.0
"""Serves a model on Ray: an application of Ray Serve, and an actor class for Dataset.map_batches.

    serve run gantry.serve.ray:app path=/models/model.so replicas=3 max_batch_size=16

    client -> Serve's proxy -> Ingress, on the head node -> Replica, on any node
                               decodes, retries             checks, batches, runs
"""

import asyncio
import json

import numpy
import pydantic
import ray
import starlette.requests
import starlette.responses
from ray import serve
from ray.exceptions import ObjectLostError, RayActorError

from gantry.serve import rows, signature
from gantry.serve.model import ServedModel, decode
from gantry.serve.workers import Workers


class Arguments(pydantic.BaseModel, extra="forbid"):
    """Arguments of the application."""

    path: str  # of the artifact, on every node
    device: str | None = None
    function: str = ""
    signature: str | None = None
    warm_up: str | None = None
    replicas: pydantic.PositiveInt = 1
    cpus: pydantic.PositiveFloat = 1  # of each replica, whose pool has as many threads
    # More than one request at once, where inputs and outputs have a free first extent. The rows of
    # the model must be independent of each other.
    max_batch_size: pydantic.PositiveInt = 1
    batch_wait_s: pydantic.NonNegativeFloat = 0.01  # for a batch to fill

    def load(self) -> ServedModel:
        options = {"path", "device", "function", "signature", "warm_up"}
        return ServedModel(threads=assigned_cpus(), **self.model_dump(include=options))


def assigned_cpus() -> int:
    """Return the number of CPUs that Ray has assigned to this actor: at least 1."""
    return max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))


class Replica:
    """Runs requests: dictionaries of arrays, as the model states its inputs."""

    def __init__(self, arguments: Arguments):
        self._served = arguments.load()
        self._workers = Workers(self._served.executors)
        self._batched = serve.batch(
            self._run_batch,
            max_batch_size=arguments.max_batch_size,
            batch_wait_timeout_s=arguments.batch_wait_s,
        )
        self._batches = arguments.max_batch_size > 1

    async def __call__(self, feeds: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
        """raises   ValueError  the request is wrong"""
        self._served.signature.check_arrays(feeds)
        if not self._batches:
            return await self._workers.call(self._served.run, feeds)
        answer = await self._batched(feeds)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def metadata(self) -> dict:
        return self._served.signature.metadata()

    async def _run_batch(self, requests: list[dict]) -> list[dict | Exception]:
        joinable = self._served.signature.joinable
        return await self._workers.call(rows.run_requests, self._served.run, requests, joinable)


async def ask(method, *arguments, attempts: int = 8):
    """Call a method of a deployment's handle, again if its replica dies meanwhile.

    Serve itself calls again only if the replica dies before it has accepted the request. Models
    have no side effects, so that a request may run twice. An answer may also be lost with the node
    that has it in memory.
    """
    for left in reversed(range(attempts)):
        try:
            return await method.remote(*arguments)
        except (RayActorError, ObjectLostError):
            if left == 0:
                raise
            await asyncio.sleep(0.1 * (attempts - left))


class Ingress:
    """Answers HTTP requests, and those of handles: dictionaries of arrays."""

    def __init__(self, replicas: serve.handle.DeploymentHandle):
        self._replicas = replicas

    async def __call__(self, request):
        if not isinstance(request, starlette.requests.Request):
            return await ask(self._replicas, request)
        if request.method == "GET":
            return await ask(self._replicas.metadata)
        try:
            body = json.loads(await request.body())
            feeds = decode(body)
            results = await ask(self._replicas, feeds)
            return _encode(body, results)
        except ValueError as error:
            text = str(getattr(error, "cause", error))  # of a replica: without its traceback
            return starlette.responses.JSONResponse({"error": text}, 400)


def _encode(body: dict, results: dict[str, numpy.ndarray]) -> dict:
    wanted = body.get("outputs") or [{"name": name} for name in results]
    if not isinstance(wanted, list):
        raise ValueError('"outputs" is no list')
    outputs = []
    for entry in wanted:
        name = entry.get("name") if isinstance(entry, dict) else None
        signature.check_output(name, list(results))
        array = results[name]
        datatype = signature.DATATYPES[array.dtype]
        outputs.append({"name": name, "datatype": datatype, "shape": list(array.shape)})
        outputs[-1]["data"] = array.ravel().tolist()
    return {"id": body.get("id") or "", "outputs": outputs}


def app(arguments: Arguments) -> serve.Application:
    """Build the application, for serve.run or `serve run gantry.serve.ray:app NAME=VALUE...`."""
    replica = serve.deployment(
        Replica,
        num_replicas=arguments.replicas,
        max_ongoing_requests=2 * max(arguments.max_batch_size, int(arguments.cpus)) + 1,
        ray_actor_options={"num_cpus": arguments.cpus},
    )
    # A request in the ingress is lost with its node: it is on the node without which there is no
    # cluster either.
    ingress = serve.deployment(
        Ingress,
        max_ongoing_requests=1000,
        ray_actor_options={"num_cpus": 0, "resources": {"node:__internal_head__": 0.001}},
    )
    return ingress.bind(replica.bind(arguments))


class Predictor:
    """Adds the outputs of a model to the rows of a dataset.

    actors = ray.data.ActorPoolStrategy(size=3)
    dataset.map_batches(Predictor, fn_constructor_args=[path], compute=actors, num_cpus=1)
    """

    def __init__(self, path: str, **arguments):
        """arguments  device, function, signature, warm_up: see Arguments"""
        self._served = Arguments(path=path, **arguments).load()

    def __call__(self, batch: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
        return {**batch, **rows.run_columns(self._served.run, self._served.signature, batch)}

# SPDX-License-Identifier: Apache-2.0
"""Serves a model with the Open Inference Protocol v2 through KServe's model server.

    python -m gantry.serve.kserve model.so --http_port 8080 --grpc_port 8081
"""

import argparse
import asyncio
import logging
import pathlib
import time

import gantry
import kserve
import uvloop
from kserve.errors import InvalidInput, ModelNotFound
from kserve.logging import KSERVE_LOGGER_NAME
from kserve.model_server import parser as server_options

from gantry.serve import share, signature
from gantry.serve.model import ServedModel
from gantry.serve.workers import Workers

# Seconds of a run that is made on the event loop: two switches of threads take as long.
SHORT = 100e-6
# Seconds after which such a run stops before its next operator, and is repeated on a worker.
TOO_LONG = 1e-3


class _OneLine(logging.Filter):
    """Logs a request that a client has to change as one line, without the server's stack."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, (InvalidInput, ModelNotFound)):
            # The text may have what the client sent.
            text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(error))
            record.msg, record.args = "refused a request: %s", (text,)
            record.exc_info = None
        return True


_one_line = _OneLine()


class Model(kserve.Model):
    """A model of KServe's server. Pickled by its arguments: a worker process loads it again."""

    def __init__(self, name: str, path: str, **options):
        """Load a model.

        name     in the protocol
        options  of ServedModel
        """
        super().__init__(name)
        # Here, because each worker process has a logger of its own.
        logging.getLogger(KSERVE_LOGGER_NAME).addFilter(_one_line)
        self._arguments = (name, path, options)
        self._served = ServedModel(path, **options)
        self._workers = Workers(self._served.executors)
        # shapes of the inputs of the last run, if it was short
        self._short: list | None = None
        self.ready = True

    def __reduce__(self):
        return _restore, (*self._arguments, self.enable_latency_logging)

    def stop(self) -> None:
        super().stop()
        self._workers.stop()

    def get_input_types(self) -> list[dict]:
        return self._served.signature.metadata()["inputs"]

    def get_output_types(self) -> list[dict]:
        return self._served.signature.metadata()["outputs"]

    async def predict(self, payload, headers=None, response_headers=None) -> kserve.InferResponse:
        """Run a request on a worker, so that the event loop goes on.

        A run is made on the event loop if no other one is under way, and the last one had inputs of
        the same shapes and was short.

        raises   InvalidInput  the request is wrong
                 gantry.Error  the run failed
        """
        if not isinstance(payload, kserve.InferRequest):
            raise InvalidInput(f"version 2 is served only: POST /v2/models/{self.name}/infer")
        if self._workers.are_idle and self._short == [i.shape for i in payload.inputs]:
            try:
                return self._answer(payload, TOO_LONG)
            except gantry.DeadlineError:
                self._short = None
        return await self._workers.call(self._answer, payload)

    def _answer(
        self, request: kserve.InferRequest, timeout: float | None = None
    ) -> kserve.InferResponse:
        expected = self._served.signature
        try:
            expected.check((i.name, i.datatype, i.shape) for i in request.inputs)
            wanted = expected.select(o.name for o in request.request_outputs or ())
            feeds = {i.name: _array(i) for i in request.inputs}
            began = time.perf_counter()
            results = self._served.run(feeds, timeout)
            short = time.perf_counter() - began < SHORT
            self._short = [i.shape for i in request.inputs] if short else None
        except ValueError as error:
            raise InvalidInput(str(error)) from error
        # The server encodes arrays where it writes HTTP, but not all where it writes gRPC.
        raw = [results[n].tobytes() for n in wanted] if request.from_grpc else None
        return kserve.InferResponse(
            response_id=request.id or "",
            model_name=self.name,
            infer_outputs=[_output(n, results[n], raw is None) for n in wanted],
            raw_outputs=raw,
            from_grpc=request.from_grpc,
            use_binary_outputs=request.use_binary_outputs,
            requested_outputs=request.request_outputs,
        )


def _restore(name: str, path: str, options: dict, enable_latency_logging: bool) -> Model:
    model = Model(name, path, **options)
    model.enable_latency_logging = enable_latency_logging
    return model


def _array(given: kserve.InferInput):
    try:
        return given.as_numpy()
    except (TypeError, ValueError, OverflowError) as error:  # data that do not fit the shape
        raise ValueError(f'input "{given.name}": {error}') from error


def _output(name: str, array, with_data: bool) -> kserve.InferOutput:
    data = array if with_data else None
    return kserve.InferOutput(name, list(array.shape), signature.DATATYPES[array.dtype], data)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gantry.serve.kserve",
        description="Serve a model with the Open Inference Protocol v2.",
        parents=[server_options],
    )
    parser.add_argument("path", metavar="MODEL", help="the artifact")
    parser.add_argument("--device", metavar="NAME", help='such as "opencl:0"')
    parser.add_argument("--function", default="", metavar="NAME", help="default: the main one")
    parser.add_argument(
        "--signature", metavar="FILE", help="JSON of inputs and outputs, as /v2/models/NAME returns"
    )
    parser.add_argument(
        "--warm-up", metavar="FILE", help="JSON body of a request that is run before the first one"
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="of each process; default: its share of the CPUs, or of TVM_NUM_THREADS",
    )
    parser.add_argument(
        "--executors", type=int, metavar="N", help="runs at the same time; default: as --threads"
    )
    parser.set_defaults(model_name=None)
    return parser


def _threads(chosen: argparse.Namespace) -> int:
    """Return the number of threads of each process."""
    # With several workers, those serve HTTP and this process serves gRPC.
    processes = 1 if chosen.workers == 1 else chosen.workers + bool(chosen.enable_grpc)
    return chosen.threads or share(processes)


def main() -> None:
    parser = _options()
    chosen = parser.parse_args()
    try:
        model = Model(
            chosen.model_name or pathlib.Path(chosen.path).stem,
            chosen.path,
            threads=_threads(chosen),
            executors=chosen.executors,
            device=chosen.device,
            function=chosen.function,
            signature=chosen.signature,
            warm_up=chosen.warm_up,
        )
    except (gantry.Error, OSError, ValueError) as error:
        parser.exit(1, f"gantry.serve.kserve: {error}\n")
    if chosen.event_loop != "asyncio":  # the server itself heeds it only with several workers
        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
        asyncio.set_event_loop(asyncio.new_event_loop())  # start() expects one
    kserve.ModelServer().start([model])  # reads the other options from the same command line


if __name__ == "__main__":
    main()

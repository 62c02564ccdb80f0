# SPDX-License-Identifier: Apache-2.0
"""A loaded model with its signature: what both adapters serve."""

import contextlib
import json
from collections.abc import Mapping

import gantry
import numpy

from gantry._arrays import array_of
from gantry.serve import signature as signatures


class ServedModel:
    """A model, its runtime and its signature.

    The signature is that of a file if one is given, else the artifact's. What neither states is
    taken from one run: of the warm-up request, else of zeros.
    """

    def __init__(
        self,
        path: str,
        *,
        threads: int,
        executors: int | None = None,
        device: str | None = None,
        function: str = "",
        signature: str | None = None,
        warm_up: str | None = None,
    ):
        """Load a model.

        threads    of the runtime's pool: this replica's share of the machine
        executors  maximum number of runs at the same time; None: as many as threads
        signature  a file, see signature.py. Inputs and outputs are in the artifact's order, the
                   names may differ
        warm_up    a file with the JSON body of an inference request, which is run once
        raises     gantry.Error         the artifact cannot be loaded or run
                   OSError, ValueError  a file cannot be read, or does not match the artifact
        """
        self.executors = executors or threads
        runtime = gantry.Runtime(threads=threads)
        self.threads: int = runtime.configuration()["threads"]
        self._model = _prepared(runtime, path, device, self.executors)
        self._function = function
        stated = self._model.signature(function)

        given = None if signature is None else signatures.read(signature)
        request = None if warm_up is None else read_request(warm_up)
        try:
            own_inputs = signatures.recorded(stated.inputs, "input")
            own_outputs = signatures.recorded(stated.outputs, "output")
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        if given:
            try:
                signatures.check(given.inputs, stated.inputs or None, "input")
                if given.outputs:
                    signatures.check(given.outputs, stated.outputs, "output")
            except ValueError as error:
                raise ValueError(f"signature {signature}: {error}") from error
        inputs = given.inputs if given else own_inputs
        if not inputs and request:
            inputs = signatures.observed(request, fixed=True)
        if not inputs:
            raise ValueError(
                f"{path} does not state its inputs: give a signature or a warm-up request"
            )
        names = [p.name for p in stated.inputs or inputs]
        if len(names) != len(inputs):
            raise ValueError(f"the request has {len(inputs)} inputs, {path} has {len(names)}")
        self._inputs = [(own, p.name) for own, p in zip(names, inputs)]
        outputs = (given and given.outputs) or own_outputs or ()
        self.signature = signatures.Signature(inputs, outputs)

        if request:
            self.signature.check_arrays(request)
        if request or not outputs:
            results = self.run(request or {p.name: p.zeros() for p in inputs})
            outputs = outputs or signatures.observed(results, all(p.fixed for p in inputs))
            self.signature = signatures.Signature(inputs, outputs)

    def run(
        self, feeds: Mapping[str, numpy.ndarray], timeout: float | None = None
    ) -> dict[str, numpy.ndarray]:
        """Run the model on inputs that the signature accepts. Blocks, without the GIL.

        timeout  seconds after which the run stops before its next operator
        returns  the outputs by the names of the signature; no later call writes them
        raises   ValueError    the model refuses the inputs
                 gantry.Error  the run failed; gantry.DeadlineError after the timeout
        thread   as many at the same time as there are executors; others wait
        """
        try:
            inputs = {own: feeds[name] for own, name in self._inputs}
            result = self._model.run(inputs, function=self._function, timeout=timeout)
        except gantry.Error as error:
            if error.code == gantry.Code.INVALID:
                raise ValueError(str(error)) from error
            raise
        fields = getattr(result, "_fields", None)
        values = [result] if fields is None else result
        names = [p.name for p in self.signature.outputs] or fields or ["output"]
        if len(names) != len(values):
            raise RuntimeError(f"the run has {len(values)} outputs, the signature {len(names)}")
        return {name: numpy.asarray(value) for name, value in zip(names, values)}


def _prepared(
    runtime: gantry.Runtime, path: str, device: str | None, executors: int
) -> gantry.Model:
    """Returns the model with its code compiled, so that the first request takes no longer than others.

    A function that cannot be prepared does not hinder those that are served.
    """
    with contextlib.suppress(gantry.Error):
        return runtime.load(path, device=device, executors=executors, prepare=True)
    return runtime.load(path, device=device, executors=executors)


def read_request(path: str) -> dict[str, numpy.ndarray]:
    """Read the inputs of a file with the JSON body of an inference request.

    raises   OSError, ValueError
    """
    with open(path, "rb") as file:
        try:
            return decode(json.load(file))
        except ValueError as error:
            raise ValueError(f"request {path}: {error}") from error


def decode(body: object) -> dict[str, numpy.ndarray]:
    """Decode the inputs of an inference request whose data are JSON.

    raises   ValueError  the document is no inference request: the text names the field
    """
    if not isinstance(body, dict) or not isinstance(body.get("inputs"), list):
        raise ValueError('"inputs" is missing')
    feeds: dict[str, numpy.ndarray] = {}
    for i, entry in enumerate(body["inputs"]):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise ValueError(f"inputs[{i}] has no name")
        name, datatype = entry["name"], entry.get("datatype")
        if name in feeds:
            raise ValueError(f'input "{name}" is there twice')
        if not isinstance(datatype, str) or datatype not in signatures.DTYPES:
            raise ValueError(f'input "{name}" has datatype {datatype!r}, which is not supported')
        try:
            feeds[name] = _array(entry.get("data"), signatures.DTYPES[datatype], entry.get("shape"))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f'input "{name}": {error}') from error
    return feeds


def _array(data: object, dtype: str, shape: object) -> numpy.ndarray:
    if not isinstance(data, list):
        raise ValueError("data is no list")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"shape is {shape!r}")
    return array_of(data, dtype).reshape(shape)

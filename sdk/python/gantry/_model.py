# SPDX-License-Identifier: Apache-2.0
"""Models and their functions."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gantry import _native
from gantry._arrays import array_of
from gantry._errors import Code, Error
from gantry._module import Module, titled
from gantry._outputs import outputs_of


class Parameter(NamedTuple):
    """One input or output of a function."""

    name: str
    kind: str
    """"tensor", "tuple", or "value" for another kind or one that the artifact does not state."""
    type: str | None
    """"float32[n, 64]", as the artifact states it. None: not stated."""
    dtype: str | None
    """"float32". None: not stated."""
    shape: tuple[int | None, ...] | None
    """Extents; None: any. None instead of the tuple: not stated."""


class Signature(NamedTuple):
    """The inputs and outputs of a function, without parameters that the artifact contains."""

    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...] | None
    """None: the artifact does not state them."""


def module_options(
    runtime: Any,
    device: str | Iterable[str] | None,
    executors: int,
    capture: bool,
    prepare: bool,
    allow_missing: bool,
    allow_executable_stack: bool,
) -> dict[str, Any]:
    """Returns the options of Runtime.load() in the form in which a model keeps them."""
    return {
        "device": _device_names(runtime, device),
        "executors": executors,
        "capture": capture,
        "prepare": prepare,
        "allow_missing": allow_missing,
        "allow_executable_stack": allow_executable_stack,
    }


def _device_names(runtime: Any, device: str | Iterable[str] | None) -> tuple[str, ...] | None:
    if device is None or isinstance(device, str):
        return device if device is None else (device,)
    names = tuple(device) if isinstance(device, Iterable) else ()
    if not names or not all(isinstance(name, str) for name in names):
        found = runtime._native.report("devices")["devices"]
        there = ", ".join(f"{each['name']}:{each['index']}" for each in found)
        raise TypeError(f"device is {device!r}, expected one or several of: {there}")
    return names


_LISTS = frozenset((list, tuple))


class Model:
    """A model: a graph, code compiled ahead of time, or a virtual machine.

        model = gantry.load("digits.so")
        probabilities = model(x=images)

    Its functions have named inputs and outputs. A model may be called on several threads at the same
    time; the calls share its parameters. No later call writes a result. gantry.load() creates models.
    """

    def __init__(self) -> None:
        raise TypeError("gantry.load() and Runtime.load() create models")

    @classmethod
    def _of(
        cls, runtime: Any, module: Any, path: str | None, name: str, options: dict[str, Any]
    ) -> "Model":
        self = cls.__new__(cls)
        self._runtime = runtime
        self._path = path
        self._name = name
        self._options = options
        self._lock = threading.Lock()
        self._signatures: dict[str, Signature] = {}
        self._module = module
        self._main = self._model_on(options["device"])
        self._on_devices: dict[Any, Any] = {options["device"]: self._main}
        return self

    def _model_on(self, devices: tuple[str, ...] | None) -> Any:
        options = self._options
        return _native.Model(
            self._module, devices, options["executors"], options["capture"], options["prepare"]
        )

    def _native_model(self, device: str | Iterable[str] | None) -> Any:
        if device is None:
            return self._main
        names = _device_names(self._runtime, device)
        with self._lock:
            found = self._on_devices.get(names)
            if found is None:
                found = self._on_devices[names] = self._model_on(names)
            return found

    @property
    def path(self) -> str | None:
        """Absolute path of the artifact. None: load_bytes() has loaded it."""
        return self._path

    @property
    def module(self) -> Module:
        """The artifact, whose functions are called one by one."""
        return Module._of(self._module, self._path, self._name)

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions, sorted."""
        return self._main.functions()

    def signature(self, function: str = "") -> Signature:
        """Returns the inputs and outputs of a function. See run() for the name."""
        known = self._signatures.get(function)
        if known is None:
            inputs, outputs = self._main.signature(function)
            known = Signature(
                tuple(Parameter._make(item) for item in inputs),
                None if outputs is None else tuple(Parameter._make(item) for item in outputs),
            )
            self._signatures[function] = known
        return known

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """Inputs of the function that a call runs."""
        return self.signature().inputs

    @property
    def outputs(self) -> tuple[Parameter, ...] | None:
        """Outputs of the function that a call runs. None: the artifact does not state them."""
        return self.signature().outputs

    @property
    def copied_bytes(self) -> int:
        """Bytes of inputs that all calls so far have copied, because of their alignment, strides or
        device. Arrays of gantry.empty() need no copy."""
        with self._lock:
            return sum(model.copied_bytes for model in self._on_devices.values())

    def __call__(self, /, *args: Any, **inputs: Any) -> Any:
        """Runs the model with inputs by name, or in the order of `inputs`. See run()."""
        if not args:
            return self.run(inputs)
        if not inputs:
            return self.run(args)
        names = [parameter.name for parameter in self.inputs]
        named = dict(zip(names, args))
        if len(names) < len(args):
            raise TypeError(
                f"{len(args)} inputs are given in order, the model has {len(names)}: {names}"
            )
        for name in named.keys() & inputs.keys():
            raise TypeError(f"input {name!r} is given twice, in order and by name")
        return self.run({**named, **inputs})

    def run(
        self,
        inputs: Mapping[str, Any] | Sequence[Any] = (),
        /,
        *,
        function: str = "",
        device: str | Iterable[str] | None = None,
        out: Any = None,
        copy: bool = True,
        tensors: bool = False,
        timeout: float | None = None,
    ) -> Any:
        """Runs a function, and returns its output, or a named tuple of several.

        inputs: by name, or in order. Arrays have the dtype and shape of the signature; lists of
            numbers become arrays where it states the dtype. Functions of virtual machines also take
            None, bool, int, float, str, bytes, tuples of integers as shapes, lists, and
            gantry.Object.
        function: "" is "default" of graphs, "main" of a virtual machine, or the only one that does
            not begin with "_".
        device: run on this device instead of that of load(). The first call for a device creates the
            model there.
        out: array to fill with the output, or a sequence with an array or None for each output, or a
            mapping of names to arrays. Results are these arrays.
        copy: False raises gantry.Error, reason COPY_REQUIRED, if an input cannot be used where it is.
        tensors: return outputs as gantry.Tensor, on their devices, instead of NumPy arrays.
        timeout: seconds, after which the run stops before its next operator and raises
            gantry.DeadlineError, which is a TimeoutError. Ctrl-C stops a run of the main thread alike.
        """
        model = self._native_model(device)
        if isinstance(inputs, Mapping):
            names, values = tuple(inputs.keys()), tuple(inputs.values())
        else:
            names, values = None, tuple(inputs)
        if not _LISTS.isdisjoint(map(type, values)):
            values = self._with_arrays(function, names, values, copy)
        targets = None if out is None else self._targets(out, function)
        outputs = model.run(function, names, values, targets, copy, tensors, timeout)
        if len(outputs) == 1:
            return outputs[0]
        return outputs_of(self._output_names(function, len(outputs)), outputs)

    def _with_arrays(
        self, function: str, names: tuple[str, ...] | None, values: tuple, copy: bool
    ) -> tuple:
        """Returns inputs with arrays in place of lists, where the signature states a dtype."""
        stated = self.signature(function).inputs
        by_name = {parameter.name: parameter for parameter in stated}
        parameters = stated if names is None else [by_name.get(name) for name in names]
        arrays = list(values)
        for index, (parameter, value) in enumerate(zip(parameters, values)):
            if type(value) not in _LISTS or parameter is None or parameter.kind != "tensor":
                continue
            if parameter.dtype is None:
                continue
            title = f'input "{parameter.name}"'
            if not copy:
                kind = type(value).__name__
                text = f"{title} is a {kind}, which must be copied, and copy=False forbids it"
                raise Error(text, Code.INVALID, "COPY_REQUIRED")
            try:
                arrays[index] = array_of(value, parameter.dtype)
            except (TypeError, ValueError, OverflowError) as error:
                text = f"{title}: {error}"
                raise Error(text, Code.INVALID, "ARRAY_FORMAT") from error
        return tuple(arrays)

    def _output_names(self, function: str, count: int) -> tuple[str, ...]:
        stated = self.signature(function).outputs
        if stated is None or len(stated) != count:
            return ("output",) if count == 1 else tuple(f"output{index}" for index in range(count))
        return tuple(parameter.name for parameter in stated)

    def _targets(self, out: Any, function: str) -> tuple:
        if isinstance(out, Mapping):
            names = [parameter.name for parameter in self.signature(function).outputs or ()]
            unknown = [name for name in out if name not in names]
            if unknown:
                raise KeyError(f"output {unknown[0]!r} not found; outputs: {names}")
            return tuple(out.get(name) for name in names)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    def __reduce__(self) -> tuple:
        if self._path is None:
            raise TypeError(f"{self!r} has no path: pickle its content, which load_bytes() takes")
        return self._runtime._reduced_load(self._path, self._options)

    def __repr__(self) -> str:
        return titled("gantry.Model", self._path, self._name)

# SPDX-License-Identifier: Apache-2.0
"""Models and their functions."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from gantry import Code, Error, _native
from gantry._arrays import array_of
from gantry._module import Module, titled
from gantry._outputs import outputs_of
from gantry._paths import Path, path_text
from gantry._profile import OperatorTime, operator_times, zeros
from gantry._signature import (
    Parameter,
    Signature,
    default_names,
    has_free_extents,
    merged,
    observed,
    parameter_text,
    printable,
    type_text,
)

if TYPE_CHECKING:
    import numpy

    # What most functions return. A function may also return a named tuple, or a value of Python, which
    # no type checker knows before: "| Any" lets a caller use one of them without a cast.
    Array = numpy.ndarray | Any
    OnDevice = _native.Tensor | Any
    Target = TypeVar("Target", numpy.ndarray, _native.Tensor)

# More parameters of a model are counted.
_MAX_SHOWN = 8


def module_options(
    runtime: Any,
    device: str | Iterable[str] | None,
    executors: int,
    capture: bool,
    prepare: bool,
    allow_missing: bool,
    allow_executable_stack: bool,
    strict: bool,
) -> dict[str, Any]:
    """Returns the options of Runtime.load() in the form in which a model keeps them."""
    return {
        "device": device_names(runtime, device),
        "executors": executors,
        "capture": capture,
        "prepare": prepare,
        "allow_missing": allow_missing,
        "allow_executable_stack": allow_executable_stack,
        "strict": strict,
    }


def device_names(runtime: Any, device: str | Iterable[str] | None) -> tuple[str, ...] | None:
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
        # of functions, by the name that was given: "" is "main"
        self._names: dict[str, str] = {}
        # functions whose outputs are those of the runs so far
        self._observed: set[str] = set()
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
        names = device_names(self._runtime, device)
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
        """Returns the inputs and outputs of a function. See run() for the name.

        Outputs that the artifact does not state, as those of Relax functions, are known after the
        first run. If inputs have extents that are not fixed, an extent of an output is what all runs so
        far returned, or None.
        """
        name = self._names.get(function)
        if name is None:
            name, inputs, outputs = self._main.signature(function)
            known = Signature(
                tuple(Parameter._make(item) for item in inputs),
                None if outputs is None else tuple(Parameter._make(item) for item in outputs),
            )
            with self._lock:
                self._signatures.setdefault(name, known)
                self._names[function] = name
        return self._signatures[name]

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """Inputs of the function that a call runs."""
        return self.signature().inputs

    @property
    def outputs(self) -> tuple[Parameter, ...] | None:
        """Outputs of the function that a call runs. None: the artifact does not state them, and it has
        not run yet. See signature()."""
        return self.signature().outputs

    @property
    def copied_bytes(self) -> int:
        """Bytes of inputs that all calls so far have copied, because of their alignment, strides or
        device. Arrays of gantry.empty() need no copy."""
        with self._lock:
            return sum(model.copied_bytes for model in self._on_devices.values())

    def __call__(self, /, *args: Any, **inputs: Any) -> "Array":
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

    @overload
    def run(
        self,
        inputs: Mapping[str, Any] | Sequence[Any] = (),
        /,
        *,
        out: "Target",
        function: str = "",
        device: str | Iterable[str] | None = None,
        copy: bool = True,
        tensors: bool = False,
        timeout: float | None = None,
    ) -> "Target": ...
    @overload
    def run(
        self,
        inputs: Mapping[str, Any] | Sequence[Any] = (),
        /,
        *,
        tensors: Literal[True],
        function: str = "",
        device: str | Iterable[str] | None = None,
        out: "Sequence[numpy.ndarray | _native.Tensor | None] | Mapping[str, Any] | None" = None,
        copy: bool = True,
        timeout: float | None = None,
    ) -> "OnDevice": ...
    @overload
    def run(
        self,
        inputs: Mapping[str, Any] | Sequence[Any] = (),
        /,
        *,
        function: str = "",
        device: str | Iterable[str] | None = None,
        out: "Sequence[numpy.ndarray | _native.Tensor | None] | Mapping[str, Any] | None" = None,
        copy: bool = True,
        tensors: bool = False,
        timeout: float | None = None,
    ) -> "Array": ...
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
        known = self.signature(function)
        if known.outputs is None or self._names[function] in self._observed:
            self._observe(self._names[function], observed(outputs))
        if len(outputs) == 1:
            return outputs[0]
        return outputs_of(self._output_names(function, len(outputs)), outputs)

    def _observe(self, name: str, outputs: tuple[Parameter, ...]) -> None:
        """Records the outputs of a run of a function whose outputs the artifact does not state."""
        with self._lock:
            known = self._signatures[name]
            if known.outputs is not None:
                outputs = merged(known.outputs, outputs)
            elif has_free_extents(known):
                self._observed.add(name)
            self._signatures[name] = Signature(known.inputs, outputs)

    def profile(
        self,
        inputs: Mapping[str, Any] | Sequence[Any] = (),
        /,
        *,
        function: str = "",
        device: str | Iterable[str] | None = None,
        runs: int = 10,
        trace: Path | None = None,
    ) -> list[OperatorTime]:
        """Runs a function several times, and returns the time of each operator, the longest first.

            for operator in model.profile(trace="trace.json")[:5]:
                print(f"{operator.seconds * 1e6:8.1f} us  {operator.share:4.0%}  {operator.name}")

        The model is loaded again in a runtime that records what it does, unless its own runtime does
        (gantry.Runtime(trace=True)), as it must for an artifact of load_bytes(). Functions that call
        operators are not in the list.

        inputs: as of run(). Zeros for all, if none are given and the artifact states their shapes.
        function, device: as of run().
        runs: number of runs that are recorded, after one that is not counted.
        trace: file to write, which chrome://tracing and https://ui.perfetto.dev show.
        """
        if runs < 1:
            raise ValueError(f"runs is {runs}, expected 1 or more")
        # A trace that cannot be written is found before the runs.
        file = None if trace is None else path_text(trace)
        if not len(inputs):
            inputs = {each.name: zeros(each) for each in self.signature(function).inputs}
        traced = self._traced()
        traced.run(inputs, function=function, device=device)
        before = traced._runtime._operators()
        for _ in range(runs):
            traced.run(inputs, function=function, device=device)
        times = operator_times(before, traced._runtime._operators(), runs)
        if file is not None:
            traced._runtime.write_trace(file)
        return times

    def _traced(self) -> "Model":
        """Returns this model in a runtime that records what it does."""
        if self._runtime._traces:
            return self
        if self._path is None:
            name = titled("gantry.Model", self._path, self._name)
            raise TypeError(f"{name} has no path: load its content with gantry.Runtime(trace=True)")
        return self._runtime._traced_copy().load(self._path, **self._options)

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
            return default_names(count)
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
            title = titled("gantry.Model", self._path, self._name)
            raise TypeError(f"{title} has no path: pickle its content, which load_bytes() takes")
        return self._runtime._reduced_load(self._path, self._options)

    def __repr__(self) -> str:
        title, signature = self._described()
        if signature is None:
            return f"<{title}>"
        inputs = _listed(map(parameter_text, signature.inputs))
        outputs = "..." if signature.outputs is None else _listed(map(parameter_text, signature.outputs))
        return f"<{title}({inputs}) -> {outputs}>"

    def _repr_html_(self) -> str:
        """Returns repr() as a table, which notebooks show."""
        import html

        title, signature = self._described()
        if signature is None:
            return f"<code>{html.escape(title)}</code>"
        rows = [("input", each) for each in signature.inputs]
        rows += [("output", each) for each in signature.outputs or ()]
        cells = [(kind, printable(each.name), type_text(each)) for kind, each in rows]
        if signature.outputs is None:
            cells.append(("output", "", "known after the first run"))
        body = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in cells
        )
        head = "<tr><th></th><th>name</th><th>type</th></tr>"
        return f"<table><caption>{html.escape(title)}</caption>{head}{body}</table>"

    def _described(self) -> tuple[str, Signature | None]:
        """Returns the title of the model up to the function that a call runs, with its signature; without
        such a function, the title with the names of all."""
        title = titled("gantry.Model", self._path, self._name)[1:-1]
        try:
            title += f" on {', '.join(self._main.report('model')['devices'])}: "
            functions = self.functions
        except Error:
            # In a process or on a device that cannot use the model.
            return title, None
        try:
            signature = self.signature()
        except Error:
            return title + _listed(map(printable, functions)), None
        return title + printable(self._names[""]), signature


def _listed(texts: Iterable[str]) -> str:
    all_ = list(texts)
    left = len(all_) - _MAX_SHOWN
    return ", ".join(all_ if left <= 0 else [*all_[:_MAX_SHOWN], f"and {left} more"])

# SPDX-License-Identifier: Apache-2.0
"""Runtimes."""

import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from gantry import Error, _native
from gantry._model import Model, device_names, module_options
from gantry._module import Module
from gantry._paths import Path, check_content, path_text

if TYPE_CHECKING:
    import numpy
    from _typeshed import ReadableBuffer

LogLevel = Literal["error", "warning", "info", "debug"]


class DeviceInfo(TypedDict):
    """A device of this host, as Runtime.devices() returns it."""

    name: str
    """"opencl"."""
    type: int
    """Number in this runtime, and in DLPack where that has one."""
    index: int
    plugin: str
    """Its id; empty: the core, for the CPU."""
    attributes: dict[str, str]
    """What the plugin states, as texts: "driver_version", "total_global_memory_bytes"."""
    same_as: tuple[str, ...]
    """Other names of the same hardware: "vulkan:0"."""


class Runtime:
    """Loads artifacts: plugins, devices, and the threads that compiled code uses.

    gantry.load() uses one runtime for the process. Create others for other options; several can exist
    at the same time. A runtime exists as long as something that it has loaded.
    """

    def __init__(
        self,
        *,
        threads: int = 0,
        config: Path | None = None,
        plugins: Iterable[Path] = (),
        only_these_plugins: bool = False,
        probe: bool = True,
        log_level: LogLevel | None = None,
        output: Callable[[str], object] | None = None,
        trace: bool = False,
    ) -> None:
        """Reads the configuration and the manifests of plugins; opens no plugin.

        threads: of compiled code, including the caller. 0: as configured, else as TVM_NUM_THREADS or
            OMP_NUM_THREADS states, else one for each CPU that the process may use.
        config: configuration file. None: that of the system. "/dev/null": none.
        plugins: directories and manifests of plugins, searched before all others.
        only_these_plugins: search `plugins` only.
        probe: open plugins of other vendors in a child process first.
        log_level: what is logged. None: as configured.
        output: called with each text that models print, with its line breaks, on the thread that
            prints; an exception of it is reported as unraisable. None: standard output, with control
            characters escaped.
        trace: record what the runtime does and when, for write_trace() and Model.profile().
        """
        # Imported here because logging takes a third of the time of `import gantry`.
        from gantry import _log

        self._options = {
            "threads": threads,
            "config": None if config is None else path_text(config),
            "plugins": tuple(os.path.abspath(path_text(path)) for path in plugins),
            "only_these_plugins": only_these_plugins,
            "probe": probe,
            "log_level": log_level,
            "output": output,
            "trace": trace,
        }
        # of add_function()
        self._functions: dict[str, Callable[..., Any]] = {}
        self._native = _native.new_runtime(
            threads,
            self._options["config"] or "",
            self._options["plugins"],
            log_level or "",
            _log.write,
            output,
            only_these_plugins,
            probe,
            trace,
        )

    def load(
        self,
        path: Path,
        *,
        device: str | Iterable[str] | None = None,
        executors: int = 0,
        capture: bool = False,
        prepare: bool = False,
        allow_missing: bool = False,
        allow_executable_stack: bool = False,
        strict: bool = False,
    ) -> Model:
        """Loads an artifact, and creates the model in it.

        path: a shared library, an object or archive, a Model Library Format archive, a graph or its
            parameters with the other files beside it; recognized by its content.
        device: "cpu", "opencl:1", or several. The first one runs what the artifact assigns to no
            device. None: those that the artifact states, else those that run its modules, missing
            ones too, else the CPU.
        executors: maximum number of runs at the same time, each of which has memory of its own; more
            runs wait. 0: the number of threads of the runtime.
        capture: the device records the second run of each executor and replays it in later runs.
        prepare: compile and load the code of all functions for the devices now, not in the first run.
        allow_missing: load the file although plugins for some of its modules are missing; calling
            such a module fails with the reason. Without `device`, the host must have their devices.
        allow_executable_stack: load a library that makes the stacks of the process executable, which
            is refused otherwise.
        strict: refuse the file if plugins for some of its modules are missing. Otherwise kernels of
            devices that the model states not to use are left out, with a warning.
        """
        options = module_options(
            self, device, executors, capture, prepare, allow_missing, allow_executable_stack, strict
        )
        absolute = os.path.abspath(path_text(path, "gantry.load_bytes() loads a content"))
        module = self._native.load(
            absolute, allow_missing, allow_executable_stack, strict, options["device"]
        )
        return Model._of(self, module, absolute, "", options)

    def load_bytes(
        self,
        content: "ReadableBuffer",
        *,
        name: str = "",
        device: str | Iterable[str] | None = None,
        executors: int = 0,
        capture: bool = False,
        prepare: bool = False,
        allow_missing: bool = False,
        allow_executable_stack: bool = False,
        strict: bool = False,
    ) -> Model:
        """Loads an artifact that is in memory, such as one that was decrypted, and creates the model
        in it.

        content: what a file has that load() loads, except for graphs and parameters; copied once, to
            memory that nobody can change.
        name: for messages: "model.so".

        The other arguments are those of load().
        """
        check_content(content)
        options = module_options(
            self, device, executors, capture, prepare, allow_missing, allow_executable_stack, strict
        )
        module = self._native.load_bytes(
            content, name, allow_missing, allow_executable_stack, strict, options["device"]
        )
        return Model._of(self, module, None, name, options)

    def load_module(
        self,
        path: Path,
        *,
        device: str | Iterable[str] | None = None,
        allow_missing: bool = False,
        allow_executable_stack: bool = False,
        strict: bool = False,
    ) -> Module:
        """Loads an artifact whose functions are called one by one, such as a library of kernels. The
        arguments are those of load()."""
        absolute = os.path.abspath(
            path_text(path, "Runtime.load_module_bytes() loads a content")
        )
        loaded = self._native.load(
            absolute, allow_missing, allow_executable_stack, strict, device_names(self, device)
        )
        return Module._of(loaded, absolute, "")

    def load_module_bytes(
        self,
        content: "ReadableBuffer",
        *,
        name: str = "",
        device: str | Iterable[str] | None = None,
        allow_missing: bool = False,
        allow_executable_stack: bool = False,
        strict: bool = False,
    ) -> Module:
        """Loads an artifact that is in memory, as load_module() does. The arguments are those of
        load_bytes()."""
        check_content(content)
        loaded = self._native.load_bytes(
            content,
            name,
            allow_missing,
            allow_executable_stack,
            strict,
            device_names(self, device),
        )
        return Module._of(loaded, None, name)

    def read_tensors(self, path: Path) -> "dict[str, numpy.ndarray]":
        """Reads the tensors of an .npy, .npz or .params file. The name is empty in an .npy file."""
        return self._native.read_tensors(path_text(path))

    @overload
    def empty(
        self,
        shape: Iterable[int],
        dtype: str = "float32",
        device: Literal["cpu"] = "cpu",
        scope: str = "global",
    ) -> "numpy.ndarray": ...
    @overload
    def empty(
        self, shape: Iterable[int], dtype: str, device: str, scope: str = "global"
    ) -> "numpy.ndarray | _native.Tensor": ...
    @overload
    def empty(
        self, shape: Iterable[int], *, dtype: str = "float32", device: str, scope: str = "global"
    ) -> "numpy.ndarray | _native.Tensor": ...
    def empty(
        self,
        shape: Iterable[int],
        dtype: str = "float32",
        device: str = "cpu",
        scope: str = "global",
    ) -> "numpy.ndarray | _native.Tensor":
        """Returns an array with undefined content that models use without a copy.

        Memory of gantry is aligned as compiled code requires; that of numpy.empty() often is not. On
        other devices than the CPU the result is a gantry.Tensor. With the scope "host" it is an array
        in memory of the CPU that the device copies without waiting.
        """
        return self._native.empty([int(extent) for extent in shape], str(dtype), device, scope)

    def add_function(self, name: str, function: Callable[..., Any]) -> None:
        """Adds a function that compiled code calls by its name, until the runtime ends.

        Arrays that compiled code lends to the function are valid during its call only; a function
        that keeps one fails. An exception that the function raises passes through compiled code
        unchanged. The function is called on the thread that runs the compiled code.
        """
        self._native.add_function(name, function)
        self._functions[name] = function

    def function(self, name: str) -> _native.Function:
        """Returns a function of the library, of a plugin, or of add_function(). Module[name] returns
        those of artifacts."""
        return self._native.function(name)

    def devices(self) -> list[DeviceInfo]:
        """Returns all devices: "name", "type", "index", "plugin", "attributes" and "same_as". Opens the plugins
        that serve devices; a plugin that fails is a warning in the log."""
        from gantry import _log

        report = self._native.report("devices")
        for problem in report["problems"]:
            _log.write(1, problem)
        return list(report["devices"])

    def plugins(self) -> list[dict[str, Any]]:
        """Returns all plugins that were found: "title" and "state", and of those whose manifest is
        valid "id", "version" and "library"."""
        return list(self._native.report("plugins")["plugins"])

    def configuration(self) -> dict[str, Any]:
        """Returns the "files" of the configuration, the number of "threads" and the "cache"
        directory."""
        return self._native.report("configuration")

    def write_trace(self, path: Path) -> None:
        """Writes what the runtime has done so far, if it was created with trace=True: a file that
        chrome://tracing and https://ui.perfetto.dev show."""
        if not self._traces:
            raise Error("the runtime records nothing: create it with trace=True")
        with open(path_text(path), "w", encoding="utf-8") as file:
            file.write(self._native.report("trace")["chrome_trace"])

    @property
    def _traces(self) -> bool:
        return self._options["trace"]

    def _operators(self) -> tuple[dict[str, Any], ...]:
        return self._native.report("operators")["operators"]

    def _traced_copy(self) -> "Runtime":
        """Returns a runtime with the same options and functions that records what it does."""
        copy = Runtime(**{**self._options, "trace": True})
        for name, function in self._functions.items():
            copy.add_function(name, function)
        return copy

    def _reduced_load(self, path: str, options: dict[str, Any]) -> tuple:
        """Returns what pickle calls to load a model again: in the default runtime of the other process,
        if this one is the default."""
        return _load_again, (None if self is _default else self, path, options)

    def __reduce__(self) -> tuple:
        return _rebuild, (self._options,)

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self._options.items() if value and name != "probe"]
        if not self._options["probe"]:
            given.append("probe=False")
        return f"gantry.Runtime({', '.join(given)})"


def _rebuild(options: dict) -> Runtime:
    return Runtime(**options)


def _load_again(runtime: Runtime | None, path: str, options: dict[str, Any]) -> Model:
    return (runtime or default_runtime()).load(path, **options)


_lock = threading.Lock()
_default: Runtime | None = None


def default_runtime() -> Runtime:
    """Returns the runtime of gantry.load(), which the first call creates."""
    global _default
    with _lock:
        if _default is None:
            _default = Runtime()
        return _default


def renew_after_fork() -> None:
    """Called in the child: another thread of the parent may have held the lock."""
    global _lock
    _lock = threading.Lock()
    _native.watch_signals()


def load(
    path: Path,
    *,
    device: str | Iterable[str] | None = None,
    executors: int = 0,
    capture: bool = False,
    prepare: bool = False,
    allow_missing: bool = False,
    allow_executable_stack: bool = False,
    strict: bool = False,
) -> Model:
    """Loads an artifact with the default runtime. See Runtime.load()."""
    return default_runtime().load(
        path,
        device=device,
        executors=executors,
        capture=capture,
        prepare=prepare,
        allow_missing=allow_missing,
        allow_executable_stack=allow_executable_stack,
        strict=strict,
    )


def load_bytes(
    content: "ReadableBuffer",
    *,
    name: str = "",
    device: str | Iterable[str] | None = None,
    executors: int = 0,
    capture: bool = False,
    prepare: bool = False,
    allow_missing: bool = False,
    allow_executable_stack: bool = False,
    strict: bool = False,
) -> Model:
    """Loads an artifact that is in memory with the default runtime. See Runtime.load_bytes()."""
    return default_runtime().load_bytes(
        content,
        name=name,
        device=device,
        executors=executors,
        capture=capture,
        prepare=prepare,
        allow_missing=allow_missing,
        allow_executable_stack=allow_executable_stack,
        strict=strict,
    )


def devices() -> list[DeviceInfo]:
    """Returns the devices of this host. See Runtime.devices()."""
    return default_runtime().devices()


def read_tensors(path: Path) -> "dict[str, numpy.ndarray]":
    """Reads the tensors of an .npy, .npz or .params file. See Runtime.read_tensors()."""
    return default_runtime().read_tensors(path)


@overload
def empty(
    shape: Iterable[int],
    dtype: str = "float32",
    device: Literal["cpu"] = "cpu",
    scope: str = "global",
) -> "numpy.ndarray": ...
@overload
def empty(
    shape: Iterable[int], dtype: str, device: str, scope: str = "global"
) -> "numpy.ndarray | _native.Tensor": ...
@overload
def empty(
    shape: Iterable[int], *, dtype: str = "float32", device: str, scope: str = "global"
) -> "numpy.ndarray | _native.Tensor": ...
def empty(
    shape: Iterable[int], dtype: str = "float32", device: str = "cpu", scope: str = "global"
) -> "numpy.ndarray | _native.Tensor":
    """Returns an array that models use without a copy. See Runtime.empty()."""
    return default_runtime().empty(shape, dtype, device, scope)

# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from _typeshed import ReadableBuffer

version: str

class Tensor:
    """A tensor of a runtime, on any device.

    It has the buffer protocol (memory of the CPU only), DLPack and NumPy's __array__, so other
    packages use it without a copy: numpy.asarray(tensor), torch.from_dlpack(tensor).
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the dimensions."""

    @property
    def dtype(self) -> str:
        """Element type: "float32", "bfloat16"."""

    @property
    def device(self) -> str:
        """Device: "cpu:0", "opencl:1"."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""

    def numpy(self) -> numpy.ndarray:
        """Returns the elements as a NumPy array.

        The array uses the memory of the tensor if that is on the CPU, else it is a copy. Element types
        of ml_dtypes require that package.
        """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class Object:
    """A result that only plugins and compiled code use, such as a KV cache.

    It can be an argument of later calls.
    """

class Function:
    """A function of a module: module["name"].

    Arguments are None, bool, int, float, str, bytes, arrays, shapes (tuples of integers), lists,
    dictionaries, gantry.Tensor, gantry.Object and gantry.Function. Arrays are borrowed for the call,
    and written by functions that return results in their arguments. Lists and dictionaries are
    copied; results are tuples and dictionaries.

    Code that TVM 0.12 compiled, for example, trusts the kinds of its arguments: an integer where
    it expects an array may end the process. Models check their inputs; functions of a module do not.
    """

    @property
    def __name__(self) -> str: ...
    def __call__(self, /, *args: Any) -> Any: ...

class Module:
    def function(self, name: str, /) -> Function: ...
    def report(self, what: str, /) -> dict[str, Any]: ...

class Runtime:
    def load(
        self,
        path: str,
        allow_missing: bool,
        allow_executable_stack: bool,
        strict: bool,
        devices: Sequence[str] | None,
        /,
    ) -> Module: ...
    def load_bytes(
        self,
        content: ReadableBuffer,
        name: str,
        allow_missing: bool,
        allow_executable_stack: bool,
        strict: bool,
        devices: Sequence[str] | None,
        /,
    ) -> Module: ...
    def read_tensors(self, path: str, /) -> dict[str, numpy.ndarray]: ...
    def find_device(self, name: str, /) -> tuple[int, int]: ...
    def empty(
        self, shape: Sequence[int], dtype: str, device: str, scope: str, /
    ) -> numpy.ndarray | Tensor: ...
    def add_function(self, name: str, function: Callable[..., Any], /) -> None: ...
    def function(self, name: str, /) -> Function: ...
    def inspect(self, path: str, /) -> dict[str, Any]: ...
    def report(self, what: str, /) -> dict[str, Any]: ...

class Model:
    def __init__(
        self,
        module: Module,
        devices: Sequence[str] | None,
        executors: int,
        capture: bool,
        prepare: bool,
        /,
    ) -> None: ...
    @property
    def copied_bytes(self) -> int: ...
    def functions(self) -> tuple[str, ...]: ...
    def signature(self, function: str, /) -> tuple[str, tuple, tuple | None]: ...
    def report(self, what: str, /) -> dict[str, Any]: ...
    def run(
        self,
        function: str,
        names: tuple[str, ...] | None,
        inputs: tuple,
        outputs: tuple | None,
        copy: bool,
        tensors: bool,
        timeout: float | None,
        /,
    ) -> tuple: ...

def watch_signals() -> None: ...
def new_runtime(
    threads: int,
    config: str,
    plugins: Sequence[str],
    log_level: str,
    log: Callable[[int, str], None] | None,
    output: Callable[[str], object] | None,
    only_these_plugins: bool,
    probe: bool,
    trace: bool,
    /,
) -> Runtime: ...

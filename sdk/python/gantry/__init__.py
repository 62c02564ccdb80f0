# SPDX-License-Identifier: Apache-2.0
"""Loads models that machine-learning compilers exported, and runs them.

    model = gantry.load("digits.so")        load_bytes() for a content in memory
    probabilities = model(x=images)         also by position; Model.run() has all options
    model                                   prints inputs, outputs and device
    model.inputs, model.outputs             names, dtypes, shapes
    model.profile(trace="trace.json")       the time of each operator

    gantry.devices()                        devices of this host, for load(device="cuda:0")
    gantry.inspect("digits.so")             what is in a file, without executing it
    gantry.empty(), gantry.read_tensors()   arrays that need no copy; files of arrays
    gantry.Runtime()                        threads, plugins and options of its own
    gantry.Error                            every error, with its code and reason

Arrays of NumPy and of packages with DLPack (PyTorch, JAX, CuPy) are inputs; outputs are NumPy arrays,
which no later call writes. Importing the package creates no runtime and no thread: the first load
does. The log goes to logging.getLogger("gantry").
"""

import enum as _enum
import os as _os

# Errors are here and not in a file of their own: type checkers name a class after its file, gantry.Error.


class Code(_enum.StrEnum):
    """The cause of an error, and so what can be done about it."""

    MALFORMED = "malformed"
    """The bytes violate their format: another file is required."""
    UNSUPPORTED = "unsupported"
    """The bytes are valid, but this version does not support them."""
    UNAVAILABLE = "unavailable"
    """This machine lacks something: a driver, a device, a permission, a plugin."""
    EXHAUSTED = "exhausted"
    """Memory or another resource is exhausted: the call may succeed later."""
    INVALID = "invalid"
    """The caller violated a precondition."""
    NOT_FOUND = "not_found"
    """No such name."""
    CANCELLED = "cancelled"
    """The run was cancelled."""
    BUG = "bug"
    """A defect of the callee."""
    LOST = "lost"
    """The device does not respond, or was reset. Other devices are not affected."""


# Indices are the numbers of gantry/status.h; 0 is success.
_CODES = (
    Code.BUG,
    Code.MALFORMED,
    Code.UNSUPPORTED,
    Code.UNAVAILABLE,
    Code.EXHAUSTED,
    Code.INVALID,
    Code.NOT_FOUND,
    Code.CANCELLED,
    Code.BUG,
    Code.LOST,
)


class Error(Exception):
    """A call that failed. str(error) is the text: the error in its first line, then its context."""

    code: Code
    reason: str
    """A stable tag for programs, such as "ARGUMENT_DTYPE"; empty if there is none."""
    offset: int | None
    """Offset of the first invalid byte, of Code.MALFORMED."""
    native_code: int | None
    """Error number of the driver or the system."""
    native_domain: str
    """Origin of native_code: "errno", "CUDA", "OPENCL"; empty if there is none."""
    kind: str
    """Name of the error that compiled code raised: "ValueError"; empty if none was raised."""
    backtrace: str
    """Where it was raised, one line for each frame, the most recent first; may be empty."""

    def __init__(
        self,
        text: str,
        code: int | Code = Code.INVALID,
        reason: str = "",
        offset: int | None = None,
        native_code: int | None = None,
        native_domain: str = "",
        kind: str = "",
        backtrace: str = "",
    ) -> None:
        if isinstance(code, int):
            code = _CODES[code] if 0 <= code < len(_CODES) else Code.BUG
        # All arguments, because pickle creates the error from them.
        super().__init__(text, code, reason, offset, native_code, native_domain, kind, backtrace)
        self.code = code
        self.reason = reason
        self.offset = offset
        self.native_code = native_code
        self.native_domain = native_domain
        self.kind = kind
        self.backtrace = backtrace

    def __str__(self) -> str:
        return self.args[0]


class DeadlineError(Error, TimeoutError):
    """A run whose timeout has passed."""


class DeviceLostError(Error):
    """A call for a device that does not respond. Every later call for it fails alike.

    The text states whether a new Runtime or only a new process can use the device again.
    """


# After the errors, which these files import.
from gantry._inspect import inspect
from gantry._model import Model
from gantry._module import Module
from gantry._native import Function, Object, Tensor
from gantry._native import version as __version__
from gantry._profile import OperatorTime
from gantry._runtime import DeviceInfo, Runtime, default_runtime, devices, empty, load, load_bytes, read_tensors
from gantry._runtime import renew_after_fork as _renew_after_fork
from gantry._signature import Parameter, Signature

__all__ = [
    "load",
    "load_bytes",
    "devices",
    "inspect",
    "empty",
    "read_tensors",
    "default_runtime",
    "Model",
    "Runtime",
    "Error",
    "DeadlineError",
    "DeviceLostError",
    "Code",
    "Tensor",
    "Parameter",
    "Signature",
    "OperatorTime",
    "DeviceInfo",
    "Module",
    "Function",
    "Object",
]

# Their names in tracebacks, in help() and in pickles. That of Function cannot be set, and is right.
for _public in map(globals().get, __all__):
    if _public.__module__ != "gantry":
        _public.__module__ = "gantry"
del _public

_os.register_at_fork(after_in_child=_renew_after_fork)

# SPDX-License-Identifier: Apache-2.0
"""Errors."""

import enum


class Code(enum.StrEnum):
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

    def __init__(
        self,
        text: str,
        code: int | Code = Code.INVALID,
        reason: str = "",
        offset: int | None = None,
        native_code: int | None = None,
        native_domain: str = "",
    ) -> None:
        if isinstance(code, int):
            code = _CODES[code] if 0 <= code < len(_CODES) else Code.BUG
        # All arguments, because pickle creates the error from them.
        super().__init__(text, code, reason, offset, native_code, native_domain)
        self.code = code
        self.reason = reason
        self.offset = offset
        self.native_code = native_code
        self.native_domain = native_domain

    def __str__(self) -> str:
        return self.args[0]


class DeadlineError(Error, TimeoutError):
    """A run whose timeout has passed."""


class DeviceLostError(Error):
    """A call for a device that does not respond. Every later call for it fails alike.

    The text states whether a new Runtime or only a new process can use the device again.
    """

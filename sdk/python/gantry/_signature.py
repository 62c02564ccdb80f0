# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of functions."""

from typing import Any, NamedTuple


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
    """None: the artifact does not state them, and the function has not run yet."""


def default_names(count: int) -> tuple[str, ...]:
    """Returns the names of outputs that the artifact does not name."""
    return ("output",) if count == 1 else tuple(f"output{index}" for index in range(count))


def observed(outputs: tuple[Any, ...]) -> tuple[Parameter, ...]:
    """Returns the outputs of a function as a run returned them."""
    return tuple(map(_observed, default_names(len(outputs)), outputs))


def _observed(name: str, value: Any) -> Parameter:
    if isinstance(value, tuple):
        return Parameter(name, "tuple", None, None, None)
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        return Parameter(name, "value", type(value).__name__, None, None)
    return _tensor(name, str(dtype), tuple(shape))


def _tensor(name: str, dtype: str, shape: tuple[int | None, ...]) -> Parameter:
    extents = ", ".join("?" if extent is None else str(extent) for extent in shape)
    return Parameter(name, "tensor", f"{dtype}[{extents}]", dtype, shape)


def merged(known: tuple[Parameter, ...], found: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """Returns what two runs have in common: extents that differ are None."""
    return found if len(known) != len(found) else tuple(map(_merged, known, found))


def _merged(known: Parameter, found: Parameter) -> Parameter:
    if known == found:
        return known
    if known.kind != found.kind or known.dtype != found.dtype:
        return Parameter(found.name, "value", None, None, None)
    if known.shape is None or found.shape is None or len(known.shape) != len(found.shape):
        return Parameter(found.name, found.kind, None, found.dtype, None)
    same = (a if a == b else None for a, b in zip(known.shape, found.shape))
    return _tensor(found.name, str(found.dtype), tuple(same))


def has_free_extents(signature: Signature) -> bool:
    """True unless all inputs are tensors of one shape: outputs may have other shapes in later runs."""
    shapes = [parameter.shape for parameter in signature.inputs]
    return any(shape is None or None in shape for shape in shapes)


def parameter_text(parameter: Parameter) -> str:
    """Returns a parameter for repr(): "x: float32[1, 64]"."""
    return f"{printable(parameter.name)}: {type_text(parameter)}"


def type_text(parameter: Parameter) -> str:
    """Returns the type of a parameter, or its kind if that is all that is known. The types of tuples
    of all weights are long."""
    text = printable(parameter.type or parameter.dtype or parameter.kind)
    return text if len(text) <= 240 else text[:240] + "..."


def printable(text: str) -> str:
    """Returns a text of an artifact, which may contain control characters, for a terminal."""
    return text if text.isprintable() else ascii(text)

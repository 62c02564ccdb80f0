# SPDX-License-Identifier: Apache-2.0
"""Names, datatypes and shapes of a model's inputs and outputs, in the protocol's terms.

A signature file is the JSON object that GET /v2/models/NAME returns:

    {"inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 64]}],
     "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 10]}]}

Outputs may be omitted. -1 stands for any extent.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping

import numpy

# Datatypes of the protocol that numpy has.
DTYPES = {"BOOL": "bool", "FP16": "float16", "FP32": "float32", "FP64": "float64"} | {
    f"{kind.upper()}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
}
DATATYPES = {numpy.dtype(dtype): datatype for datatype, dtype in DTYPES.items()}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One input or output. Extents of -1 are not fixed."""

    name: str
    datatype: str
    shape: tuple[int, ...]

    @property
    def fixed(self) -> bool:
        return -1 not in self.shape

    def metadata(self) -> dict:
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}

    def zeros(self) -> numpy.ndarray:
        """Return an array that the parameter accepts; extents that are not fixed are 1."""
        return numpy.zeros([1 if n < 0 else n for n in self.shape], DTYPES[self.datatype])

    def check(self, datatype: str, shape: Iterable[int]) -> None:
        """Raise ValueError if an array of this datatype and shape does not fit."""
        if datatype != self.datatype:
            raise ValueError(f'input "{self.name}" is {datatype}, the model takes {self.datatype}')
        found = list(shape)
        fits = len(found) == len(self.shape) and all(
            type(n) is int and n >= 0 and limit in (-1, n) for n, limit in zip(found, self.shape)
        )
        if not fits:
            raise ValueError(
                f'input "{self.name}" has shape {found}, the model takes {list(self.shape)}'
            )


@dataclasses.dataclass(frozen=True)
class Signature:
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]

    @property
    def joinable(self) -> bool:
        """True if the first extent of every input and output is not fixed."""
        every = self.inputs + self.outputs
        return bool(self.inputs) and all(p.shape and p.shape[0] == -1 for p in every)

    def metadata(self) -> dict:
        return {
            "inputs": [p.metadata() for p in self.inputs],
            "outputs": [p.metadata() for p in self.outputs],
        }

    def check(self, given: Iterable[tuple[str, str, Iterable[int]]]) -> None:
        """Check the inputs of a request.

        given    name, datatype and shape of each input, in any order
        raises   ValueError  an input is missing, there twice or unknown, or does not fit
        """
        left = {p.name: p for p in self.inputs}
        for name, datatype, shape in given:
            parameter = left.pop(name, None)
            if parameter is None:
                known = ", ".join(p.name for p in self.inputs)
                twice = any(p.name == name for p in self.inputs)
                fault = "is there twice" if twice else "not found"
                raise ValueError(f'input "{name}" {fault}; inputs: {known}')
            parameter.check(datatype, shape)
        if left:
            raise ValueError(f"missing inputs: {', '.join(left)}")

    def check_arrays(self, arrays: Mapping[str, numpy.ndarray]) -> None:
        """Check the inputs of a request that are arrays already."""
        self.check((n, DATATYPES.get(a.dtype) or str(a.dtype), a.shape) for n, a in arrays.items())

    def select(self, names: Iterable[str]) -> list[str]:
        """Return the names of the outputs that a request asks for: all if it names none.

        raises   ValueError  no such output
        """
        known = [p.name for p in self.outputs]
        chosen = list(names)
        for name in chosen:
            check_output(name, known)
        return chosen or known


def check_output(name: object, known: Iterable[str]) -> None:
    """Check that a model has the output that a request names.

    raises   ValueError  no such output
    """
    if name not in known:
        raise ValueError(f"output {json.dumps(name)} not found; outputs: {', '.join(known)}")


def read(path: str) -> Signature:
    """Read a signature file.

    raises   OSError     the file cannot be read
             ValueError  it is no signature: the text names the file, the field and what it has
    """
    with open(path, "rb") as file:
        try:
            document = json.load(file)
        except ValueError as error:
            raise ValueError(f"signature {path}: {error}") from error
    if not isinstance(document, dict) or not document.get("inputs"):
        raise ValueError(f'signature {path}: "inputs" are missing')
    sides = []
    for side in ("inputs", "outputs"):
        entries = document.get(side) or []
        if not isinstance(entries, list):
            raise ValueError(f"signature {path}: {side} is no list")
        place = f"signature {path}: {side}"
        sides.append(tuple(_entry(f"{place}[{i}]", e) for i, e in enumerate(entries)))
        names = [p.name for p in sides[-1]]
        if len(set(names)) != len(names):
            raise ValueError(f"signature {path}: two {side} have one name: {', '.join(names)}")
    return Signature(*sides)


def _entry(place: str, entry: object) -> Parameter:
    if not isinstance(entry, dict):
        raise ValueError(f"{place} is no object")
    name, datatype, shape = entry.get("name"), entry.get("datatype"), entry.get("shape")
    if not isinstance(name, str) or not name:
        raise ValueError(f"{place}.name is {name!r}, expected a text")
    if not isinstance(datatype, str) or datatype not in DTYPES:
        raise ValueError(f"{place}.datatype is {datatype!r}, expected one of: {', '.join(DTYPES)}")
    if not isinstance(shape, list) or not all(type(n) is int and n >= -1 for n in shape):
        raise ValueError(f"{place}.shape is {shape!r}, expected a list of extents, -1 for any")
    return Parameter(name, datatype, tuple(shape))


def recorded(parameters: Iterable | None, side: str) -> tuple[Parameter, ...] | None:
    """Convert model.inputs or model.outputs.

    side     "input" or "output"
    returns  None: the artifact does not state all dtypes and shapes
    raises   ValueError  the protocol has no datatype for one
    """
    if parameters is None:
        return None
    datatypes = [_datatype(p, side) for p in parameters]
    if None in datatypes or any(p.shape is None for p in parameters):
        return None
    return tuple(
        Parameter(p.name, datatype, tuple(-1 if n is None else n for n in p.shape))
        for p, datatype in zip(parameters, datatypes)
    )


def check(given: Iterable[Parameter], stated: Iterable | None, side: str) -> None:
    """Check the inputs or outputs of a signature file against those of the artifact, in order.

    stated   model.inputs or model.outputs; None: the artifact states none
    side     "input" or "output"
    raises   ValueError  another number of them, another datatype, or an extent that the artifact
                         fixes
    """
    if stated is None:
        return
    given, stated = tuple(given), tuple(stated)
    if len(given) != len(stated):
        raise ValueError(f"{len(given)} {side}s, the artifact has {len(stated)}")
    for own, p in zip(given, stated):
        datatype = _datatype(p, side)
        shape_fits = p.shape is None or (
            len(own.shape) == len(p.shape)
            and all(limit in (None, n) for n, limit in zip(own.shape, p.shape))
        )
        if datatype not in (None, own.datatype) or not shape_fits:
            raise ValueError(
                f'{side} "{own.name}" is {own.datatype} {list(own.shape)}, the artifact states '
                f'{p.type or p.dtype} for "{p.name}"'
            )


def _datatype(parameter, side: str) -> str | None:
    if parameter.dtype is None:
        return None
    try:
        return DATATYPES[numpy.dtype(parameter.dtype)]
    except (KeyError, TypeError):  # TypeError: numpy has no such dtype
        found = f'{side} "{parameter.name}" is {parameter.dtype}'
        raise ValueError(f"{found}, for which the protocol has no datatype") from None


def observed(arrays: Mapping[str, numpy.ndarray], fixed: bool) -> tuple[Parameter, ...]:
    """Describe the arrays of one run.

    fixed    whether other runs have the same extents
    raises   ValueError  the protocol has no such datatype
    """
    found = []
    for name, array in arrays.items():
        datatype = DATATYPES.get(array.dtype)
        if datatype is None:
            raise ValueError(f'"{name}" is {array.dtype}, which the protocol cannot express')
        found.append(Parameter(name, datatype, array.shape if fixed else (-1,) * array.ndim))
    return tuple(found)

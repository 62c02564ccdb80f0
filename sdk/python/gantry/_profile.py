# SPDX-License-Identifier: Apache-2.0
"""The times of operators."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from gantry._signature import Parameter


class OperatorTime(NamedTuple):
    """The time of an operator, which is the mean of the runs of Model.profile()."""

    name: str
    calls: float
    """In one run."""
    seconds: float
    """Of all its calls in one run; of a kernel, as the device measured it."""
    share: float
    """Of the time of all operators: 0.25."""


def operator_times(
    before: Iterable[dict[str, Any]], after: Iterable[dict[str, Any]], runs: int
) -> list[OperatorTime]:
    """Returns the times of operators between two reports "operators" of a runtime, the longest first.

    Functions that call operators are not among them: the recording of these calls is part of their time.
    """
    earlier = {each["name"]: each for each in before}
    found = []
    for each in after:
        known = earlier.get(each["name"], {"calls": 0, "ns": 0})
        calls = each["calls"] - known["calls"]
        if calls and not each["has_calls"]:
            found.append((each["name"], calls / runs, (each["ns"] - known["ns"]) / runs / 1e9))
    found.sort(key=lambda each: each[2], reverse=True)
    total = sum(seconds for _, _, seconds in found) or 1.0
    return [OperatorTime(name, calls, seconds, seconds / total) for name, calls, seconds in found]


def zeros(parameter: Parameter) -> Any:
    """Returns an input of zeros.

    raises TypeError: the artifact does not state the dtype and all extents.
    """
    import numpy

    from gantry._arrays import dtype_of

    if parameter.dtype is None or parameter.shape is None or None in parameter.shape:
        stated = parameter.type or parameter.kind
        raise TypeError(f"input {parameter.name!r} is {stated}: profile() needs an input of a certain shape")
    return numpy.zeros(parameter.shape, dtype_of(parameter.dtype))

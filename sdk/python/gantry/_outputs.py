# SPDX-License-Identifier: Apache-2.0
"""The types of several outputs."""

import collections
import functools
import keyword
from typing import Any


def outputs_of(names: tuple[str, ...], values: tuple) -> Any:
    """Returns None, the only output, or a named tuple of several."""
    if len(values) == 1:
        return values[0]
    return outputs_type(names)._make(values) if values else None


@functools.lru_cache(maxsize=256)
def outputs_type(names: tuple[str, ...]) -> type:
    """Returns the named tuple of outputs. An output whose name is no name of Python, or not unique, is
    named after its position: output0."""
    usable = [name.isidentifier() and not keyword.iskeyword(name) and name[0] != "_" for name in names]
    unique = [names.count(name) == 1 for name in names]
    fields = [
        name if fits and only else f"output{index}"
        for index, (name, fits, only) in enumerate(zip(names, usable, unique))
    ]
    if len(set(fields)) != len(fields):
        fields = [f"output{index}" for index in range(len(names))]
    made = collections.namedtuple("Outputs", fields, module="gantry")
    # The type has no importable name, so pickle stores the names of the outputs.
    made.__reduce__ = lambda self: (outputs_of, (names, tuple(self)))
    return made

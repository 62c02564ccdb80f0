# SPDX-License-Identifier: Apache-2.0
"""Lists as arrays."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

# Kinds of NumPy's dtypes that a list may have, for each kind of dtype. None is NaN; ml_dtypes has "V".
_KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "iufO", "c": "iufcO", "V": "iufOV"}


def array_of(items: Sequence[Any], dtype: str) -> "numpy.ndarray":
    """Returns a list as an array whose elements have the values of its items.

    raises TypeError, ValueError, OverflowError: items are of another kind, or not in range, or lists
        of different lengths; ImportError: ml_dtypes, which has the dtype, is not installed.
    """
    import numpy

    wanted = dtype_of(dtype)
    found = numpy.asarray(items)
    if found.size and found.dtype.kind not in _KINDS[wanted.kind]:
        raise TypeError(f"items are {found.dtype}, expected {dtype}")
    if found.size and wanted.kind in "iu":
        # NumPy 1 wraps them.
        limits = numpy.iinfo(wanted)
        if int(found.min()) < limits.min or int(found.max()) > limits.max:
            raise OverflowError(f"items are not in the range of {dtype}")
    try:
        with numpy.errstate(over="raise"):
            return numpy.array(items, wanted)
    except FloatingPointError:
        raise OverflowError(f"items are not in the range of {dtype}") from None


def dtype_of(name: str) -> "numpy.dtype":
    """Returns the dtype of NumPy, or of ml_dtypes, for an element type of gantry.

    raises ImportError: ml_dtypes, which has the dtype, is not installed.
    """
    import numpy

    if name == "bool8":
        name = "bool"
    try:
        return numpy.dtype(name)
    except TypeError:
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, name))

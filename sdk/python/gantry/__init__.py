# SPDX-License-Identifier: Apache-2.0
"""Loads models that machine-learning compilers exported, and runs them.

    model = gantry.load("digits.so")
    probabilities = model(x=images)

Arrays of NumPy and of packages with DLPack (PyTorch, JAX, CuPy) are inputs; outputs are NumPy arrays,
which no later call writes. Importing the package creates no runtime and no thread: the first load
does. Errors are gantry.Error. The log goes to logging.getLogger("gantry").
"""

import os as _os

from gantry._errors import Code, DeadlineError, DeviceLostError, Error
from gantry._inspect import inspect
from gantry._model import Model, Parameter, Signature
from gantry._module import Module
from gantry._native import Function, Object, Tensor
from gantry._native import version as __version__
from gantry._runtime import Runtime, default_runtime, empty, load, load_bytes, read_tensors
from gantry._runtime import renew_after_fork as _renew_after_fork

__all__ = [
    "Code",
    "DeadlineError",
    "DeviceLostError",
    "Error",
    "Function",
    "Model",
    "Module",
    "Object",
    "Parameter",
    "Runtime",
    "Signature",
    "Tensor",
    "default_runtime",
    "empty",
    "inspect",
    "load",
    "load_bytes",
    "read_tensors",
]

_os.register_at_fork(after_in_child=_renew_after_fork)

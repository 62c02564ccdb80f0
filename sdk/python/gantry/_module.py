# SPDX-License-Identifier: Apache-2.0
"""Modules, whose functions are called one by one."""

from typing import Any

from gantry import _native


def titled(kind: str, path: str | None, name: str) -> str:
    """Returns the repr() of an artifact that was loaded from a path, or with a name."""
    return f"<{kind} {path or name or 'artifact in memory'!r}>"


class Module:
    """A loaded artifact, whose functions are called by name.

        axpy2 = runtime.load_module("axpy2.so")["axpy2"]
        axpy2(a, b, c)

    Runtime.load_module() creates modules.
    """

    def __init__(self) -> None:
        raise TypeError("Runtime.load_module() and Model.module create modules")

    @classmethod
    def _of(cls, native: Any, path: str | None, name: str) -> "Module":
        self = cls.__new__(cls)
        self._native = native
        self._path = path
        self._name = name
        return self

    def __getitem__(self, name: str) -> _native.Function:
        """Returns a function of the module or of its imports. gantry.Error, Code.NOT_FOUND: there is
        none, and the text lists where it was searched."""
        return self._native.function(name)

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions that the module itself lists, without those of its imports."""
        return self._native.report("module")["functions"]

    @property
    def imports(self) -> "tuple[Module, ...]":
        """Modules that this one imports, such as code for devices."""
        imports = self._native.report("module")["imports"]
        return tuple(Module._of(each, self._path, self._name) for each in imports)

    @property
    def type_key(self) -> str:
        """Kind of the module: "GraphExecutorFactory", "opencl"."""
        return self._native.report("module")["type_key"]

    @property
    def plugin(self) -> str:
        """Name of the plugin that loaded the module; empty if it was the core."""
        return self._native.report("module")["plugin"]

    @property
    def missing(self) -> tuple[str, ...]:
        """A reason for each module here and in the imports whose plugin is missing."""
        return self._native.report("module")["missing"]

    @property
    def path(self) -> str | None:
        """Absolute path of the artifact. None: load_module_bytes() or load_bytes() has loaded it."""
        return self._path

    def __repr__(self) -> str:
        return titled("gantry.Module", self._path, self._name)

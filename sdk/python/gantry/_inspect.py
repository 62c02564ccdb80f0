# SPDX-License-Identifier: Apache-2.0
"""The contents of artifacts."""

import os
from typing import Any

from gantry._paths import Path, path_text


def _with_lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_with_lists(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return value


def inspect(path: Path) -> dict[str, Any]:
    """Returns the contents of an artifact as dictionaries, without executing it.

    They are those of `gantry inspect --json`: the format of the file, its modules with their type keys,
    what plugins they require, and the symbols of the library. A file that is malformed or of no format
    that gantry reads is gantry.Error.
    """
    from gantry._runtime import default_runtime

    path = path_text(path)
    os.stat(path)
    return _with_lists(default_runtime()._native.inspect(path))

# SPDX-License-Identifier: Apache-2.0
"""The contents of artifacts."""

import os
from typing import Any

from gantry._errors import Code, Error


def _command() -> str:
    import shutil
    import sysconfig

    own = os.path.join(sysconfig.get_path("scripts"), "gantry")
    found = own if os.access(own, os.X_OK) else shutil.which("gantry")
    if found is None:
        raise Error(f"the command gantry is neither {own} nor in PATH", Code.UNAVAILABLE)
    return found


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the contents of an artifact as dictionaries, without executing it.

    They are those of `gantry inspect --json`, which this function runs: the format of the file, its
    modules with their type keys, what plugins they require, and the symbols of the library. A file
    that is malformed or of no format that gantry reads is gantry.Error.
    """
    import json
    import re
    import subprocess

    os.stat(path)
    done = subprocess.run(
        [_command(), "inspect", "--json", "--", os.fspath(path)], capture_output=True, text=True
    )
    if done.returncode == 0:
        return json.loads(done.stdout)
    text = done.stderr.strip().removeprefix("gantry: ")
    offset = re.search(r"\(offset 0x([0-9a-f]+)\)", text)
    if offset is None:
        raise Error(text, Code.UNSUPPORTED)
    raise Error(text, Code.MALFORMED, offset=int(offset[1], 16))

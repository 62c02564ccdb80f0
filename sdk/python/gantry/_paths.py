# SPDX-License-Identifier: Apache-2.0
"""Paths of files."""

import os
from typing import Any

Path = str | os.PathLike[str] | os.PathLike[bytes]


def path_text(path: Path, content: str = "") -> str:
    """Returns a path as str, in which surrogate escapes stand for bytes that are not UTF-8.

    content: for messages, what takes the content of a file in place of its path.
    raises TypeError: `path` is none. A bytes is refused, because it may be a path or a content.
    """
    if isinstance(path, (str, os.PathLike)):
        return os.fsdecode(path)
    text = f"path is {_kind(path)}, expected str or os.PathLike"
    if isinstance(path, (bytes, bytearray, memoryview)):
        remedies = ["os.fsdecode() makes a str of a path", *filter(None, [content])]
        text = f"{text}: {', '.join(remedies)}"
    raise TypeError(text)


def check_content(content: Any) -> None:
    """Raises TypeError if `content` is a path."""
    if isinstance(content, (str, os.PathLike)):
        raise TypeError(
            f"content is {_kind(content)}, expected bytes or another buffer: "
            "gantry.load() takes the path of a file"
        )


def _kind(value: Any) -> str:
    return type(value).__name__

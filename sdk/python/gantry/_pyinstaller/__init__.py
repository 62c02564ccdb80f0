# SPDX-License-Identifier: Apache-2.0
"""The hook of PyInstaller, which the entry point "pyinstaller40" of the distribution names."""

import os


def get_hook_dirs() -> list[str]:
    """Returns the directories with hooks."""
    return [os.path.dirname(__file__)]

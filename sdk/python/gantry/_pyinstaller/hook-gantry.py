# SPDX-License-Identifier: Apache-2.0
"""What a program of PyInstaller needs of gantry beside its modules: the core, the probe and the plugins.

The plugins are those of the environment. They are beside the package in the program, where the core
finds them.
"""

import importlib.util
import pathlib

package = pathlib.Path(importlib.util.find_spec("gantry").origin).parent

# The extension imports it.
hiddenimports = ["numpy"]

binaries = [
    (str(package / file), f"gantry/{pathlib.PurePath(file).parent}")
    for file in ("lib/libgantry-runtime.so", "libexec/gantry/gantry-probe")
]

# Beside the package: pip install --target; else in the prefix of lib/python3.11/site-packages.
directories = [
    prefix / "share/gantry/plugins.d" for prefix in (package.parent, *package.parents[3:4])
]
datas = [
    (str(file), f"share/gantry/plugins.d/{file.relative_to(directory).parent}")
    for directory in directories
    for file in directory.rglob("*")
    if file.is_file()
]

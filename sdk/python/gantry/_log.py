# SPDX-License-Identifier: Apache-2.0
"""The log of runtimes, as records of the module logging."""

import logging

# Indices are GANTRY_LOG_*.
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
_logger = logging.getLogger("gantry")


def write(level: int, line: str) -> None:
    """Writes one line. Called by runtimes, on any thread."""
    _logger.log(_LEVELS[level] if 0 <= level < len(_LEVELS) else logging.ERROR, "%s", line)

# SPDX-License-Identifier: Apache-2.0
"""Adapters that serve models on existing engines: KServe's model server and Ray.

gantry.serve.kserve  Open Inference Protocol v2, HTTP and gRPC (extra "kserve")
gantry.serve.ray     Ray Serve and Ray Data, one machine or many (extra "ray")

SERVING.md shows how to start them.
"""

import os
import pathlib


def cpus() -> int:
    """Return the number of CPUs that this process may use: its affinity and its cgroup's quota.

    returns  at least 1; a quota of 2.5 CPUs is 2
    """
    count = float(len(os.sched_getaffinity(0)))
    try:
        entry = pathlib.Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
    except OSError:
        entry = ""
    group = pathlib.Path("/sys/fs/cgroup") / entry
    for directory in (group, *group.parents[: len(pathlib.Path(entry).parts)]):
        try:
            quota, period = (directory / "cpu.max").read_text().split()
            count = min(count, int(quota) / int(period))
        except (OSError, ValueError):  # no such controller, or "max"
            continue
    return max(1, int(count))


def share(replicas: int) -> int:
    """Return the number of threads for each of several replicas on this machine."""
    return max(1, cpus() // replicas)

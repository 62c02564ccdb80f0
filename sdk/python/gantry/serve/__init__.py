# SPDX-License-Identifier: Apache-2.0
"""Adapters that serve models on existing engines: KServe's model server and Ray.

gantry.serve.kserve  Open Inference Protocol v2, HTTP and gRPC (extra "kserve")
gantry.serve.ray     Ray Serve and Ray Data, one machine or many (extra "ray")

SERVING.md shows how to start them.
"""

import gantry


def cpus() -> int:
    """Return the number of threads that a runtime of this process has if none is given.

    returns  at least 1: the CPUs of its affinity and its cgroup's quota, or what the configuration,
             TVM_NUM_THREADS or OMP_NUM_THREADS states
    """
    return gantry.Runtime().configuration()["threads"]


def share(replicas: int) -> int:
    """Return the number of threads for each of several replicas on this machine."""
    return max(1, cpus() // replicas)

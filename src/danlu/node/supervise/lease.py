"""The lease of a node's tasks: an agent renews it while its cluster says that the node is alive.

The file holds a time of the clock that runs since boot, which nobody can set, and the boot it belongs to. A task whose
lease has run out stops by itself: by then its cluster may have given up on the node and started it elsewhere.
"""

from __future__ import annotations

import os
import time

from danlu.node.supervise.records import boot_id
from danlu.node.task import TaskLease


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def renew(path: str, at: float) -> None:
    """Note that all was well at this time (of `now`)."""
    fresh = f"{path}.{os.getpid()}.partial"
    with open(fresh, "w") as file:
        file.write(f"{boot_id()} {at:.3f}\n")
    os.replace(fresh, path)


class Lease:
    """What a shim knows of it. A lease that cannot be read is as old as when it last could."""

    def __init__(self, lease: TaskLease | None) -> None:
        self._lease = lease
        self._renewed_at = now()

    def overdue(self) -> float:
        """For how many seconds there was no word from the cluster, once that is too long; otherwise 0."""
        if self._lease is None:
            return 0.0
        try:
            with open(self._lease.file) as file:
                boot, at = file.read().split()
            if boot == boot_id():
                self._renewed_at = max(self._renewed_at, float(at))
        except (OSError, ValueError):
            pass  # the time that is known counts
        age = now() - self._renewed_at
        return age if age > self._lease.seconds else 0.0

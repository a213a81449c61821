"""The lease of a node's tasks: an agent renews it while its cluster reports the node as alive.

The file holds a time of the boot clock, which cannot be set, and the id of the boot that it belongs to. A task stops
itself when its lease has expired: by then the cluster may have declared the node dead and started the task elsewhere.
"""

from __future__ import annotations

import os
import time

from danlu.node.supervise.records import boot_id
from danlu.node.task import TaskLease


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def renew(path: str, at: float) -> None:
    """Renew the lease as of this time (of `now`)."""
    fresh = f"{path}.{os.getpid()}.partial"
    with open(fresh, "w") as file:
        file.write(f"{boot_id()} {at:.3f}\n")
    os.replace(fresh, path)


class Lease:
    """A shim's view of the lease. While the file cannot be read, the last known time counts."""

    def __init__(self, lease: TaskLease | None) -> None:
        self._lease = lease
        self._renewed_at = now()

    def overdue(self) -> float:
        """Return the seconds since the last renewal once the lease has expired; otherwise 0."""
        if self._lease is None:
            return 0.0
        try:
            with open(self._lease.file) as file:
                boot, at = file.read().split()
            if boot == boot_id():
                self._renewed_at = max(self._renewed_at, float(at))
        except (OSError, ValueError):
            pass  # use the last known time
        age = now() - self._renewed_at
        return age if age > self._lease.seconds else 0.0

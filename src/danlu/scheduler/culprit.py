"""Which MPI process ended a job, from what mpirun said about it. Pure.

mpirun's own exit code belongs to the launcher's task; the rank that people look for is in its last lines only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# as Open MPI 4 (mpirun) and 5 (prterun) say it, each of them before line breaks are added
_SAID = (
    (
        re.compile(r"MPI_ABORT was invoked on rank (\d+) in communicator .*? with errorcode (-?\d+)"),
        "MPI rank {0} called MPI_Abort with code {1}",
    ),
    (
        re.compile(r"process rank (\d+) with PID \d+ on node (\S+) exited on signal (\d+(?: \([^)]*\))?)"),
        "MPI rank {0} on {1} was ended by signal {2}",
    ),
    (
        re.compile(r"Process name: \[\S*,\s?(\d+)\] Exit code: +(\d+)"),
        "MPI rank {0} ended with code {1}",
    ),
)


def mpi_culprit(lines: Sequence[str]) -> str:
    """Return a sentence about the process that failed first; empty when mpirun did not name one."""
    text = " ".join(" ".join(lines).split())
    for pattern, told in _SAID:
        found = pattern.search(text)
        if found is not None:
            return told.format(*found.groups())
    return ""

"""Find the MPI process that failed first in the output of mpirun. Pure.

The task's exit code is that of mpirun, which names the failed rank only in its last lines of output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# messages of Open MPI 4 (mpirun) and 5 (prterun), without line breaks
_SAID = (
    (
        re.compile(r"MPI_ABORT was invoked on rank (\d+) in communicator .*? with errorcode (-?\d+)"),
        "MPI rank {0} called MPI_Abort with code {1}",
    ),
    (
        re.compile(r"process rank (\d+) with PID \d+ on node (\S+) exited on signal (\d+(?: \([^)]*\))?)"),
        "MPI rank {0} on {1} was killed by signal {2}",
    ),
    (
        re.compile(r"Process name: \[\S*,\s?(\d+)\] Exit code: +(\d+)"),
        "MPI rank {0} ended with code {1}",
    ),
)


def mpi_failure(lines: Sequence[str]) -> str:
    """A sentence that names the process that failed first; empty when mpirun named none."""
    text = " ".join(" ".join(lines).split())
    for pattern, told in _SAID:
        found = pattern.search(text)
        if found is not None:
            return told.format(*found.groups())
    return ""

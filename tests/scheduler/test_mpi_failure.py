"""The MPI process that ended a job. What mpirun says was recorded from Open MPI 4.1.4."""

from __future__ import annotations

import pytest

from danlu.scheduler.mpi_failure import mpi_failure

CODE = """
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[1330,1],2]
  Exit code:    3
--------------------------------------------------------------------------
"""
SIGNAL = """
--------------------------------------------------------------------------
mpirun noticed that process rank 12 with PID 27273 on node 127.88.0.2 exited on signal 9 (Killed).
--------------------------------------------------------------------------
"""
ABORT = """
--------------------------------------------------------------------------
MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD
with errorcode 5.

NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.
You may or may not see output from other processes, depending on
exactly when Open MPI kills them.
--------------------------------------------------------------------------
"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (CODE, "MPI rank 2 ended with code 3"),
        (SIGNAL, "MPI rank 12 on 127.88.0.2 was killed by signal 9 (Killed)"),
        (ABORT, "MPI rank 1 called MPI_Abort with code 5"),
        ("Traceback ...\nValueError: rank 3 is wrong\n", ""),
        ("", ""),
    ],
)
def test_the_rank_is_found_in_what_mpirun_says(said: str, told: str) -> None:
    assert mpi_failure(said.split("\n")) == told

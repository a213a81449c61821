"""What one MPI process sees, and what the processes of a job find out together. Standard library and Open MPI only.

Calls the library that mpirun belongs to directly, so that nothing has to be compiled or installed. Prints one line and
ends with 0; ends with 1 when the sum is wrong.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys


class Mpi:
    """The five calls that this example needs, for Open MPI (its handles are the addresses of variables)."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
        self._world = self._handle("ompi_mpi_comm_world")
        self._library.MPI_Init(None, None)

    def number(self, call: str) -> int:
        """Return what MPI_Comm_rank or MPI_Comm_size says."""
        found = ctypes.c_int()
        getattr(self._library, call)(self._world, ctypes.byref(found))
        return found.value

    def sum_of_all(self, mine: float) -> float:
        given, total = ctypes.c_double(mine), ctypes.c_double()
        self._library.MPI_Allreduce(
            *(ctypes.byref(given), ctypes.byref(total), 1),
            *(self._handle("ompi_mpi_double"), self._handle("ompi_mpi_op_sum"), self._world),
        )
        return total.value

    def finish(self) -> None:
        self._library.MPI_Finalize()

    def _handle(self, name: str) -> ctypes.c_void_p:
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self._library, name)))


def main() -> int:
    mpi = Mpi()
    rank, size = mpi.number("MPI_Comm_rank"), mpi.number("MPI_Comm_size")
    total = mpi.sum_of_all(float(rank))
    task = f"task {os.environ['DANLU_RANK']} ({os.environ['DANLU_ROLE']})"
    # one write, so that the lines of several processes do not mix
    sys.stdout.write(
        f"MPI rank {rank} of {size} in {task} on {socket.gethostname()}: the sum of all ranks is {total:g}\n"
    )
    sys.stdout.flush()
    mpi.finish()
    return 0 if total == size * (size - 1) / 2 else 1


if __name__ == "__main__":
    sys.exit(main())
